// One task of a bolt with several tuples in work at once.

import { batchBolt, bolt, grouping, shellBolt, topology, tumbling, windowBolt } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { type Gate, gate } from "../support/gate.js";
import { N, Sink, Source, Stage, upTo } from "./support.js";

/** A bolt that passes each number on when its gate opens. */
class Gated {
  /** Numbers in work, in the order in which they came. */
  readonly open: number[] = [];
  most = 0;
  readonly bolt;
  private readonly gates = new Map<number, Gate<void>>();

  constructor(mode: "ack" | "manual" = "ack", closed?: () => void) {
    this.bolt = bolt({
      input: N,
      streams: { passed: N },
      mode,
      execute: async (tuple, { emit, ack }) => {
        const { n } = tuple.values;
        this.open.push(n);
        this.most = Math.max(this.most, this.open.length);
        const mine = gate();
        this.gates.set(n, mine);
        await mine.promise;
        this.open.splice(this.open.indexOf(n), 1);
        if (n < 0) throw new Error("less than none");
        emit.passed({ n });
        if (mode === "manual") ack(tuple);
      },
      close: () => closed?.(),
    });
  }

  release(n: number): void {
    this.gates.get(n)?.open();
  }
}

describe("concurrency", () => {
  it("is how many tuples a task has in work at once, and no more; the next waits for one of them [O46]", async () => {
    await using stage = new Stage();
    const [source, gated, sink] = [new Source(upTo(10)), new Gated(), new Sink()];
    await stage.start(
      topology("three")
        .spout("source", source.spout)
        .bolt("gated", gated.bolt, { concurrency: 3, from: { "source.numbers": grouping.shuffle() } })
        .bolt("sink", sink.bolt, { from: { "gated.passed": grouping.shuffle() } })
        .build(),
    );
    expect(gated.open).toEqual([1, 2, 3]);
    gated.release(2);
    await stage.settle();
    expect(gated.open).toEqual([1, 3, 4]);
    expect(source.acked).toEqual([2]);
    for (const n of [4, 5, 3, 1, 6, 7, 8, 9, 10]) {
      gated.release(n);
      await stage.settle();
    }
    expect(gated.most).toBe(3);
    expect(source.acked).toEqual([2, 4, 5, 3, 1, 6, 7, 8, 9, 10]);
  });

  it("leaves each tuple its own tree: an emit after an await joins the tree of the right tuple [O47]", async () => {
    await using stage = new Stage();
    const [source, gated] = [new Source(upTo(4)), new Gated()];
    const picky = bolt({
      input: N,
      execute: ({ values: { n } }) => {
        if (n === 2) throw new Error("two");
      },
    });
    await stage.start(
      topology("own", { retries: 0 })
        .spout("source", source.spout)
        .bolt("gated", gated.bolt, { concurrency: 4, from: { "source.numbers": grouping.shuffle() } })
        .bolt("picky", picky, { from: { "gated.passed": grouping.shuffle() } })
        .build(),
      { log: false },
    );
    for (const n of [3, 2, 4, 1]) gated.release(n);
    await stage.settle();
    expect([...source.outcomes].sort()).toEqual([
      [1, "acked"],
      [2, "failed", 1],
      [3, "acked"],
      [4, "acked"],
    ]);
  });

  it("fails the tuple alone whose work throws", async () => {
    await using stage = new Stage();
    const [source, gated] = [new Source([1, -2, 3]), new Gated()];
    const running = await stage.start(
      topology("throws", { retries: 0 })
        .spout("source", source.spout)
        .bolt("gated", gated.bolt, { concurrency: 3, from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: false },
    );
    gated.release(-2);
    await stage.settle();
    expect(source.outcomes).toEqual([[-2, "failed", 1]]);
    gated.release(1);
    gated.release(3);
    await stage.settle();
    expect(source.acked).toEqual([1, 3]);
    expect(running.tasks("gated")[0]?.restarts).toBe(0);
  });

  it.each(["ack", "manual"] as const)(
    "fails all in work when the task is killed, in mode `%s`",
    async (mode) => {
      await using stage = new Stage();
      const [source, gated] = [new Source(upTo(5)), new Gated(mode)];
      const running = await stage.start(
        topology("killed", { retries: 0 })
          .spout("source", source.spout)
          .bolt("gated", gated.bolt, { concurrency: 3, from: { "source.numbers": grouping.shuffle() } })
          .build(),
      );
      await stage.kill(running, "gated");
      expect([...source.outcomes].sort()).toEqual(upTo(5).map((n) => [n, "failed", 1]));
      gated.release(1);
      await stage.settle();
      expect(source.outcomes).toHaveLength(5);
    },
  );

  it("ends the task when one of them takes longer than `executeTimeoutMs`", async () => {
    await using stage = new Stage();
    const [source, gated] = [new Source([1]), new Gated()];
    const running = await stage.start(
      topology("hung", { retries: 0 })
        .spout("source", source.spout)
        .bolt("gated", gated.bolt, {
          concurrency: 3,
          executeTimeoutMs: 100,
          from: { "source.numbers": grouping.shuffle() },
        })
        .build(),
      { log: false },
    );
    await stage.advance(50);
    source.put(2);
    await stage.advance(40);
    gated.release(1);
    await stage.advance(59);
    expect(running.tasks("gated")[0]?.restarts).toBe(0);
    await stage.advance(1);
    expect(running.tasks("gated")[0]?.restarts).toBe(1);
    expect(source.outcomes).toEqual([
      [1, "acked"],
      [2, "failed", 1],
    ]);
  });

  it("is waited for by a drain, and by an orderly end of the task: `close` comes after the last", async () => {
    await using stage = new Stage();
    const done: string[] = [];
    const [source, gated] = [new Source(upTo(3)), new Gated("ack", () => done.push("closed"))];
    const running = await stage.start(
      topology("drain")
        .spout("source", source.spout)
        .bolt("gated", gated.bolt, { concurrency: 3, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const stopped = running.stop().then((report) => {
      done.push("stopped");
      return report;
    });
    await stage.settle();
    for (const n of upTo(3)) {
      expect(done).toEqual([]);
      gated.release(n);
      await stage.settle();
    }
    expect(await stage.until(stopped)).toEqual({ drained: true, unfinished: 0 });
    expect(done).toEqual(["closed", "stopped"]);
    expect(source.acked).toEqual([1, 2, 3]);
  });

  it("makes a task do as much as that many tasks, and `shuffle` counts the tuples in work", async () => {
    await using stage = new Stage();
    const source = new Source(upTo(1_000));
    const sink = new Sink(() => stage.sleep(10));
    await stage.start(
      topology("many")
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { tasks: 2, concurrency: 8, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(500);
    expect(source.acked.length).toBeGreaterThanOrEqual(16 * 49);
    const [one = [], other = []] = sink.byTask;
    expect(Math.abs(one.length - other.length)).toBeLessThanOrEqual(8);
  });

  it("is refused for bolts that depend on the order of tuples; as a default of the topology, it does not apply to them", async () => {
    const built = (concurrency: { concurrency?: number }, byDefault: { concurrency?: number }): unknown =>
      topology("order", byDefault)
        .spout("source", new Source().spout)
        .bolt("batch", batchBolt({ input: N, size: 2, everyMs: 10, execute: () => undefined }), {
          ...concurrency,
          from: { "source.numbers": grouping.shuffle() },
        })
        .bolt("window", windowBolt({ input: N, window: tumbling({ count: 2 }), execute: () => undefined }), {
          ...concurrency,
          from: { "source.numbers": grouping.shuffle() },
        })
        .build();
    expect(() => built({ concurrency: 2 }, {})).toThrow(
      /batch: takes its tuples in their order.*window: takes/s,
    );
    expect(() => built({}, { concurrency: 2 })).not.toThrow();
    expect(() =>
      topology("shell")
        .spout("source", new Source().spout)
        .bolt("shell", shellBolt({ command: "cat", input: N }), {
          concurrency: 2,
          from: { "source.numbers": grouping.shuffle() },
        })
        .build(),
    ).toThrow(/shell: takes its tuples in their order/);
    expect(() => topology("none", { concurrency: 0 })).toThrow(/concurrency/);
  });
});
