// Direct emits: the tuple names its task, and fails where there is no such task.

import { bolt, grouping, spout, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { Keeper, N, Sink, Source, Stage, upTo } from "./support.js";

describe("a direct emit", () => {
  it("to a task that does not exist fails its tuple, which is dead in the end [O23]", async () => {
    await using stage = new Stage();
    const tasks: (readonly number[])[] = [];
    const source = new Source([1], true, (n, { emit }) =>
      emit.numbers({ n }, { id: n, task: 999, onTasks: (sent) => tasks.push(sent) }),
    );
    const [sink, lines] = [new Sink(), [] as string[]];
    const running = await stage.start(
      topology("nowhere", { retries: 2 })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.direct() } })
        .build(),
      { log: ({ text }) => lines.push(text) },
    );
    await stage.advance(1_000);
    expect(source.outcomes).toEqual([[1, "failed", 3]]);
    expect([sink.seen, tasks]).toEqual([[], [[]]]);
    const known = running.tasks("sink")[0]?.task;
    expect(lines[0]).toBe(
      `failed a tuple of numbers for task 999, which does not run; those that do are ${known}`,
    );
  });

  it("to a task that was scaled away fails: no tuple is acked that no task has worked on [O23]", async () => {
    await using stage = new Stage();
    let named: readonly number[] = [];
    const source = new Source([], true, (n, { emit }) =>
      emit.numbers({ n }, { id: n, task: named[n % named.length] as number }),
    );
    const sink = new Sink();
    const running = await stage.start(
      topology("scaled", { retries: 0 })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { tasks: 4, from: { "source.numbers": grouping.direct() } })
        .build(),
      { log: false },
    );
    named = running.tasks("sink").map(({ task }) => task);
    await stage.until(running.scale("sink", 1));
    source.put(...upTo(100));
    await stage.settle();
    expect(new Set(source.acked)).toEqual(new Set(sink.seen));
    expect(source.outcomes).toHaveLength(100);
    expect(source.failures).toHaveLength(75);
  });

  it("of a bolt fails the tuple that it comes from", async () => {
    await using stage = new Stage();
    const source = new Source([1]);
    const relay = bolt({
      input: N,
      streams: { numbers: N },
      execute: ({ values }, { emit }) => emit.numbers(values, { task: 999 }),
    });
    await stage.start(
      topology("relayed", { retries: 0 })
        .spout("source", source.spout)
        .bolt("relay", relay, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("sink", new Sink().bolt, { from: { "relay.numbers": grouping.direct() } })
        .build(),
      { log: false },
    );
    await stage.settle();
    expect(source.outcomes).toEqual([[1, "failed", 1]]);
  });

  it("reaches the one of two bolts that has the task, and is no failure of the other", async () => {
    await using stage = new Stage();
    let task = 0;
    const source = new Source([], true, (n, { emit }) => emit.numbers({ n }, { id: n, task }));
    const [one, other] = [new Sink(), new Sink()];
    const running = await stage.start(
      topology("two", { retries: 0 })
        .spout("source", source.spout)
        .bolt("one", one.bolt, { from: { "source.numbers": grouping.direct() } })
        .bolt("other", other.bolt, { from: { "source.numbers": grouping.direct() } })
        .build(),
    );
    task = running.tasks("other")[0]?.task ?? 0;
    source.put(1);
    await stage.settle();
    expect([one.seen, other.seen, source.acked]).toEqual([[], [1], [1]]);
  });

  it("that is not tracked is counted as lost", async () => {
    await using stage = new Stage();
    const loose = spout({
      streams: { numbers: N },
      next: ({ emit, done }) => {
        emit.numbers({ n: 1 }, { task: 999 });
        done();
      },
    });
    const running = await stage.start(
      topology("loose")
        .spout("source", loose)
        .bolt("sink", new Sink().bolt, { from: { "source.numbers": grouping.direct() } })
        .build(),
      { log: false },
    );
    expect(running.metrics().components.find(({ name }) => name === "sink")?.lost).toBe(1);
  });
});

describe("a grouping that goes on choosing a task that was taken out", () => {
  it("fails its tuples, and does not stop the spout", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    let last: unknown;
    const running = await stage.start(
      topology("stuck", { retries: 0 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, {
          tasks: 2,
          from: {
            "source.numbers": (_tuple, tasks) => {
              last ??= tasks[1];
              return last as never;
            },
          },
        })
        .build(),
      { log: false },
    );
    keeper.last.ack();
    await stage.until(running.scale("keeper", 1));
    source.put(2, 3);
    await stage.settle();
    expect([...source.outcomes].sort()).toEqual([
      [1, "acked"],
      [2, "failed", 1],
      [3, "failed", 1],
    ]);
  });
});
