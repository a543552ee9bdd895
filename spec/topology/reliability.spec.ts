// What becomes of a spout's tuple: it is done when everything is done that came of it, and its spout hears of it once.

import { type BoltDefinition, bolt, grouping, spout, type Tuple, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { Keeper, N, Sink, Source, Stage, upTo } from "./support.js";

const passOn = bolt({
  input: N,
  streams: { passed: N },
  execute: ({ values }, { emit }) => emit.passed(values),
});

describe("a reliable tuple", () => {
  it("is acked when the bolt at the end of its way has acked it, and not before", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([7]), new Keeper()];
    await stage.start(
      topology("way")
        .spout("source", source.spout)
        .bolt("middle", passOn, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("end", keeper.bolt, { from: { "middle.passed": grouping.shuffle() } })
        .build(),
    );
    expect(keeper.numbers).toEqual([7]);
    expect(source.outcomes).toEqual([]);
    keeper.last.ack();
    await stage.settle();
    expect(source.outcomes).toEqual([[7, "acked"]]);
    expect(stage.clock.now).toBe(0);
  });

  it("is acked once for each id, however many tuples come of it", async () => {
    await using stage = new Stage();
    const source = new Source(upTo(200));
    const sink = new Sink();
    const thrice = bolt({
      input: N,
      streams: { copies: N },
      execute: ({ values: { n } }, { emit }) => {
        for (const _ of upTo(n % 4)) emit.copies({ n });
      },
    });
    await stage.start(
      topology("fan")
        .spout("source", source.spout)
        .bolt("thrice", thrice, { tasks: 3, from: { "source.numbers": grouping.shuffle() } })
        .bolt("sink", sink.bolt, { tasks: 2, from: { "thrice.copies": grouping.fields("n") } })
        .build(),
    );
    expect([...source.acked].sort((a, b) => a - b)).toEqual(upTo(200));
    expect(source.outcomes).toHaveLength(200);
    expect(sink.seen).toHaveLength(300);
  });

  it("fails as soon as one tuple of its tree has failed, whatever becomes of the others", async () => {
    await using stage = new Stage();
    const [source, left, right] = [new Source([7]), new Keeper(), new Keeper()];
    await stage.start(
      topology("fork", { retries: 0 })
        .spout("source", source.spout)
        .bolt("left", left.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("right", right.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    left.last.fail();
    await stage.settle();
    expect(source.outcomes).toEqual([[7, "failed", 1]]);
    right.last.ack();
    await stage.advance(60_000);
    expect(source.outcomes).toHaveLength(1);
  });

  it("is one that any id was given but undefined: also 0 and the empty text", async () => {
    await using stage = new Stage();
    const acked: unknown[] = [];
    const ids = [0, "", null, false];
    const odd = spout({
      streams: { numbers: N },
      next: ({ emit }) => {
        if (ids.length > 0) emit.numbers({ n: 1 }, { id: ids.shift() });
      },
      ack: (id) => void acked.push(id),
    });
    await stage.start(topology("ids").spout("odd", odd).build());
    expect(acked).toEqual([0, "", null, false]);
  });
});

describe("a tuple for all tasks", () => {
  it("is not acked before every task has acked its copy [O2]", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([7]), new Keeper()];
    await stage.start(
      topology("everyone")
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { tasks: 3, from: { "source.numbers": grouping.all() } })
        .build(),
    );
    expect(keeper.got.map(({ index }) => index).sort()).toEqual([0, 1, 2]);
    for (const held of keeper.got) {
      expect(source.outcomes).toEqual([]);
      held.ack();
      await stage.settle();
    }
    expect(source.outcomes).toEqual([[7, "acked"]]);
  });
});

/** Emits pairs: waits for two numbers, and emits their sum, anchored to both. */
function joiner(): BoltDefinition<{ readonly "*": N }, { readonly sums: N }> {
  let first: Tuple<{ readonly n: number }> | undefined;
  return bolt({
    input: N,
    streams: { sums: N },
    mode: "manual",
    execute: (tuple, { emit, ack }) => {
      if (first === undefined) {
        first = tuple;
        return;
      }
      emit.sums({ n: first.values.n + tuple.values.n }, { anchors: [first, tuple] });
      ack(first);
      ack(tuple);
      first = undefined;
    },
  });
}

describe("a join", () => {
  it("is sent once, and when it is acked both trees are done [O4]", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1, 2]), new Keeper()];
    await stage.start(
      topology("join")
        .spout("source", source.spout)
        .bolt("join", joiner(), { from: { "source.numbers": grouping.shuffle() } })
        .bolt("keeper", keeper.bolt, { from: { "join.sums": grouping.shuffle() } })
        .build(),
    );
    expect(keeper.numbers).toEqual([3]);
    expect(source.outcomes).toEqual([]);
    keeper.last.ack();
    await stage.settle();
    expect([...source.acked].sort()).toEqual([1, 2]);
  });

  it("fails both trees when it fails, and its descendants belong to both", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1, 2]), new Keeper()];
    await stage.start(
      topology("join", { retries: 0 })
        .spout("source", source.spout)
        .bolt("join", joiner(), { from: { "source.numbers": grouping.shuffle() } })
        .bolt("middle", passOn, { from: { "join.sums": grouping.shuffle() } })
        .bolt("keeper", keeper.bolt, { from: { "middle.passed": grouping.shuffle() } })
        .build(),
    );
    keeper.last.fail();
    await stage.settle();
    expect(source.outcomes.map(([n, outcome]) => [n, outcome]).sort()).toEqual([
      [1, "failed"],
      [2, "failed"],
    ]);
  });

  it("of two tuples of one tree settles that tree", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([5]), new Keeper()];
    const twice = bolt({
      input: N,
      streams: { copies: N },
      execute: ({ values }, { emit }) => {
        emit.copies(values);
        emit.copies(values);
      },
    });
    await stage.start(
      topology("diamond")
        .spout("source", source.spout)
        .bolt("twice", twice, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("join", joiner(), { from: { "twice.copies": grouping.shuffle() } })
        .bolt("keeper", keeper.bolt, { from: { "join.sums": grouping.shuffle() } })
        .build(),
    );
    expect(keeper.numbers).toEqual([10]);
    expect(source.outcomes).toEqual([]);
    keeper.last.ack();
    await stage.settle();
    expect(source.outcomes).toEqual([[5, "acked"]]);
  });
});

