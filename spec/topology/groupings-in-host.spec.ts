// Groupings at work in a running topology: which tasks get what.

import { leastLoaded, type RoutingFunction } from "signalbox";
import { bolt, type Grouping, grouping, spout, type TopologyRef, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { N, Sink, Source, Stage, upTo } from "./support.js";

/** Sends numbers along a subscription to three tasks. */
async function dealt(
  grouping: Grouping<{ readonly n: number }>,
  numbers: readonly number[],
  work?: (stage: Stage, running: TopologyRef, source: Source) => Promise<void>,
): Promise<{ readonly byTask: readonly number[][]; readonly outcomes: Source["outcomes"] }> {
  await using stage = new Stage();
  const [source, sink] = [new Source(numbers), new Sink()];
  const running = await stage.start(
    topology("dealt", { retries: 0 })
      .spout("source", source.spout)
      .bolt("sink", sink.bolt, { tasks: 3, from: { "source.numbers": grouping } })
      .build(),
  );
  await work?.(stage, running, source);
  await stage.settle();
  return { byTask: [0, 1, 2].map((index) => sink.byTask[index] ?? []), outcomes: source.outcomes };
}

describe("in a running topology", () => {
  it.each([
    ["shuffle", grouping.shuffle()],
    ["none", grouping.none()],
    ["localOrShuffle, where all are on one node,", grouping.localOrShuffle()],
  ])("%s gives each task its turn", async (_name, grouping) => {
    const { byTask } = await dealt(grouping, upTo(30));
    expect(byTask.map(({ length }) => length)).toEqual([10, 10, 10]);
  });

  it("fields gives the same values to the same task, from whichever task they come [O20]", async () => {
    await using stage = new Stage();
    const keys = upTo(90).map((n) => n % 9);
    const [source, sink] = [new Source(keys), new Sink()];
    await stage.start(
      topology("keys")
        .spout("source", source.spout, { tasks: 3, maxPending: 5 })
        .bolt("sink", sink.bolt, { tasks: 3, from: { "source.numbers": grouping.fields("n") } })
        .build(),
    );
    for (const key of new Set(keys)) expect(sink.byTask.filter((own) => own.includes(key))).toHaveLength(1);
    expect(sink.seen).toHaveLength(90);
  });

  it("fields goes on with the same task after that has crashed, and leaves keys alone when another comes", async () => {
    const { byTask } = await dealt(grouping.fields("n"), upTo(30), async (stage, running, source) => {
      await stage.kill(running, "sink", 1);
      source.put(...upTo(30));
      await stage.settle();
    });
    expect(byTask.map((own) => own.length % 2)).toEqual([0, 0, 0]);
    for (const own of byTask) expect(own.slice(0, own.length / 2)).toEqual(own.slice(own.length / 2));
  });

  it("partialKey spreads a frequent value over two tasks, and no more", async () => {
    const { byTask } = await dealt(grouping.partialKey("n"), Array(100).fill(7));
    expect(byTask.map(({ length }) => length).sort()).toEqual([0, 50, 50]);
  });

  it("global gives everything to the first task", async () => {
    const { byTask } = await dealt(grouping.global(), upTo(10));
    expect(byTask).toEqual([upTo(10), [], []]);
  });

  it("a routing function of dispatch does as well, and one of one's own", async () => {
    const { byTask } = await dealt(leastLoaded(), upTo(9));
    expect(byTask.flat().sort()).toEqual(upTo(9));
    const parity: RoutingFunction<{ readonly n: number }> = ({ payload }, tasks) => tasks[payload.n % 2];
    expect((await dealt(parity, upTo(6))).byTask).toEqual([[2, 4, 6], [1, 3, 5], []]);
  });

  it("one that chooses no task leaves the tuple unread, which is acked", async () => {
    const { byTask, outcomes } = await dealt(() => undefined, [1]);
    expect(byTask.flat()).toEqual([]);
    expect(outcomes).toEqual([[1, "acked"]]);
  });

  it("shuffle leaves out a task that is down, and none fails for that", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source(), new Sink()];
    const running = await stage.start(
      topology("down", { retries: 0 })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, {
          tasks: 3,
          restartBackoff: { minMs: 1_000, maxMs: 1_000, jitter: 0 },
          from: { "source.numbers": grouping.shuffle() },
        })
        .build(),
    );
    await stage.kill(running, "sink", 1);
    source.put(...upTo(10));
    await stage.advance(100);
    expect(source.acked).toHaveLength(10);
    expect([0, 1, 2].map((index) => sink.byTask[index]?.length)).toEqual([5, undefined, 5]);
    await stage.advance(1_000);
    source.put(...upTo(9));
    await stage.settle();
    expect(sink.byTask[1]).toHaveLength(3);
  });

  it("fields fails tuples for a task that is down, and they are retried until the task is up", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source(), new Sink()];
    const running = await stage.start(
      topology("down")
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, {
          tasks: 2,
          restartBackoff: { minMs: 300, maxMs: 300, jitter: 0 },
          from: { "source.numbers": grouping.fields("n") },
        })
        .build(),
    );
    await stage.kill(running, "sink", 0);
    await stage.kill(running, "sink", 1);
    source.put(...upTo(10));
    await stage.settle();
    expect(sink.seen).toEqual([]);
    await stage.advance(1_000);
    expect([...source.acked].sort((a, b) => a - b)).toEqual(upTo(10));
    expect(source.outcomes).toHaveLength(10);
  });

  it("the same grouping may be given to several subscriptions: each counts its own turns", async () => {
    await using stage = new Stage();
    const shared = grouping.shuffle<{ readonly n: number }>();
    const [left, right] = [new Sink(), new Sink()];
    await stage.start(
      topology("shared")
        .spout("source", new Source(upTo(10)).spout)
        .bolt("left", left.bolt, { tasks: 2, from: { "source.numbers": shared } })
        .bolt("right", right.bolt, { tasks: 2, from: { "source.numbers": shared } })
        .build(),
    );
    for (const { byTask } of [left, right]) expect(byTask.map(({ length }) => length)).toEqual([5, 5]);
  });

  it("tuples of one task to another keep their order, also when they are of several streams", async () => {
    await using stage = new Stage();
    const seen: string[] = [];
    const two = spout({
      streams: { odd: N, even: N },
      init: () => ({ n: 0 }),
      next: ({ emit, state, done }) => {
        const n = ++state.n;
        if (n === 20) done();
        if (n % 2 === 0) emit.even({ n });
        else emit.odd({ n });
      },
    });
    const reader = bolt({
      inputs: { odd: N, even: N },
      execute: ({ stream, values }) => void seen.push(`${stream} ${values.n}`),
    });
    await stage.start(
      topology("order")
        .spout("two", two)
        .bolt("reader", reader, { from: { "two.odd": grouping.shuffle(), "two.even": grouping.shuffle() } })
        .build(),
    );
    expect(seen).toEqual(upTo(20).map((n) => `${n % 2 === 0 ? "even" : "odd"} ${n}`));
  });
});
