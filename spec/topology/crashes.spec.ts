// Crashes of single tasks: what becomes of their tuples, and who notices.

import { ProcessExitedError } from "signalbox";
import { bolt, grouping, spout, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { gate } from "../support/gate.js";
import { Keeper, N, pidsOf, Sink, Source, Stage, upTo } from "./support.js";

describe("a bolt's task that is killed", () => {
  it("fails at once the tuples that it had taken and not settled [O5]", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1, 2, 3]), new Keeper()];
    const running = await stage.start(
      topology("held", { retries: 0 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    keeper.got[0]?.ack();
    await stage.kill(running, "keeper");
    expect([...source.outcomes].sort()).toEqual([
      [1, "acked"],
      [2, "failed", 1],
      [3, "failed", 1],
    ]);
    expect(stage.clock.now).toBe(0);
  });

  it("fails at once the tuple that it awaits something for", async () => {
    await using stage = new Stage();
    const source = new Source([1]);
    const never = bolt({ input: N, execute: () => new Promise<void>(() => undefined) });
    const running = await stage.start(
      topology("awaited", { retries: 0 })
        .spout("source", source.spout)
        .bolt("never", never, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "never");
    expect(source.outcomes).toEqual([[1, "failed", 1]]);
    expect(stage.clock.now).toBe(0);
  });

  it("settles no tuple by a late end of `execute`", async () => {
    await using stage = new Stage();
    const [source, end] = [new Source([1]), gate()];
    const slow = bolt({ input: N, execute: () => end.promise });
    const running = await stage.start(
      topology("late", { retries: 0 })
        .spout("source", source.spout)
        .bolt("slow", slow, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "slow");
    end.open();
    await stage.settle();
    expect(source.outcomes).toEqual([[1, "failed", 1]]);
    expect(running.metrics().components.find(({ name }) => name === "slow")).toMatchObject({
      acked: 0,
      failed: 1,
    });
  });

  it("is refused a late ack, with an error that says why", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const running = await stage.start(
      topology("refused")
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const { last } = keeper;
    stage.strike(running, "keeper");
    expect(() => last.ack()).toThrow(ProcessExitedError);
    await stage.settle();
    expect(() => last.fail()).toThrow(ProcessExitedError);
  });

  it("leaves the tuples in its mailbox to its siblings, where any task will do", async () => {
    await using stage = new Stage();
    const [source, stuck] = [new Source([1]), gate()];
    const done: number[] = [];
    const worker = bolt({
      input: N,
      execute: ({ values: { n } }) => {
        if (n === 1) return stuck.promise;
        done.push(n);
        return undefined;
      },
    });
    const running = await stage.start(
      topology("siblings", { retries: 0 })
        .spout("source", source.spout)
        .bolt("worker", worker, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    source.put(2, 3, 4, 5);
    await stage.settle();
    expect(
      running
        .tasks("worker")
        .map(({ waiting }) => waiting)
        .sort(),
    ).toEqual([0, 2]);
    await stage.kill(
      running,
      "worker",
      running.tasks("worker").findIndex(({ waiting }) => waiting > 0),
    );
    expect(done.sort()).toEqual([2, 3, 4, 5]);
    expect([...source.outcomes].sort()).toEqual([[1, "failed", 1], ...[2, 3, 4, 5].map((n) => [n, "acked"])]);
  });

  it("fails at once the tuples in its mailbox, where only it will do", async () => {
    await using stage = new Stage();
    const [source, stuck] = [new Source(upTo(5)), gate()];
    const worker = bolt({ input: { n: N.n }, execute: () => stuck.promise });
    const running = await stage.start(
      topology("keys", { retries: 0 })
        .spout("source", source.spout)
        .bolt("worker", worker, { tasks: 2, from: { "source.numbers": grouping.fields("n") } })
        .build(),
    );
    const [first, second] = running.tasks("worker");
    const fallen = (first?.waiting ?? 0) >= (second?.waiting ?? 0) ? 0 : 1;
    const lost = (running.tasks("worker")[fallen]?.waiting ?? 0) + 1;
    expect(lost).toBeGreaterThan(1);
    await stage.kill(running, "worker", fallen);
    expect(source.outcomes).toHaveLength(lost);
    expect(source.outcomes.every(([, outcome]) => outcome === "failed")).toBe(true);
    expect(stage.clock.now).toBe(0);
  });

  it("has its tuples again when they are tried again", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1, 2]), new Keeper()];
    const running = await stage.start(
      topology("again")
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "keeper");
    await stage.advance(200);
    expect([...keeper.numbers].sort()).toEqual([1, 1, 2, 2]);
    for (const held of keeper.got.slice(2)) held.ack();
    await stage.settle();
    expect([...source.acked].sort()).toEqual([1, 2]);
  });

  it("counts unanchored tuples as lost", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1, 2, 3], false), new Keeper()];
    const running = await stage.start(
      topology("lost")
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "keeper");
    expect(running.metrics().components.find(({ name }) => name === "keeper")?.lost).toBe(3);
  });

  it("keeps its values in `shared`, and gets a new state", async () => {
    await using stage = new Stage();
    const source = new Source([1]);
    const told: unknown[] = [];
    const counter = bolt({
      input: N,
      init: () => ({ mine: 0 }),
      execute: (_tuple, { state, shared }) => {
        shared.set("ours", ((shared.get("ours") as number | undefined) ?? 0) + 1);
        told.push([++state.mine, shared.get("ours")]);
      },
    });
    const running = await stage.start(
      topology("shared")
        .spout("source", source.spout)
        .bolt("counter", counter, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "counter");
    source.put(2);
    await stage.settle();
    expect(told).toEqual([
      [1, 1],
      [1, 2],
    ]);
  });
});

