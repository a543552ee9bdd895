// More work than can be done: tuples whose trees have expired are skipped, spouts let in what can be finished in time, and
// what is finished stays as much as the tasks can do.

import { bolt, grouping, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { LOADED, LOADS, type LoadPoint, loadPoint } from "../bench/load-curve.js";
import { gate } from "../support/gate.js";
import { proving } from "../support/proof.js";
import { Keeper, N, Sink, Source, Stage, upTo } from "./support.js";

describe("a tuple whose tree has expired", () => {
  it("is not worked on, and is counted [O43]", async () => {
    await using stage = new Stage();
    const source = new Source(upTo(5));
    const first = gate();
    const seen: number[] = [];
    const slow = bolt({
      input: N,
      execute: ({ values: { n } }) => {
        seen.push(n);
        return n === 1 ? first.promise : undefined;
      },
    });
    const running = await stage.start(
      topology("late", { retries: 0, messageTimeoutMs: 1_000 })
        .spout("source", source.spout)
        .bolt("slow", slow, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(1_500);
    expect(source.failures.map(({ type }) => type)).toEqual(upTo(5).map(() => "expired"));
    source.put(6);
    first.open();
    await stage.settle();
    expect(seen).toEqual([1, 6]);
    expect(source.acked).toEqual([6]);
    const { components } = running.metrics();
    expect(components.find(({ name }) => name === "slow")).toMatchObject({
      executed: 2,
      expired: 4,
      waiting: 0,
    });
  });

  it("is worked on a moment before that, whenever it was emitted [O43]", async () => {
    for (const later of [0, 100, 499]) {
      await using stage = new Stage();
      const source = new Source();
      const first = gate();
      const sink = new Sink((n) => (n === 1 ? first.promise : undefined));
      await stage.start(
        topology("just", { retries: 0, messageTimeoutMs: 1_000 })
          .spout("source", source.spout)
          .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
          .build(),
      );
      await stage.advance(later);
      source.put(1, 2);
      await stage.advance(1_499 - later);
      expect(source.outcomes).toEqual([]);
      first.open();
      await stage.settle();
      expect(source.acked).toEqual([1, 2]);
    }
  });

  it("is worked on when it belongs to another tree that has not expired", async () => {
    await using stage = new Stage();
    const source = new Source([1]);
    const [keeper, hold] = [new Keeper(), gate()];
    const seen: number[] = [];
    const last = bolt({
      input: N,
      execute: ({ values: { n } }) => {
        seen.push(n);
        return n === 0 ? hold.promise : undefined;
      },
    });
    const joined: { emit?: (n: number, of: readonly number[]) => void } = {};
    const join = bolt({
      input: N,
      streams: { joined: N },
      mode: "manual",
      init: () => [] as (typeof keeper.got)[number]["tuple"][],
      execute: (tuple, { state, emit }) => {
        state.push(tuple);
        joined.emit = (n, of) =>
          emit.joined({ n }, { anchors: state.filter(({ values }) => of.includes(values.n)) });
      },
    });
    await stage.start(
      topology("join", { retries: 0, messageTimeoutMs: 1_000 })
        .spout("source", source.spout)
        .bolt("join", join, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("last", last, { from: { "join.joined": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(1_400);
    source.put(2);
    await stage.settle();
    joined.emit?.(0, [1]);
    joined.emit?.(10, [1]);
    joined.emit?.(12, [1, 2]);
    await stage.advance(200);
    hold.open();
    await stage.settle();
    // What came of 1 alone is skipped; what came of 1 and 2 still counts for 2.
    expect(seen).toEqual([0, 12]);
  });

  it("is never an untracked tuple, however long it waits", async () => {
    await using stage = new Stage();
    const source = new Source(upTo(3), false);
    const first = gate();
    const sink = new Sink((n) => (n === 1 ? first.promise : undefined));
    await stage.start(
      topology("loose", { messageTimeoutMs: 1_000 })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(60_000);
    first.open();
    await stage.settle();
    expect(sink.seen).toEqual([1, 2, 3]);
  });
});

describe("congestion", () => {
  it("does not collapse: as much is acked as can be done, from the first second to the last [O44]", async () => {
    await using stage = new Stage();
    const source = new Source(upTo(10_000));
    const sink = new Sink(() => stage.sleep(40));
    const warnings: string[] = [];
    await stage.start(
      topology("busy", { messageTimeoutMs: 3_000, maxPending: 128 })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: ({ level, text }) => void (level === "warn" && warnings.push(text)) },
    );
    for (let second = 1, before = 0; second <= 120; second++) {
      await stage.advance(1_000);
      // One of 40 ms does 25 in a second. One may be at work when its tree expires.
      expect(source.acked.length - before).toBeGreaterThanOrEqual(24);
      before = source.acked.length;
    }
    expect(sink.seen.length - source.acked.length).toBeLessThan(10);
    expect(source.failures).toEqual([]);
    expect(warnings[0]).toMatch(
      /^congested: tuples expired, and \d+ were acked in the last 3000 ms; of 128 tuples, \d+ may be in flight until this gets better; most wait in front of sink \(\d+\)$/,
    );
    expect(warnings.length).toBeLessThanOrEqual(4);
  });

  it("ends with its cause: after an outage, all tuples flow again", async () => {
    await using stage = new Stage();
    const source = new Source(upTo(10_000));
    const over = gate();
    let down = false;
    const sink = new Sink(async () => {
      if (down) await over.promise;
      await stage.sleep(10);
    });
    await stage.start(
      topology("outage", { messageTimeoutMs: 1_000, maxPending: 64, retries: 1_000 })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: false },
    );
    await stage.advance(1_000);
    down = true;
    await stage.advance(30_000);
    const before = source.acked.length;
    down = false;
    over.open();
    await stage.advance(5_000);
    // Two tasks of 10 ms do 1,000 in five seconds.
    expect(source.acked.length - before).toBeGreaterThan(950);
  });

  it("is not caused by one tuple that is never acked: the others have all the room", async () => {
    await using stage = new Stage();
    const source = new Source([-1]);
    const worker = bolt({
      input: N,
      execute: ({ values: { n } }) => (n < 0 ? new Promise<void>(() => undefined) : undefined),
    });
    const warnings: string[] = [];
    await stage.start(
      topology("lost", { messageTimeoutMs: 1_000, maxPending: 8, retries: 0 })
        .spout("source", source.spout)
        .bolt("worker", worker, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: ({ text }) => void warnings.push(text) },
    );
    await stage.advance(10_000);
    source.put(...upTo(1_000));
    await stage.settle();
    expect(source.acked.length).toBeGreaterThan(990);
    expect(warnings.filter((text) => text.startsWith("congested"))).toEqual([]);
  });

  it("is not guessed at where a bolt of mode `manual` may hold tuples for as long as it likes", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source(upTo(100)), new Keeper()];
    await stage.start(
      topology("held", { messageTimeoutMs: 1_000, maxPending: 8, retries: 0 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.fields("n") } })
        .build(),
      { log: false },
    );
    for (let at = 8; at <= 80; at += 8) {
      expect(keeper.got).toHaveLength(at);
      await stage.advance(1_500);
    }
  });
});

describe("the load curve, from 10 % to 300 % of the tasks' capacity", () => {
  /** What is acked rises with what is offered, up to what the tasks can do, and stays there. */
  const expectFlat = (points: readonly LoadPoint[], capacity: number): void => {
    for (const { load, acked, inVain, dead } of points) {
      const can = Math.min(load, 1) * capacity;
      expect(acked).toBeGreaterThan(can * 0.97);
      expect(acked).toBeLessThan(can * 1.01);
      expect(inVain).toBeLessThan(capacity * 0.01);
      expect(dead).toBe(0);
    }
  };

  it("rises, then stays flat [O45]", async () => {
    const points: LoadPoint[] = [];
    for (const load of proving ? LOADS : [0.5, 1, 1.5, 3]) points.push(await loadPoint(load));
    expectFlat(points, (LOADED.tasks * 1_000) / LOADED.workMs);
    // The log warns when there is too much, and only then.
    for (const { load, warnings } of points) expect(warnings > 0, `at ${load}`).toBe(load > 1);
  });

  it.each(proving ? [1_000, 2_000, 2_800] : [2_000])(
    "does not fall when a tuple takes %i of 3,000 ms",
    async (workMs) => {
      for (const load of [0.5, 0.9, 1.1, 1.5, 3]) {
        const { acked } = await loadPoint(load, { ...LOADED, workMs });
        const can = (Math.min(load, 1) * LOADED.tasks * 1_000) / workMs;
        expect(acked).toBeGreaterThan(can * 0.85);
      }
    },
  );
});
