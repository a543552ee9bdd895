// Defects of a forerunner, each held off by a test: what goes wrong in a topology that counts and tracks carelessly.

import { bolt, grouping, spout, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { AckerMachine, COMPLETED } from "../../lib/topology/tracking/acker-machine.js";
import { Keeper, N, pidsOf, Sink, Source, Stage, upTo } from "./support.js";

describe("the defects that it must not have", () => {
  it("defect 1: an unreliable spout stalls after `maxPending` emits", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source(upTo(50), false), new Sink()];
    await stage.start(
      topology("one", { maxPending: 2 })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(sink.seen).toEqual(upTo(50));
  });

  it("defect 2: of a tuple for all tasks, the first ack hides the failures of the others", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([7]), new Keeper()];
    await stage.start(
      topology("two", { retries: 0 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { tasks: 3, from: { "source.numbers": grouping.all() } })
        .build(),
    );
    const [first, second, third] = keeper.got;
    first?.ack();
    second?.ack();
    await stage.settle();
    expect(source.outcomes).toEqual([]);
    third?.fail();
    await stage.settle();
    expect(source.outcomes).toEqual([[7, "failed", 1]]);
  });

  it("defect 3: a reliable tuple without a subscriber stays pending for ever", async () => {
    await using stage = new Stage();
    const source = new Source(upTo(50));
    const running = await stage.start(
      topology("three", { maxPending: 2 }).spout("source", source.spout).build(),
    );
    expect(source.acked).toEqual(upTo(50));
    expect(running.metrics().components.find(({ name }) => name === "source")?.pending).toBe(0);
    expect(stage.clock.now).toBe(0);
  });

  it("defect 4: a start resets the count of restarts, so that a crash loop never ends", async () => {
    await using stage = new Stage();
    const broken = spout({
      streams: { numbers: N },
      next: () => {
        throw new Error("again");
      },
    });
    const waits: number[] = [];
    stage.system.events.on("topologyRestart", ({ delayMs }) => waits.push(delayMs));
    const loop = topology("loop", {
      restarts: 3,
      restartsBackoff: { minMs: 1_000, maxMs: 30_000, jitter: 0 },
    });
    const running = await stage.start(loop.spout("broken", broken).build());
    await stage.until(stage.system.exited(running.pid));
    expect(waits).toEqual([1_000, 2_000, 4_000]);
    expect(running.phase).toBe("ended");
  });

  it("defect 5: acks that overtake the track of their tree are lost", () => {
    const [track, ack, last] = [0, 1, 2] as const;
    const orders = [
      [track, ack, last],
      [track, last, ack],
      [ack, track, last],
      [last, track, ack],
      [ack, last, track],
      [last, ack, track],
    ];
    for (const order of orders) {
      const acker = new AckerMachine({ capacity: 4 });
      // A root with edge 5; its tuple is acked with a child of edge 9; that is acked.
      const steps = [
        () => acker.track(0, 77, 0, 5, 1),
        () => acker.ack(0, 77, 0, 5 ^ 9),
        () => acker.ack(0, 77, 0, 9),
      ];
      const verdicts = order.map((step) => steps[step]?.()?.outcome);
      expect(verdicts).toEqual([undefined, undefined, COMPLETED]);
    }
  });

  it("defect 6: a tuple with several anchors is sent once for each", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source([1, 2, 3]), new Sink()];
    const held: Parameters<Parameters<typeof bolt>[0]["execute"]>[0][] = [];
    const join = bolt({
      input: N,
      streams: { sums: N },
      mode: "manual",
      execute: (tuple, { emit, ack }) => {
        held.push(tuple as never);
        if (held.length < 3) return;
        emit.sums({ n: 6 }, { anchors: held });
        for (const one of held) ack(one);
      },
    });
    await stage.start(
      topology("six")
        .spout("source", source.spout)
        .bolt("join", join, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("sink", sink.bolt, { from: { "join.sums": grouping.shuffle() } })
        .build(),
    );
    expect(sink.seen).toEqual([6]);
    expect([...source.acked].sort()).toEqual([1, 2, 3]);
  });

  it("defect 7: a tuple that found no room with its acker is failed, and delivered all the same", async () => {
    // There is always room: an acker has room for twice what all spouts may have pending.
    await using stage = new Stage();
    const [source, sink] = [new Source(upTo(300)), new Sink()];
    await stage.start(
      topology("seven", { ackers: 1, maxPending: 1 })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { tasks: 4, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect([...sink.seen].sort((a, b) => a - b)).toEqual(upTo(300));
    expect(source.acked).toHaveLength(300);
  });

  it("defect 7, by a spout that emits more in one call of `next` than may be pending", async () => {
    await using stage = new Stage();
    const acked: number[] = [];
    const failed: number[] = [];
    const sink = new Sink();
    const burst = spout({
      streams: { numbers: N },
      next: ({ emit, done }) => {
        for (const n of upTo(50)) emit.numbers({ n }, { id: n });
        done();
      },
      ack: (id: number) => void acked.push(id),
      fail: (id: number) => void failed.push(id),
    });
    await stage.start(
      topology("burst", { ackers: 1, maxPending: 1 })
        .spout("burst", burst)
        .bolt("sink", sink.bolt, { from: { "burst.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(10_000);
    expect([...acked].sort((a, b) => a - b)).toEqual(upTo(50));
    expect(failed).toEqual([]);
    expect(sink.seen).toHaveLength(50);
  });

  it("defect 8: the crash of one task restarts everything [O8]", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source(upTo(8)), new Keeper()];
    const running = await stage.start(
      topology("eight")
        .spout("source", source.spout, { tasks: 2 })
        .bolt("keeper", keeper.bolt, {
          tasks: 3,
          executors: 1,
          from: { "source.numbers": grouping.shuffle() },
        })
        .build(),
    );
    const before = running.tasks();
    await stage.kill(running, "keeper", 1);
    const after = running.tasks();
    const changed = after.filter(({ pid }, at) => pid !== before[at]?.pid);
    expect(changed.map(({ task }) => task)).toEqual([running.tasks("keeper")[1]?.task]);
    expect(pidsOf(running, "__system")).toHaveLength(2 + 3 + 4);
  });
});