describe("an acker that is killed", () => {
  it("has its trees fail at once, and they are tried again [O7]", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source(upTo(8)), new Keeper()];
    const running = await stage.start(
      topology("acker", { ackers: 1, retryBackoff: { minMs: 100, maxMs: 100, jitter: 0 } })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "__acker");
    await stage.advance(100);
    expect([...keeper.numbers].sort()).toEqual(upTo(8).flatMap((n) => [n, n]));
    for (const held of keeper.got) held.ack();
    await stage.settle();
    expect([...source.acked].sort()).toEqual(upTo(8));
    expect(source.outcomes).toHaveLength(8);
  });

  it("has only its own trees fail", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source(upTo(40)), new Keeper()];
    const running = await stage.start(
      topology("ackers", { retries: 0 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "__acker", 2);
    const failed = source.outcomes.length;
    expect(failed).toBeGreaterThan(0);
    expect(failed).toBeLessThan(40);
    for (const held of keeper.got) held.ack();
    await stage.settle();
    expect(source.acked).toHaveLength(40 - failed);
  });
});

describe("a spout's task that is killed", () => {
  it("emits its tuples in flight again, when there are retries [O6]", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1, 2]), new Keeper()];
    const running = await stage.start(
      topology("spout")
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "source");
    expect(keeper.numbers).toEqual([1, 2, 1, 2]);
    expect(stage.clock.now).toBe(0);
    // The trees of the first life are nobody's.
    for (const held of keeper.got.slice(0, 2)) held.ack();
    await stage.settle();
    expect(source.outcomes).toEqual([]);
    for (const held of keeper.got.slice(2)) held.ack();
    await stage.settle();
    expect([...source.acked].sort()).toEqual([1, 2]);
  });

  it("does not say for the next one that there is no more to come", async () => {
    await using stage = new Stage();
    const [late, sink] = [gate(), new Sink()];
    let lives = 0;
    const source = spout({
      streams: { numbers: N },
      init: () => ({ life: ++lives, next: 0 }),
      next: async ({ state, emit, done }) => {
        if (state.life === 1) {
          await late.promise;
          done();
        } else if (state.next < 3) emit.numbers({ n: ++state.next }, { id: state.next });
      },
    });
    const running = await stage.start(
      topology("done", { maxPending: 1 })
        .spout("source", source)
        .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    stage.strike(running, "source");
    let finished = false;
    const asked = running.finished().then(
      () => {
        finished = true;
      },
      () => undefined,
    );
    await stage.settle();
    late.open();
    await stage.advance(1_000);
    expect([sink.seen, finished]).toEqual([[1, 2, 3], false]);
    await stage.until(running.stop());
    await asked;
  });

  it("does not call `fail` after its end", async () => {
    await using stage = new Stage();
    const [first, keeper] = [gate(), new Keeper()];
    const failed: number[] = [];
    let next = 0;
    const source = spout({
      streams: { numbers: N },
      next: ({ emit }) => {
        if (next < 3) emit.numbers({ n: ++next }, { id: next });
      },
      fail: (id: number) => {
        failed.push(id);
        return first.promise;
      },
    });
    const running = await stage.start(
      topology("told", { retries: 0, ackers: 1 })
        .spout("source", source)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "__acker");
    expect(failed).toHaveLength(1);
    await stage.kill(running, "source");
    first.open();
    await stage.settle();
    expect(failed).toHaveLength(1);
  });

  it("leaves that to its source, when there are none", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1, 2]), new Keeper()];
    const running = await stage.start(
      topology("spout", { retries: 0, maxPending: 2 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "source");
    for (const held of keeper.got) held.ack();
    source.put(3);
    await stage.settle();
    expect(keeper.numbers).toEqual([1, 2, 3]);
    expect(source.outcomes).toEqual([]);
  });
});

