// However often something is attempted, a signal has no more listeners than waits that go on.

import { getEventListeners } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { System } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { memory, type Store, type StoreSource, sqlite } from "signalbox/store";
import { afterAll, expect, it } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "signalbox-listeners-"));
afterAll(() => rmSync(folder, { recursive: true }));

const listenersOf = (signal: AbortSignal): number => getEventListeners(signal, "abort").length;

/** A store whose transactions are overtaken by others so often before they commit. */
function overtaken(source: StoreSource, times: number, counts: number[]): StoreSource {
  const transaction =
    (store: Store): Store["transaction"] =>
    (body, { attach, ...rest } = {}) =>
      store.transaction(body, {
        ...rest,
        ...(attach && {
          attach: async (result) => {
            for (let i = 0; i < times; i++) {
              await attach(result);
              if (rest.signal !== undefined) counts.push(listenersOf(rest.signal));
            }
            return attach(result);
          },
        }),
      });
  return {
    label: source.label,
    open: async (schemas, context) => {
      const store = await source.open(schemas, context);
      return new Proxy(store, {
        get: (target, name) => {
          if (name === "transaction") return transaction(target);
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    },
  };
}

it("a transaction leaves no listener for each of its attempts [J341]", async () => {
  const counts: number[] = [];
  const store = overtaken(sqlite(join(folder, "flows.db")), 20, counts);
  const book = defineFlow("book", (flow) => flow.transaction("seat", async () => "booked"));
  await using system = new System({ report: false });
  const flows = await system.start(flowHost({ store, flows: [book] }));
  const run = await flows.start(book, undefined);
  expect(await run.result()).toBe("booked");
  expect(counts).toHaveLength(20);
  // The store listens for the end of the time that all attempts have together.
  expect(Math.max(...counts)).toBe(1);
});

it("an idempotent part leaves no listener for each of its attempts and sleeps [J341]", async () => {
  const counts: number[] = [];
  const poll = defineFlow("poll", (flow) =>
    flow.idempotent("part", async (part) => {
      for (let i = 0; i < 10; i++) {
        await part.sleep(1);
        await part.step(
          "ask",
          ({ attempt }) => {
            if (attempt < 3) throw new Error("not yet");
          },
          { retry: { attempts: 3, backoff: { minMs: 1, maxMs: 1 } } },
        );
        counts.push(listenersOf(part.signal));
      }
    }),
  );
  await using system = new System({ report: false });
  const flows = await system.start(flowHost({ store: memory(), flows: [poll] }));
  await (await flows.start(poll, undefined)).result();
  expect(counts).toEqual(Array<number>(10).fill(0));
});
