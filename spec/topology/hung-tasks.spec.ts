// Tasks that hang or lag behind: the task ends when it is given a time, and its siblings do not wait for it.

import type { ExitReason } from "signalbox";
import {
  batchBolt,
  bolt,
  ExecuteTimeoutError,
  grouping,
  type LogLine,
  type TopologyRef,
  topology,
} from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { gate } from "../support/gate.js";
import { N, Source, Stage, upTo } from "./support.js";

const NEVER = new Promise<never>(() => undefined);

describe("executeTimeoutMs", () => {
  it("ends a task whose `execute` hangs: its tuple fails, it restarts, and that is logged [O40]", async () => {
    await using stage = new Stage();
    const source = new Source([1]);
    const ends: ExitReason[] = [];
    stage.system.events.on("exit", ({ reason }) => void (reason.type === "crash" && ends.push(reason)));
    const hangs = bolt({ input: N, execute: ({ values: { n } }) => (n === 1 ? NEVER : undefined) });
    const lines: LogLine[] = [];
    const running = await stage.start(
      topology("hung", { retries: 0 })
        .spout("source", source.spout)
        .bolt("hangs", hangs, { executeTimeoutMs: 500, from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: (line) => lines.push(line) },
    );
    await stage.advance(499);
    expect(source.outcomes).toEqual([]);
    await stage.advance(1);
    expect(source.failures).toEqual([{ type: "failed", attempts: 1, deadLettered: false }]);
    expect(running.tasks("hangs")[0]?.restarts).toBe(1);
    const [reason] = ends;
    const error = reason?.type === "crash" ? reason.error : undefined;
    expect(error).toBeInstanceOf(ExecuteTimeoutError);
    expect(error).toMatchObject({ code: "ERR_EXECUTE_TIMEOUT", component: "hangs", timeoutMs: 500 });
    expect(
      lines.filter(({ level }) => level === "error").map(({ component, text }) => [component, text]),
    ).toEqual([["hangs", expect.stringContaining("did not finish a tuple of source.numbers within 500 ms")]]);
    source.put(2);
    await stage.settle();
    expect(source.acked).toEqual([2]);
  });

  it("holds for bolts of mode `manual`, ticks and batches, each time anew", async () => {
    for (const hangs of [
      bolt({ input: N, mode: "manual", execute: () => NEVER }),
      bolt({ input: N, tick: () => NEVER, config: { tickMs: 100 }, execute: () => undefined }),
      batchBolt({ input: N, size: 100, everyMs: 100, execute: () => NEVER }),
    ]) {
      await using stage = new Stage();
      const source = new Source([1]);
      const running = await stage.start(
        topology("all", { executeTimeoutMs: 200, intensity: 100 })
          .spout("source", source.spout)
          .bolt("hangs", hangs, { from: { "source.numbers": grouping.shuffle() } })
          .build(),
        { log: false },
      );
      await stage.advance(2_000);
      expect(running.tasks("hangs")[0]?.restarts).toBeGreaterThan(3);
    }
  });

  it("does nothing to work that ends in time, however often, and leaves no timer behind", async () => {
    await using stage = new Stage();
    const source = new Source(upTo(20));
    const slow = bolt({ input: N, execute: () => stage.sleep(90) });
    const running = await stage.start(
      topology("slow", { executeTimeoutMs: 100 })
        .spout("source", source.spout)
        .bolt("slow", slow, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(10_000);
    expect(source.acked).toEqual(upTo(20));
    expect(running.tasks("slow")[0]?.restarts).toBe(0);
    await stage.until(running.stop());
    expect(stage.clock.pendingTimers).toBe(0);
  });

  it("is none by default, and must be one millisecond or more", () => {
    expect(() => topology("t", { executeTimeoutMs: 0 })).toThrow(/executeTimeoutMs/);
  });
});

/** Four tasks under a shuffle, of which one, the first, takes `ms(0)` for each tuple, or for ever. */
async function four(
  stage: Stage,
  source: Source,
  ms: (index: number) => number,
  config: { readonly receiveBuffer?: number; readonly maxPending?: number; readonly executors?: number },
): Promise<{ readonly running: TopologyRef; readonly done: number[] }> {
  const done = [0, 0, 0, 0];
  const worker = bolt({
    input: N,
    execute: async (_tuple, { index }) => {
      await (ms(index) === Number.POSITIVE_INFINITY ? NEVER : stage.sleep(ms(index)));
      (done[index] as number)++;
    },
  });
  const { executors = 4, ...rest } = config;
  const running = await stage.start(
    topology("four", { messageTimeoutMs: 600_000, ...rest })
      .spout("source", source.spout)
      .bolt("worker", worker, { tasks: 4, executors, from: { "source.numbers": grouping.shuffle() } })
      .build(),
  );
  return { running, done };
}

const hung = (index: number): number => (index === 0 ? Number.POSITIVE_INFINITY : 10);

describe("one hung task of four", () => {
  it.each([
    ["reliable", 4],
    ["reliable", 2],
    ["reliable", 1],
    ["unreliable", 4],
    ["unreliable", 2],
    ["unreliable", 1],
  ] as const)(
    "does not stop the other three under shuffle: %s tuples, %i executors [O41]",
    async (kind, executors) => {
      await using stage = new Stage();
      const source = new Source(upTo(20_000), kind === "reliable");
      const { done } = await four(stage, source, hung, { receiveBuffer: 20, maxPending: 64, executors });
      await stage.advance(10_000);
      // Three tasks of 10 ms are good for 300 a second.
      expect(done[0]).toBe(0);
      for (const each of done.slice(1)) expect(each).toBeGreaterThan(990);
    },
  );

  it("keeps at most its share of the tuples from before it hung, and gets none after", async () => {
    await using stage = new Stage();
    const { running } = await four(stage, new Source(upTo(2_000)), hung, { maxPending: 64 });
    await stage.advance(1_000);
    const [first] = running.tasks("worker");
    expect((first?.waiting ?? 0) + 1).toBeLessThanOrEqual(64 / 4);
  });
});

describe("a task ten times slower than its siblings", () => {
  it("costs at most its share [O42]", async () => {
    await using stage = new Stage();
    const source = new Source(upTo(20_000));
    const { done } = await four(stage, source, (index) => (index === 0 ? 100 : 10), { maxPending: 64 });
    await stage.advance(10_000);
    for (const each of done.slice(1)) expect(each).toBeGreaterThan(990);
    expect(done[0]).toBeGreaterThan(98);
  });

  it("gets as much as the others when there is little to do", async () => {
    await using stage = new Stage();
    const source = new Source();
    const { done } = await four(stage, source, (index) => (index === 0 ? 100 : 10), {});
    for (const n of upTo(40)) {
      source.put(n);
      await stage.advance(200);
    }
    expect(done).toEqual([10, 10, 10, 10]);
  });
});

describe("a spout", () => {
  it("pauses when every task that could take its tuples is full, and goes on when one has room [O15]", async () => {
    await using stage = new Stage();
    let open = false;
    const source = new Source(upTo(1_000), false);
    const gates = [gate(), gate()];
    const worker = bolt({
      input: N,
      execute: async (_tuple, { index }) => {
        if (!open || index === 0) await gates[index]?.promise;
      },
    });
    const running = await stage.start(
      topology("both", { receiveBuffer: 10 })
        .spout("source", source.spout)
        .bolt("worker", worker, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(10_000);
    expect(1_000 - source.left).toBeLessThan(30);
    for (const { waiting } of running.tasks("worker")) expect(waiting).toBeGreaterThan(9);
    open = true;
    gates[1]?.open();
    await stage.advance(10_000);
    expect(source.left).toBe(0);
  });

  it("pauses when one task is full, if its tuples may be meant for that one", async () => {
    await using stage = new Stage();
    const source = new Source(upTo(1_000), false);
    const worker = bolt({ input: N, execute: (_tuple, { index }) => (index === 0 ? NEVER : undefined) });
    await stage.start(
      topology("keyed", { receiveBuffer: 10 })
        .spout("source", source.spout)
        .bolt("worker", worker, { tasks: 4, from: { "source.numbers": grouping.fields("n") } })
        .build(),
    );
    await stage.advance(10_000);
    expect(source.left).toBeGreaterThan(800);
  });

  it("goes on when the one task with room has ended and is back, while its siblings are full", async () => {
    await using stage = new Stage();
    const source = new Source(upTo(200), false);
    const seen: number[] = [];
    const worker = bolt({
      input: N,
      execute: ({ values: { n } }, { index }) => (index === 0 ? NEVER : void seen.push(n)),
    });
    const running = await stage.start(
      topology("back", { receiveBuffer: 10, restartBackoff: { minMs: 1_000, maxMs: 1_000, jitter: 0 } })
        .spout("source", source.spout)
        .bolt("worker", worker, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(source.left).toBe(0);
    stage.strike(running, "worker", 1);
    source.put(...upTo(500));
    await stage.advance(500);
    // One task hangs and the other is down: no more is asked for than there is room.
    expect(source.left).toBeGreaterThan(450);
    await stage.advance(1_000);
    expect(source.left).toBe(0);
    expect(running.tasks("worker")[0]?.waiting).toBeLessThanOrEqual(13);
  });
});
