// Pause, stop and the end: what is under way comes to its end first, within the time that is given for it.

import { CalleeExitedError, supervisor } from "signalbox";
import {
  batchBolt,
  bolt,
  grouping,
  spout,
  spoutFrom,
  type Topology,
  TopologyPhaseError,
  topology,
  tumbling,
  windowBolt,
} from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { gate } from "../support/gate.js";
import { Keeper, N, Sink, Source, Stage, upTo } from "./support.js";

const line = (source: Source, end: Keeper | Sink, config = {}): Topology =>
  topology("line", config)
    .spout("source", source.spout)
    .bolt("end", end.bolt, { from: { "source.numbers": grouping.shuffle() } })
    .build();

describe("a pause", () => {
  it("stops calling `next`, and lets bolts work on the tuples in flight", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const running = await stage.start(line(source, keeper));
    await running.pause();
    source.put(2);
    keeper.last.ack();
    await stage.advance(10_000);
    expect(running.phase).toBe("paused");
    expect(keeper.numbers).toEqual([1]);
    expect(source.acked).toEqual([1]);
    await running.resume();
    await stage.settle();
    expect(running.phase).toBe("running");
    expect(keeper.numbers).toEqual([1, 2]);
  });

  it("of one that is paused changes nothing, nor does a resume of one that runs", async () => {
    await using stage = new Stage();
    const diary: string[] = [];
    const told = spout({
      streams: { numbers: N },
      next: () => undefined,
      activate: () => void diary.push("on"),
      deactivate: () => void diary.push("off"),
    });
    const running = await stage.start(topology("twice").spout("told", told).build());
    await running.resume();
    await running.pause();
    await running.pause();
    await running.resume();
    await running.resume();
    await stage.settle();
    expect(diary).toEqual(["on", "off", "on"]);
  });

  it("is refused with a TopologyPhaseError by one that stops", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const running = await stage.start(line(source, keeper));
    const stopped = running.stop();
    await stage.settle();
    expect(running.phase).toBe("draining");
    for (const request of [running.pause(), running.resume(), running.scale("end", 2)])
      await expect(request).rejects.toBeInstanceOf(TopologyPhaseError);
    keeper.last.ack();
    expect(await stopped).toEqual({ drained: true, unfinished: 0 });
  });
});

