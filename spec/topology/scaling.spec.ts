// Tasks come and go while the topology runs, and no tuple is lost.

import { OptionError } from "signalbox";
import { bolt, grouping, spout, spoutFrom, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { gate } from "../support/gate.js";
import { Keeper, N, Sink, Source, Stage, upTo } from "./support.js";

describe("a bolt that is scaled", () => {
  it("up has more tasks, which get their share from then on", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source([1, 2, 3]), new Sink()];
    const running = await stage.start(
      topology("up")
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const [first] = running.tasks("sink");
    await running.scale("sink", 3);
    source.put(4, 5, 6, 7, 8, 9);
    await stage.settle();
    expect(sink.byTask.map(({ length }) => length)).toEqual([5, 2, 2]);
    expect(source.acked).toHaveLength(9);
    const tasks = running.tasks("sink");
    expect(tasks).toHaveLength(3);
    expect(tasks[0]).toEqual(first);
    expect(new Set(running.tasks().map(({ task }) => task)).size).toBe(running.tasks().length);
  });

  it("down first finishes the tuples of the task that is taken out", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source(upTo(4)), new Keeper()];
    const running = await stage.start(
      topology("down", { retries: 0 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    let scaled = false;
    const told = running.scale("keeper", 1).then(() => {
      scaled = true;
    });
    await stage.settle();
    source.put(5, 6);
    await stage.settle();
    expect(scaled).toBe(false);
    expect(keeper.got.slice(4).map(({ index }) => index)).toEqual([0, 0]);
    for (const held of keeper.got.filter(({ index }) => index === 1)) held.ack();
    await told;
    expect(running.tasks("keeper")).toHaveLength(1);
    for (const held of keeper.got.filter(({ index }) => index === 0)) held.ack();
    await stage.settle();
    expect([...source.acked].sort()).toEqual(upTo(6));
  });

  it("down fails the tuples that are not finished in the time to drain", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source(upTo(2)), new Keeper()];
    const running = await stage.start(
      topology("late", { drainMs: 1_000, retries: 0 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.until(running.scale("keeper", 1));
    await stage.settle();
    expect(stage.clock.now).toBe(1_000);
    expect(source.outcomes).toHaveLength(1);
    expect(source.failures).toEqual([{ type: "failed", attempts: 1, deadLettered: false }]);
  });

  it("up and down while numbers come and go loses none and doubles none [O18]", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source(), new Sink(async (n) => n)];
    const running = await stage.start(
      topology("busy", { retries: 0 })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { tasks: 2, executors: 2, from: { "source.numbers": grouping.fields("n") } })
        .build(),
    );
    let next = 0;
    for (const tasks of [4, 1, 3, 2, 5, 1]) {
      source.put(...upTo(50).map((i) => next + i));
      next += 50;
      const scaled = running.scale("sink", tasks);
      source.put(...upTo(50).map((i) => next + i));
      next += 50;
      await stage.until(scaled);
      expect(running.tasks("sink")).toHaveLength(tasks);
    }
    await stage.advance(1_000);
    expect([...sink.seen].sort((a, b) => a - b)).toEqual(upTo(600));
    expect(source.acked).toHaveLength(600);
  });

  it("up has the new task run also when its executor is starting just then", async () => {
    await using stage = new Stage();
    const ready = gate();
    let held = false;
    const slow = bolt({ input: N, init: () => (held ? ready.promise : undefined), execute: () => undefined });
    const running = await stage.start(
      topology("starting", { intensity: 0 })
        .spout("source", new Source().spout)
        .bolt("slow", slow, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    held = true;
    await stage.kill(running, "slow");
    const scaled = running.scale("slow", 2);
    await stage.settle();
    ready.open();
    await stage.until(scaled);
    await stage.settle();
    expect(running.tasks("slow").map(({ pid }) => pid !== undefined)).toEqual([true, true]);
  });

  it("up has the new task run also when its executor is restarted in that moment", async () => {
    await using stage = new Stage();
    const running = await stage.start(
      topology("restarting", { intensity: 0 })
        .spout("source", new Source().spout)
        .bolt("sink", new Sink().bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    stage.strike(running, "sink");
    await stage.until(running.scale("sink", 2));
    await stage.settle();
    expect(running.tasks("sink").map(({ pid }) => pid !== undefined)).toEqual([true, true]);
  });

  it("up to tasks that cannot start stays as it was, and says why", async () => {
    await using stage = new Stage();
    const source = new Source();
    const choosy = bolt({
      input: N,
      init: ({ index }) => {
        if (index > 0) throw new Error("one is enough");
      },
      execute: () => undefined,
    });
    const running = await stage.start(
      topology("choosy", { retries: 0 })
        .spout("source", source.spout)
        .bolt("choosy", choosy, { from: { "source.numbers": grouping.fields("n") } })
        .build(),
    );
    await expect(stage.until(running.scale("choosy", 2))).rejects.toMatchObject({ code: "ERR_CHILD" });
    source.put(...upTo(20));
    await stage.settle();
    expect(source.acked).toHaveLength(20);
    expect(running.tasks("choosy")).toHaveLength(1);
  });

  it("up has as many tasks after a restart of the whole, and in a pause", async () => {
    await using stage = new Stage();
    const sink = new Sink();
    const running = await stage.start(
      topology("again", { intensity: 0, restartsBackoff: { minMs: 1_000, maxMs: 1_000, jitter: 0 } })
        .spout("source", new Source().spout)
        .bolt("sink", sink.bolt, { tasks: 2, executors: 1, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await running.pause();
    await running.scale("sink", 5);
    await running.resume();
    await stage.kill(running, "sink");
    await stage.kill(running, "sink");
    expect(running.phase).toBe("restarting");
    await stage.advance(1_000);
    expect(running.tasks("sink").filter(({ pid }) => pid !== undefined)).toHaveLength(5);
  });

  it("down leaves the component's counters as they were", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source(upTo(6)), new Sink()];
    const running = await stage.start(
      topology("counted")
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { tasks: 3, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.until(running.scale("sink", 1));
    const metrics = running.metrics().components.find(({ name }) => name === "sink");
    expect(metrics).toMatchObject({ executed: 6, acked: 6, tasks: 1 });
  });

  it("down calls `close` with `final: true`", async () => {
    await using stage = new Stage();
    const closed: unknown[] = [];
    const told = bolt({
      input: N,
      execute: () => undefined,
      close: ({ index }, final) => void closed.push([index, final]),
    });
    const running = await stage.start(
      topology("close")
        .spout("source", new Source().spout)
        .bolt("told", told, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await running.scale("told", 1);
    expect(closed).toEqual([[1, true]]);
  });
});

describe("a spout that is scaled", () => {
  it("has more tasks, and the ackers have room for their pending tuples", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source(), new Keeper()];
    const running = await stage.start(
      topology("spouts", { maxPending: 4, ackers: 1, retries: 0 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await running.scale("source", 5);
    source.put(...upTo(100));
    await stage.advance(100);
    expect(keeper.numbers).toHaveLength(20);
    expect(source.outcomes).toEqual([]);
  });

  it("down waits until the task's tuples in flight are settled", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source(upTo(6)), new Keeper()];
    const running = await stage.start(
      topology("spouts", { maxPending: 3 })
        .spout("source", source.spout, { tasks: 2 })
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(keeper.numbers).toHaveLength(6);
    let scaled = false;
    const told = running.scale("source", 1).then(() => {
      scaled = true;
    });
    await stage.settle();
    expect(scaled).toBe(false);
    for (const held of keeper.got) held.ack();
    await told;
    expect([...source.acked].sort()).toEqual(upTo(6));
  });

  it("down waits for a `next` that runs", async () => {
    await using stage = new Stage();
    const fetches: ReturnType<typeof gate<number>>[] = [];
    const sink = new Sink();
    const slow = spout({
      streams: { numbers: N },
      next: async ({ emit }) => {
        const fetched = gate<number>();
        fetches.push(fetched);
        emit.numbers({ n: await fetched.promise }, { id: fetches.length });
      },
    });
    const running = await stage.start(
      topology("asks")
        .spout("slow", slow, { tasks: 2 })
        .bolt("sink", sink.bolt, { from: { "slow.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(fetches).toHaveLength(2);
    const scaled = running.scale("slow", 1);
    await stage.settle();
    for (const [at, fetched] of [...fetches].entries()) fetched.open(at);
    await stage.until(scaled);
    await stage.settle();
    expect(sink.seen.sort()).toEqual([0, 1]);
    for (const fetched of fetches) fetched.open(9);
  });

  it("goes on with its iterable when one task of it is taken out", async () => {
    await using stage = new Stage();
    const keeper = new Keeper();
    const items = spoutFrom(
      upTo(8).map((n) => ({ n })),
      { fields: N },
    );
    const running = await stage.start(
      topology("items", { maxPending: 1 })
        .spout("items", items, { tasks: 2 })
        .bolt("keeper", keeper.bolt, { from: { "items.items": grouping.shuffle() } })
        .build(),
    );
    const scaled = running.scale("items", 1);
    await stage.settle();
    for (let at = 0; at < 8; at++) {
      keeper.got[at]?.ack();
      await stage.settle();
    }
    await scaled;
    expect(keeper.numbers).toEqual(upTo(8));
  });
});

describe("a scale that cannot be", () => {
  const start = (stage: Stage, config = {}): ReturnType<Stage["start"]> =>
    stage.start(
      topology("no", config)
        .spout("source", new Source().spout)
        .bolt("sink", new Sink().bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );

  it("is refused with an OptionError: an unknown component, the ackers, no tasks", async () => {
    await using stage = new Stage();
    const running = await start(stage);
    for (const request of [
      running.scale("sinks", 2),
      running.scale("__acker", 2),
      running.scale("sink", 0),
      running.scale("sink", 1.5),
    ])
      await expect(request).rejects.toBeInstanceOf(OptionError);
    expect(() => running.tasks("sinks")).toThrow(OptionError);
  });

  it("is refused when the ackers have no room for the tuples that the spouts might have pending", async () => {
    await using stage = new Stage();
    const running = await start(stage, { maxPending: 10, ackerCapacity: 40 });
    await running.scale("source", 2);
    await expect(running.scale("source", 3)).rejects.toThrow(/ackerCapacity is 40, not 60/);
  });

  it("is refused while there is one", async () => {
    await using stage = new Stage();
    const running = await start(stage);
    const first = running.scale("sink", 3);
    await expect(running.scale("source", 2)).rejects.toMatchObject({ code: "ERR_TOPOLOGY_PHASE" });
    await first;
    await running.scale("source", 2);
  });
});