describe("the system task that is killed", () => {
  it("is started again, and the tuples of a bolt that ended meanwhile have failed all the same", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const running = await stage.start(
      topology("system", { retries: 0 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const before = pidsOf(running, "keeper", "__system");
    stage.strike(running, "__system");
    stage.strike(running, "keeper");
    await stage.settle();
    expect(source.outcomes).toEqual([[1, "failed", 1]]);
    expect(pidsOf(running, "keeper", "__system")).toEqual(before);
    expect(stage.clock.now).toBe(0);
  });

  it("goes on with its ticks", async () => {
    await using stage = new Stage();
    let ticks = 0;
    const ticking = bolt({
      input: N,
      execute: () => undefined,
      tick: () => void ticks++,
      config: { tickMs: 100 },
    });
    const running = await stage.start(
      topology("ticks")
        .spout("source", new Source().spout)
        .bolt("ticking", ticking, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(250);
    expect(ticks).toBe(2);
    await stage.kill(running, "__system");
    await stage.advance(250);
    expect(ticks).toBe(4);
  });
});

describe("a task that ends itself", () => {
  it.each(["shutdown", new Error("enough")] as const)(
    "has failed what it was given, and is restarted: %s",
    async (reason) => {
      await using stage = new Stage();
      const source = new Source([1]);
      const quitter = bolt({ input: N, execute: (_tuple, { process }) => process.exit(reason) });
      const running = await stage.start(
        topology("quits", { retries: 0 })
          .spout("source", source.spout)
          .bolt("quitter", quitter, { from: { "source.numbers": grouping.shuffle() } })
          .build(),
      );
      expect(source.outcomes).toEqual([[1, "failed", 1]]);
      expect(running.tasks("quitter")[0]).toMatchObject({ restarts: 1 });
      expect(stage.clock.now).toBe(0);
    },
  );

  it("ends also with a helper that it linked itself to", async () => {
    await using stage = new Stage();
    const source = new Source([1]);
    const helped = bolt({
      input: N,
      mode: "manual",
      execute: (_tuple, { process }) => {
        process.spawnLink(() => {
          throw new Error("the helper");
        });
      },
    });
    const running = await stage.start(
      topology("helped", { retries: 0 })
        .spout("source", source.spout)
        .bolt("helped", helped, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(source.outcomes).toEqual([[1, "failed", 1]]);
    expect(running.tasks("helped")[0]).toMatchObject({ restarts: 1 });
  });
});

describe("a bolt that ends itself within `execute`, and is closed at leisure", () => {
  it("does not log failed tuples", async () => {
    await using stage = new Stage();
    const [source, lines] = [new Source([1]), [] as string[]];
    const leaving = bolt({
      input: N,
      execute: (_tuple, { process }) => process.exit("normal"),
      close: async () => undefined,
    });
    await stage.start(
      topology("leaving", { retries: 0, intensity: Number.POSITIVE_INFINITY })
        .spout("source", source.spout)
        .bolt("leaving", leaving, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: ({ text }) => lines.push(text) },
    );
    expect(source.outcomes).toEqual([[1, "failed", 1]]);
    expect(lines).toEqual([]);
  });
});

describe("an acker that ends", () => {
  it.each([1, 4])("delays no tuple behind later ones: one of %i ackers [O55]", async (ackers) => {
    await using stage = new Stage();
    const [source, sink] = [new Source(), new Sink()];
    const running = await stage.start(
      topology("order", { ackers })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const numbers = upTo(240);
    for (let next = 0; next < numbers.length; next += 30) {
      stage.strike(running, "__acker", next % ackers);
      source.put(...numbers.slice(next, next + 30));
      await stage.advance(1);
    }
    await stage.advance(5_000);
    const first = sink.seen.filter((n, i) => sink.seen.indexOf(n) === i);
    expect(first).toEqual(numbers);
    expect([...source.acked].sort((a, b) => a - b)).toEqual(numbers);
  });
});

describe("two runs of one topology", () => {
  it("have nothing to do with each other", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source(), new Sink()];
    const built = topology("twice")
      .spout("source", source.spout)
      .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
      .build();
    const [one, two] = [await stage.start(built), await stage.start(built)];
    await one.stop();
    source.put(1);
    await stage.advance(100);
    expect([one.phase, two.phase, sink.seen]).toEqual(["ended", "running", [1]]);
  });
});

describe("only the task that crashed", () => {
  it.each(["__acker", "source", "worker", "__system"])("is restarted: %s", async (component) => {
    await using stage = new Stage();
    const running = await stage.start(
      topology("alone")
        .spout("source", new Source().spout, { tasks: 2 })
        .bolt("worker", new Sink().bolt, {
          tasks: 4,
          executors: 2,
          from: { "source.numbers": grouping.shuffle() },
        })
        .build(),
    );
    const before = running.tasks();
    await stage.kill(running, component, component === "__system" ? 0 : 1);
    const after = running.tasks();
    const changed = after.filter(({ pid }, at) => pid !== before[at]?.pid);
    expect(changed).toMatchObject([{ component, restarts: 1 }]);
    expect(changed[0]?.pid).toBeDefined();
  });

  it("is restarted when it crashes by itself, and its crash is logged", async () => {
    await using stage = new Stage();
    const crashing = spout({
      streams: { numbers: N },
      init: (ctx) => ctx,
      next: ({ shared, done }) => {
        if (shared.has("crashed")) return done();
        shared.set("crashed", true);
        throw new Error("once");
      },
    });
    const restarts: unknown[] = [];
    stage.system.events.on("restart", (report) => restarts.push(report));
    const running = await stage.start(topology("once").spout("crashing", crashing).build());
    expect(running.tasks("crashing")[0]).toMatchObject({ restarts: 1 });
    expect(restarts).toHaveLength(1);
    expect(running.phase).toBe("running");
  });
});