describe("a stop", () => {
  it("stops calling `next`, and waits until every tuple in flight is settled [O16]", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1, 2]), new Keeper()];
    const running = await stage.start(line(source, keeper));
    const stopped = running.stop();
    await stage.settle();
    source.put(3);
    keeper.got[0]?.ack();
    await stage.advance(1_000);
    expect(running.phase).toBe("draining");
    keeper.got[1]?.ack();
    expect(await stopped).toEqual({ drained: true, unfinished: 0 });
    expect(running.phase).toBe("ended");
    expect(source.acked).toEqual([1, 2]);
    expect(keeper.numbers).toEqual([1, 2]);
    expect(source.left).toBe(1);
    expect(stage.system.population).toBe(0);
  });

  it("waits for retries", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const running = await stage.start(line(source, keeper));
    keeper.last.fail();
    const stopped = running.stop();
    await stage.advance(200);
    keeper.last.ack();
    expect(await stopped).toEqual({ drained: true, unfinished: 0 });
    expect(source.outcomes).toEqual([[1, "acked"]]);
  });

  it("waits for ever with a drain of Infinity, and as long as is said with any other [O53]", async () => {
    const month = 2 ** 31 + 1_000;
    for (const drainMs of [Number.POSITIVE_INFINITY, month + 1_000]) {
      await using stage = new Stage();
      const [source, keeper] = [new Source([1]), new Keeper()];
      const running = await stage.start(line(source, keeper, { messageTimeoutMs: 2 * month }));
      const stopped = running.stop({ drainMs });
      await stage.advance(month);
      expect(running.phase).toBe("draining");
      keeper.last.ack();
      expect(await stopped).toEqual({ drained: true, unfinished: 0 });
    }
  });

  it("waits for untracked tuples, until none is in a mailbox or in work", async () => {
    await using stage = new Stage();
    const source = new Source([1, 2, 3], false);
    const gates = [gate(), gate(), gate()];
    const done: number[] = [];
    const slow = bolt({
      input: N,
      execute: async ({ values: { n } }) => {
        await gates[n - 1]?.promise;
        done.push(n);
      },
    });
    const running = await stage.start(
      topology("loose")
        .spout("source", source.spout)
        .bolt("slow", slow, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const stopped = running.stop();
    for (const one of gates) {
      await stage.settle();
      expect(running.phase).toBe("draining");
      one.open();
    }
    expect(await stopped).toEqual({ drained: true, unfinished: 0 });
    expect(done).toEqual([1, 2, 3]);
  });

  it("waits for an asynchronous `next` that may be about to emit", async () => {
    await using stage = new Stage();
    const [fetched, sink] = [gate<number>(), new Sink()];
    const slow = spout({
      streams: { numbers: N },
      next: async ({ emit }) => emit.numbers({ n: await fetched.promise }, { id: 1 }),
    });
    const running = await stage.start(
      topology("asks")
        .spout("slow", slow)
        .bolt("sink", sink.bolt, { from: { "slow.numbers": grouping.shuffle() } })
        .build(),
    );
    const stopped = running.stop();
    await stage.settle();
    expect(running.phase).toBe("draining");
    fetched.open(9);
    expect(await stopped).toEqual({ drained: true, unfinished: 0 });
    expect(sink.seen).toEqual([9]);
  });

  it("waits for a spout whose `ack` runs, and does not call its `next` after that", async () => {
    await using stage = new Stage();
    const [stored, keeper] = [gate(), new Keeper()];
    let next = 0;
    const failed: number[] = [];
    const source = spout({
      streams: { numbers: N },
      next: ({ emit }) => emit.numbers({ n: ++next }, { id: next }),
      ack: () => stored.promise,
      fail: (id: number) => void failed.push(id),
    });
    const running = await stage.start(
      topology("storing", { maxPending: 1 })
        .spout("source", source)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    keeper.last.ack();
    await stage.settle();
    const stopped = running.stop();
    await stage.settle();
    expect(running.phase).toBe("draining");
    stored.open();
    expect(await stopped).toEqual({ drained: true, unfinished: 0 });
    expect([keeper.numbers, failed]).toEqual([[1], []]);
  });

  it("waits for the tuples that a spout emits in its `deactivate`", async () => {
    await using stage = new Stage();
    const sink = new Sink();
    const acked: number[] = [];
    const buffered = spout({
      streams: { numbers: N },
      next: () => undefined,
      deactivate: async ({ emit }) => {
        emit.numbers({ n: 1 }, { id: 1 });
        await undefined;
        emit.numbers({ n: 2 }, { id: 2 });
      },
      ack: (id: number) => void acked.push(id),
    });
    const running = await stage.start(
      topology("buffered")
        .spout("buffered", buffered)
        .bolt("sink", sink.bolt, { from: { "buffered.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(await running.stop()).toEqual({ drained: true, unfinished: 0 });
    expect([sink.seen, acked]).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  it("gives up when its time is over, and calls the spouts' `fail` [O17]", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1, 2]), new Keeper()];
    const running = await stage.start(line(source, keeper));
    const stopped = running.stop({ drainMs: 500 });
    await stage.advance(499);
    expect(running.phase).toBe("draining");
    await stage.advance(1);
    expect(await stopped).toEqual({ drained: false, unfinished: 2 });
    expect(source.outcomes).toEqual([
      [1, "stopped", 1],
      [2, "stopped", 1],
    ]);
  });

  it("without time to drain calls `fail` at once, with `stopped`", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const running = await stage.start(line(source, keeper));
    expect(await running.stop({ drainMs: 0 })).toEqual({ drained: false, unfinished: 1 });
    expect(source.failures).toEqual([{ type: "stopped", attempts: 1, deadLettered: false }]);
    expect(stage.clock.now).toBe(0);
  });

  it("has drained also when a bolt still holds tuples of trees that have ended meanwhile", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const running = await stage.start(line(source, keeper));
    // Emitted again by the next life of the spout: what the bolt held before is nobody's.
    await stage.kill(running, "source");
    keeper.last.ack();
    await stage.settle();
    expect(source.outcomes).toEqual([[1, "acked"]]);
    expect(await stage.until(running.stop())).toEqual({ drained: true, unfinished: 0 });
  });

  it("can be hurried by a second one", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const running = await stage.start(line(source, keeper));
    const patient = running.stop();
    await stage.settle();
    const report = { drained: false, unfinished: 1 };
    expect(await running.stop({ drainMs: 0 })).toEqual(report);
    expect(await patient).toEqual(report);
  });

  it("waits for tuples in flight as long as the message timeout, unless `drainMs` says otherwise", async () => {
    for (const [config, ms] of [
      [{ messageTimeoutMs: 2_000, retries: 9 }, 2_000],
      [{ messageTimeoutMs: 2_000, retries: 9, drainMs: 300 }, 300],
    ] as const) {
      await using stage = new Stage();
      const running = await stage.start(line(new Source([1]), new Keeper(), config));
      const stopped = running.stop();
      await stage.advance(ms - 1);
      expect(running.phase).toBe("draining");
      await stage.advance(1);
      expect((await stopped).drained).toBe(false);
    }
  });

  it("has bolts settle the tuples that they hold: batches and windows that are not full", async () => {
    await using stage = new Stage();
    const source = new Source([1, 2, 3]);
    const got: unknown[] = [];
    const batches = batchBolt({
      input: N,
      size: 2,
      execute: (batch) => void got.push(batch.map(({ values }) => values.n)),
    });
    const windows = windowBolt({
      input: N,
      window: tumbling({ count: 10 }),
      execute: ({ tuples }) => void got.push(tuples.length),
    });
    const running = await stage.start(
      topology("held")
        .spout("source", source.spout)
        .bolt("batches", batches, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("windows", windows, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(got).toEqual([[1, 2]]);
    expect(await running.stop()).toEqual({ drained: true, unfinished: 0 });
    expect(got).toHaveLength(3);
    expect(got).toEqual(expect.arrayContaining([[3], 3]));
    expect(source.acked).toHaveLength(3);
  });

  it("has bolts emit their sums, though they hold no tuple", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source(upTo(5)), new Sink()];
    const sums = bolt({
      input: N,
      streams: { numbers: N },
      init: () => ({ sum: 0 }),
      execute: ({ values }, { state }) => {
        state.sum += values.n;
      },
      flush: ({ emit, state }) => emit.numbers({ n: state.sum }),
    });
    const running = await stage.start(
      topology("sums")
        .spout("source", source.spout)
        .bolt("sums", sums, { from: { "source.numbers": {} } })
        .bolt("sink", sink.bolt, { from: { "sums.numbers": {} } })
        .build(),
    );
    expect(await stage.until(running.stop())).toEqual({ drained: true, unfinished: 0 });
    expect(sink.seen).toEqual([15]);
  });

  it("has bolts settle in the order of the stream: the next bolt holds and settles the tuples that the one before emits", async () => {
    await using stage = new Stage();
    const source = new Source([1, 2, 3]);
    const sums: number[] = [];
    const add = batchBolt({
      input: N,
      streams: { sums: N },
      size: 2,
      execute: (batch, { emit }) => emit.sums({ n: batch.reduce((sum, { values }) => sum + values.n, 0) }),
    });
    const store = batchBolt({
      input: N,
      size: 100,
      execute: (batch) => void sums.push(...batch.map(({ values }) => values.n)),
    });
    const running = await stage.start(
      topology("chain")
        .spout("source", source.spout)
        .bolt("add", add, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("store", store, { from: { "add.sums": grouping.shuffle() } })
        .build(),
    );
    expect(await running.stop()).toEqual({ drained: true, unfinished: 0 });
    expect(sums.sort()).toEqual([3, 3]);
  });

  it("lets no crash undo the end: one while it drains ends it with the reason", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const running = await stage.start(line(source, keeper, { intensity: 0 }));
    const stopped = running.stop().catch((error: unknown) => error);
    await stage.kill(running, "end");
    await stage.kill(running, "end");
    expect(running.phase).toBe("ended");
    expect(await stopped).toMatchObject({ drained: false });
  });

  it("is the end of `await using`", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source(upTo(3)), new Sink()];
    {
      await using running = await stage.start(line(source, sink));
      expect(running.phase).toBe("running");
    }
    expect(source.acked).toHaveLength(3);
    expect(stage.system.population).toBe(0);
  });

  it("of a topology that has ended before says how that was; anything else is refused", async () => {
    await using stage = new Stage();
    const running = await stage.start(line(new Source(), new Sink()));
    await running.stop();
    expect(await running.stop()).toEqual({ drained: true, unfinished: 0 });
    const refusal = {
      code: "ERR_TOPOLOGY_PHASE",
      message: expect.stringContaining("is ended: it cannot scale"),
    };
    await expect(running.scale("sink", 2)).rejects.toMatchObject(refusal);
  });
});