describe("a tuple that is not anchored", () => {
  it("is not waited for, along a subscription that says so", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([7]), new Keeper()];
    await stage.start(
      topology("loose")
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, {
          from: { "source.numbers": { grouping: grouping.shuffle(), anchored: false } },
        })
        .build(),
    );
    expect(source.outcomes).toEqual([[7, "acked"]]);
    expect(keeper.last.tuple.anchored).toBe(false);
    keeper.last.fail();
    await stage.settle();
    expect(source.outcomes).toEqual([[7, "acked"]]);
  });

  it("is not waited for, when the emit has no anchors", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([7]), new Keeper()];
    const loose = bolt({
      input: N,
      streams: { copies: N },
      execute: ({ values }, { emit }) => emit.copies(values, { anchors: [] }),
    });
    await stage.start(
      topology("loose")
        .spout("source", source.spout)
        .bolt("loose", loose, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("keeper", keeper.bolt, { from: { "loose.copies": grouping.shuffle() } })
        .build(),
    );
    expect(keeper.numbers).toEqual([7]);
    expect(source.outcomes).toEqual([[7, "acked"]]);
  });

  it("may go along one subscription while another of the same stream is anchored", async () => {
    await using stage = new Stage();
    const [source, heard, ignored] = [new Source([7]), new Keeper(), new Keeper()];
    await stage.start(
      topology("both")
        .spout("source", source.spout)
        .bolt("heard", heard.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("ignored", ignored.bolt, { from: { "source.numbers": { anchored: false } } })
        .build(),
    );
    expect(source.outcomes).toEqual([]);
    heard.last.ack();
    await stage.settle();
    expect(source.outcomes).toEqual([[7, "acked"]]);
    expect(ignored.numbers).toEqual([7]);
  });
});

describe("an emit", () => {
  it("passes the ids of the tasks that got it to `onTasks`", async () => {
    await using stage = new Stage();
    const told: (readonly number[])[] = [];
    const source = new Source([1, 2, 3], true, (n, { emit }) =>
      emit.numbers({ n }, { id: n, onTasks: (tasks) => told.push(tasks) }),
    );
    const running = await stage.start(
      topology("told")
        .spout("source", source.spout)
        .bolt("one", new Sink().bolt, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .bolt("every", new Sink().bolt, { tasks: 2, from: { "source.numbers": grouping.all() } })
        .build(),
    );
    const [one, every] = ["one", "every"].map((name) => running.tasks(name).map(({ task }) => task));
    for (const tasks of told) {
      expect(tasks).toHaveLength(3);
      expect(one).toContain(tasks[0]);
      expect(tasks.slice(1)).toEqual(every);
    }
    expect(new Set(told.map((tasks) => tasks[0]))).toEqual(new Set(one));
  });

  it("passes the tasks to `onTasks` also when it was sent later, since its acker was down", async () => {
    await using stage = new Stage();
    const told: (readonly number[])[] = [];
    const source = new Source([], true, (n, { emit }) =>
      emit.numbers({ n }, { id: n, onTasks: (tasks) => told.push(tasks) }),
    );
    const running = await stage.start(
      topology("later", { ackers: 1, restartBackoff: { minMs: 50, maxMs: 50, jitter: 0 } })
        .spout("source", source.spout)
        .bolt("sink", new Sink().bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "__acker");
    source.put(1);
    await stage.advance(1_000);
    expect(source.outcomes).toEqual([[1, "acked"]]);
    expect(told).toEqual([running.tasks("sink").map(({ task }) => task)]);
  });

  it("reaches the task that it names, along a subscription that is direct", async () => {
    await using stage = new Stage();
    const sink = new Sink();
    let tasks: readonly number[] = [];
    const source = new Source([], true, (n, { emit }) => {
      const task = tasks[n % 2];
      emit.numbers({ n }, task === undefined ? { id: n } : { id: n, task });
    });
    const running = await stage.start(
      topology("direct")
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { tasks: 2, from: { "source.numbers": grouping.direct() } })
        .build(),
    );
    tasks = running.tasks("sink").map(({ task }) => task);
    source.put(...upTo(6));
    await stage.settle();
    expect(sink.byTask).toEqual([
      [2, 4, 6],
      [1, 3, 5],
    ]);
    expect(source.acked).toHaveLength(6);
  });

  it("goes to no task, along a direct subscription, when it names no task: and is acked, since there is nothing to do", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source([1]), new Sink()];
    await stage.start(
      topology("direct")
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.direct() } })
        .build(),
    );
    expect(sink.seen).toEqual([]);
    expect(source.acked).toEqual([1]);
  });
});
