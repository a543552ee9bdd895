// The recipe "batching": who gets which answer, when the store fails, when the batcher is killed anywhere, and when all of it stops.

import { CalleeExitedError, MailboxFullError, System, supervisor, TaskTimeoutError } from "signalbox";
import { explore, type TestClock, testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { type BatchOptions, batcher, halving } from "../../../examples/cookbook/batching/batching.js";

type Options = Partial<BatchOptions<string, string>>;

class Bad extends Error {}

interface Bench {
  readonly clock: TestClock;
  readonly system: System;
  readonly add: (item: string, timeoutMs?: number) => Promise<string>;
  readonly writes: string[];
}

/** A batcher on a clock that stands still. `writes` has the batches as `a+b`. */
async function bench(options: Options): Promise<Bench> {
  const clock = testClock();
  const system = new System({ environment: clock.environment, report: false });
  const writes: string[] = [];
  const write = options.write ?? (async (items) => items.map((item) => `${item} is written`));
  const Writer = batcher<string, string>({
    ...options,
    write: (items, signal) => {
      writes.push(items.join("+"));
      return write(items, signal);
    },
  });
  await system.start(supervisor({ children: [{ id: "writer", name: "writer", start: Writer }] }));
  const writer = Writer.at(system, "writer");
  return {
    clock,
    system,
    writes,
    add: (item, timeoutMs = 5_000) => writer.with({ timeoutMs }).call.add(item),
  };
}

/** Each answer as its value, or its error. */
const ends = (answers: readonly Promise<string>[]): Promise<unknown[]> =>
  Promise.all(answers.map((answer) => answer.catch((error: unknown) => error)));

describe("a batcher", () => {
  it("writes by number or by time, and gives each caller its own answer", async () => {
    const { clock, add, writes } = await bench({ maxItems: 3, maxWaitMs: 10 });
    const answers = ["a", "b", "c", "d"].map((item) => add(item));
    await clock.advance(9);
    expect(writes).toEqual(["a+b+c"]);
    await clock.advance(20);
    expect(writes).toEqual(["a+b+c", "d"]);
    expect(await ends(answers)).toEqual(["a", "b", "c", "d"].map((item) => `${item} is written`));
  });

  it("refuses the bad item alone, also when the store refuses the whole batch", async () => {
    const bad = new Bad("b is bad");
    const strict = halving<string, string>(
      async (items) => {
        if (items.includes("b")) throw bad;
        return items;
      },
      (error) => error instanceof Bad,
    );
    const { clock, add, writes } = await bench({ maxItems: 4, write: strict });
    const answers = ["a", "b", "c", "d"].map((item) => add(item));
    expect(await clock.until(ends(answers))).toEqual(["a", bad, "c", "d"]);
    expect(writes).toEqual(["a+b+c+d"]);
  });

  it("tells all callers of a batch when the store is down, and goes on", async () => {
    const down = new Error("the store is down");
    let isDown = true;
    const { clock, add } = await bench({
      maxItems: 2,
      write: halving<string, string>(
        async (items) => {
          if (isDown) throw down;
          return items;
        },
        (error) => error instanceof Bad,
      ),
    });
    expect(await clock.until(ends([add("a"), add("b")]))).toEqual([down, down]);
    isDown = false;
    expect(await clock.until(ends([add("a"), add("b")]))).toEqual(["a", "b"]);
  });

  it("ends a write that hangs, and never leaves a caller without an answer", async () => {
    let hangs = true;
    const { clock, add } = await bench({
      maxItems: 2,
      write: async (items, signal) => {
        if (hangs) await new Promise((_, reject) => signal.addEventListener("abort", reject));
        return items.slice(1);
      },
    });
    const late = await clock.until(ends([add("a"), add("b")]));
    expect(late).toEqual([expect.any(TaskTimeoutError), expect.any(TaskTimeoutError)]);
    hangs = false;
    const [first, second] = await clock.until(ends([add("a"), add("b")]));
    expect(first).toBe("b");
    expect(second).toEqual(new Error("the write gave no answer for this item"));
  });

  it("refuses at once when too many wait, and leaves out those who gave up", async () => {
    let done = (): void => undefined;
    const { clock, add, writes } = await bench({
      maxItems: 2,
      maxWaiting: 2,
      write: (items) => new Promise((resolve) => (done = () => resolve(items))),
    });
    const first = ends([add("a"), add("b")]);
    await clock.settle();
    const [hasty, patient] = [add("c", 100), add("d")];
    const late = ends([hasty, patient]);
    expect(await ends([add("e")])).toEqual([expect.any(MailboxFullError)]);
    await clock.advance(100);
    done();
    expect(await first).toEqual(["a", "b"]);
    await clock.advance(10);
    done();
    expect((await late)[1]).toBe("d");
    expect(writes).toEqual(["a+b", "d"]);
  });

  it("writes what waits before it stops in order", async () => {
    const { clock, system, add, writes } = await bench({ maxItems: 9, maxWaitMs: 1_000 });
    const answers = ends([add("a"), add("b")]);
    await clock.until(system.stop());
    expect(await answers).toEqual(["a is written", "b is written"]);
    expect(writes).toEqual(["a+b"]);
  });

  it("answers or fails every caller, wherever it or its write crashes, and loses no item that it answered", async () => {
    const { schedules } = await explore(
      async (sim) => {
        const rows = new Set<string>();
        const insert = sim.io("insert", (items: readonly string[]) => {
          for (const item of items) rows.add(item);
          return items;
        });
        sim.calm();
        const system = sim.system({ name: "shop" });
        const Writer = batcher<string, string>({ write: insert, maxItems: 2 });
        const child = { id: "writer", name: "writer", start: Writer };
        await system.start(supervisor({ label: "root", children: [child] }));
        sim.storm();
        const insist = async (item: string): Promise<void> => {
          for (;;) {
            try {
              const answer = await Writer.at(system, "writer").call.add(item);
              if (answer !== item) throw new RangeError(`${item} got the answer of ${answer}`);
              if (!rows.has(item)) throw new RangeError(`${item} was answered, and is not written`);
              return;
            } catch (error) {
              if (error instanceof RangeError) throw error;
              sim.sometimes("told of the crash", error instanceof CalleeExitedError);
              await sim.sleep(10);
            }
          }
        };
        await Promise.all(["a", "b", "c"].map(insist));
      },
      { schedules: 40, faults: { crash: { of: ["shop/root/writer", "shop/root/writer/task"] } } },
    );
    expect(schedules).toBe(40);
  });
});