describe("a topology whose supervisor shuts down", () => {
  it("drains first", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const house = await stage.system.start(
      supervisor({ children: [{ id: "line", start: line(source, keeper), shutdown: 60_000 }] }),
    );
    await stage.settle();
    stage.system.exit(house.pid as never, "shutdown");
    await stage.advance(1_000);
    source.put(2);
    keeper.last.ack();
    await stage.settle();
    expect(source.outcomes).toEqual([[1, "acked"]]);
    expect(keeper.numbers).toEqual([1]);
    expect(stage.system.population).toBe(0);
  });

  it("has no time for that when its starter has crashed", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const starter = stage.system.spawn<string>({
      init: async (ctx) => void (await ctx.start(line(source, keeper))),
      handle: () => {
        throw new Error("the starter");
      },
    });
    await stage.settle();
    expect(keeper.numbers).toEqual([1]);
    stage.system.send(starter, "crash");
    await stage.settle();
    expect(source.outcomes).toEqual([[1, "stopped", 1]]);
    expect(stage.system.population).toBe(0);
  });
});

describe("finished", () => {
  const finite = (last: number): ReturnType<typeof spoutFrom<typeof N, "numbers">> =>
    spoutFrom(
      upTo(last).map((n) => ({ n })),
      { stream: "numbers", fields: N },
    );

  it("waits until every spout is done, and everything that came; the topology goes on running", async () => {
    await using stage = new Stage();
    const keeper = new Keeper();
    const running = await stage.start(
      topology("finite")
        .spout("source", finite(2))
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    let finished = false;
    const told = running.finished().then(() => {
      finished = true;
    });
    keeper.got[0]?.ack();
    await stage.advance(1_000);
    expect(finished).toBe(false);
    keeper.got[1]?.ack();
    await told;
    expect(running.phase).toBe("running");
    await running.finished();
  });

  it("has bolts settle the tuples that they hold", async () => {
    await using stage = new Stage();
    const batches: number[] = [];
    const store = batchBolt({ input: N, size: 4, execute: (batch) => void batches.push(batch.length) });
    const running = await stage.start(
      topology("finite")
        .spout("source", finite(6))
        .bolt("store", store, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await running.finished();
    expect(batches).toEqual([4, 2]);
  });

  it("waits while one spout of several is not done", async () => {
    await using stage = new Stage();
    const running = await stage.start(
      topology("two").spout("source", finite(2)).spout("other", new Source().spout).build(),
    );
    const told = running.finished({ timeoutMs: 5_000 }).catch((error: { code?: unknown }) => error.code);
    await stage.advance(5_000);
    expect(await told).toBe("ERR_CALL_TIMEOUT");
  });

  it("rejects when the topology ends before", async () => {
    await using stage = new Stage();
    const running = await stage.start(line(new Source(), new Sink()));
    const told = running.finished().catch((error: unknown) => error);
    await running.stop();
    expect(await told).toBeInstanceOf(CalleeExitedError);
  });
});
