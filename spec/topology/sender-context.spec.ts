// Tuples of a system with `context: "sender"`: each is worked on in the context in which its spout emitted it.

import { AsyncLocalStorage } from "node:async_hooks";
import { type BoltDefinition, bolt, grouping, topology } from "signalbox/topology";
import { expect, it } from "vitest";
import { N, pidsOf, Source, Stage } from "./support.js";

const store = new AsyncLocalStorage<string>();
const here = (): string => store.getStore() ?? "none";

it("keep it when the task they wait for ends, and a sibling gets them [X7]", async () => {
  await using stage = new Stage({ context: "sender" });
  const seen: string[] = [];
  const numbers = [1, 2, 3, 4, 5, 6];
  const source = new Source(numbers, true, (n, ctx) =>
    store.run(`${n}`, () => ctx.emit.numbers({ n }, { id: n })),
  );
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const worker: BoltDefinition<{ readonly "*": N }, Record<never, never>> = bolt({
    input: N,
    execute: async ({ values: { n } }) => {
      await opened;
      seen.push(`${n} in ${here()}`);
    },
  });
  const running = await stage.start(
    topology("inherits", { retries: 0 })
      .spout("source", source.spout)
      .bolt("worker", worker, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
      .build(),
  );
  await store.run("a stranger", () => stage.kill(running, "worker"));
  open();
  await stage.advance(1_000);
  // Those that waited behind the one that was worked on have been worked on by the sibling.
  expect(seen).toHaveLength(numbers.length);
  for (const text of seen) expect(text).toMatch(/^(\d) in \1$/);
});

it("carry their emitter's context through bolts, retries, crashes of tasks and back to the spout [X7]", async () => {
  await using stage = new Stage({ context: "sender" });
  const seen: string[] = [];
  const source = new Source([1, 2, 3, 4], true, (n, ctx) =>
    store.run(`${n}`, () => ctx.emit.numbers({ n }, { id: n })),
  );
  const told: string[] = [];
  const { ack } = source.spout.options;
  (source.spout.options as { ack: unknown }).ack = (n: number, ctx: never) => {
    told.push(`${n} acked in ${here()}`);
    return ack?.(n, ctx);
  };
  const tries = new Map<number, number>();
  const first: BoltDefinition<{ readonly "*": N }, { readonly passed: N }> = bolt({
    input: N,
    streams: { passed: N },
    execute: async ({ values: { n } }, { emit }) => {
      seen.push(`${n} in ${here()}`);
      await null;
      const tried = (tries.get(n) ?? 0) + 1;
      tries.set(n, tried);
      // The second number fails once; the third ends its task once, with what waits in front of it.
      if (n === 2 && tried === 1) throw new Error("tries again");
      if (n === 3 && tried === 1) await new Promise(() => undefined);
      emit.passed({ n });
    },
  });
  const last: BoltDefinition<{ readonly "*": N }, Record<never, never>> = bolt({
    input: N,
    execute: ({ values: { n } }) => void seen.push(`${n} at last in ${here()}`),
  });
  const running = await stage.start(
    topology("carries", { retries: 3, retryBackoff: { minMs: 100, maxMs: 300, jitter: 0 } })
      .spout("source", source.spout)
      .bolt("first", first, { from: { "source.numbers": grouping.shuffle() } })
      .bolt("last", last, { from: { "first.passed": grouping.shuffle() } })
      .build(),
  );
  expect(pidsOf(running)).not.toContain(undefined);
  await stage.kill(running, "first");
  await stage.advance(5_000);
  expect(source.acked.toSorted()).toEqual([1, 2, 3, 4]);
  for (const n of [1, 2, 3, 4]) {
    const of = (all: readonly string[]): string[] => all.filter((text) => text.startsWith(`${n} `));
    expect(new Set(of(seen))).toEqual(new Set([`${n} in ${n}`, `${n} at last in ${n}`]));
    expect(of(told)).toEqual([`${n} acked in ${n}`]);
  }
  expect([tries.get(2), tries.get(3)]).toEqual([2, 2]);
});
