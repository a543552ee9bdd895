// Tuples that fail are tried again, so often and no more; then their spout is told, and whoever reads the dead letters.

import { type BoltDefinition, bolt, DEAD_FIELDS, grouping, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { Keeper, N, Sink, Source, Stage } from "./support.js";

/** Fails every number, and notes when. */
function wall(stage: Stage): {
  readonly times: number[];
  readonly bolt: BoltDefinition<{ readonly "*": N }, Record<never, never>>;
} {
  const times: number[] = [];
  return { times, bolt: bolt({ input: N, mode: "fail", execute: () => void times.push(stage.clock.now) }) };
}

describe("a tuple that fails", () => {
  it("is emitted again as often as there are retries, after waits that double, and fails then [O10]", async () => {
    await using stage = new Stage();
    const [source, { bolt: failing, times }] = [new Source([1]), wall(stage)];
    await stage.start(
      topology("waits", { retries: 4, retryBackoff: { minMs: 100, maxMs: 300, jitter: 0 } })
        .spout("source", source.spout)
        .bolt("wall", failing, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(10_000);
    expect(times).toEqual([0, 100, 300, 600, 900]);
    expect(source.failures).toEqual([{ type: "failed", attempts: 5, deadLettered: false }]);
  });

  it("may have waits that chance varies", async () => {
    await using stage = new Stage();
    const [source, { bolt: failing, times }] = [new Source([1]), wall(stage)];
    await stage.start(
      topology("jitter", { retries: 1, retryBackoff: { minMs: 100, maxMs: 100, jitter: 0.5 } })
        .spout("source", source.spout)
        .bolt("wall", failing, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(1_000);
    expect(times[1]).toBeGreaterThan(50);
    expect(times[1]).toBeLessThan(150);
    expect(times[1]).not.toBe(100);
  });

  it("fails at once when there are no retries", async () => {
    await using stage = new Stage();
    const [source, { bolt: failing, times }] = [new Source([1]), wall(stage)];
    await stage.start(
      topology("none", { retries: 0 })
        .spout("source", source.spout)
        .bolt("wall", failing, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(times).toEqual([0]);
    expect(source.failures).toEqual([{ type: "failed", attempts: 1, deadLettered: false }]);
  });

  it("is acked when a retry succeeds, and its spout is not notified of the failures before", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    await stage.start(
      topology("third")
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    for (const _ of [1, 2]) {
      keeper.last.fail();
      await stage.advance(1_000);
    }
    keeper.last.ack();
    await stage.settle();
    expect(keeper.numbers).toEqual([1, 1, 1]);
    expect(source.outcomes).toEqual([[1, "acked"]]);
  });

  it("keeps its place among the pending while it waits", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1, 2]), new Keeper()];
    const running = await stage.start(
      topology("place", { maxPending: 1 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    keeper.last.fail();
    await stage.settle();
    expect(keeper.numbers).toEqual([1]);
    expect(running.metrics().components.find(({ name }) => name === "source")?.pending).toBe(1);
  });

  it("has no more tries than that, also when its spout crashes between them", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const running = await stage.start(
      topology("between", { retries: 1 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    keeper.last.fail();
    await stage.advance(200);
    await stage.kill(running, "source");
    keeper.last.fail();
    await stage.advance(10_000);
    expect(source.failures).toEqual([{ type: "failed", attempts: 2, deadLettered: false }]);
  });

  it("spends no retry when it only waited in front of a task that ended [O11]", async () => {
    await using stage = new Stage();
    const source = new Source([1, 2]);
    let stuck = true;
    const seen: number[] = [];
    const worker = bolt({
      input: N,
      execute: ({ values }) => {
        seen.push(values.n);
        if (stuck) return new Promise<void>(() => undefined);
        if (values.n === 2) throw new Error("two");
        return undefined;
      },
    });
    const running = await stage.start(
      topology("innocent", { retries: 1, retryBackoff: { minMs: 100, maxMs: 100, jitter: 0 } })
        .spout("source", source.spout)
        .bolt("worker", worker, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: false },
    );
    expect(seen).toEqual([1]);
    stuck = false;
    await stage.kill(running, "worker");
    await stage.advance(1_000);
    expect([...source.outcomes].sort()).toEqual([
      [1, "acked"],
      [2, "failed", 2],
    ]);
    expect([...seen].sort()).toEqual([1, 1, 2, 2]);
  });

  it("is published as an event `deadTuple`, when no bolt subscribes to `dead`", async () => {
    await using stage = new Stage();
    const [source, { bolt: failing }] = [new Source([7]), wall(stage)];
    const told: unknown[] = [];
    stage.system.events.on("deadTuple", (tuple) => told.push(tuple));
    await stage.start(
      topology("told", { retries: 1 })
        .spout("source", source.spout)
        .bolt("wall", failing, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(1_000);
    expect(told).toEqual([
      { topology: "told", component: "source", stream: "numbers", id: 7, values: { n: 7 }, attempts: 2 },
    ]);
  });
});

describe("the stream `dead`", () => {
  it("carries the tuple that failed for good, and why; then its spout's `fail` is called with `deadLettered` [O12]", async () => {
    await using stage = new Stage();
    const [source, { bolt: failing }] = [new Source([7]), wall(stage)];
    const letters: unknown[] = [];
    const events: unknown[] = [];
    stage.system.events.on("deadTuple", (tuple) => events.push(tuple));
    const morgue = bolt({ input: DEAD_FIELDS, execute: ({ values }) => void letters.push(values) });
    await stage.start(
      topology("dead", { retries: 1 })
        .spout("source", source.spout)
        .bolt("wall", failing, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("morgue", morgue, { from: { "source.dead": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(1_000);
    expect(letters).toEqual([{ id: 7, stream: "numbers", values: { n: 7 }, attempts: 2, reason: "failed" }]);
    expect(source.failures).toEqual([{ type: "failed", attempts: 2, deadLettered: true }]);
    expect(events).toEqual([]);
  });

  it("is reliable itself: a letter that fails is retried as often as a tuple, and then its spout's `fail` is called", async () => {
    await using stage = new Stage();
    const [source, { bolt: failing }] = [new Source([7]), wall(stage)];
    let letters = 0;
    const events: unknown[] = [];
    stage.system.events.on("deadTuple", (tuple) => events.push(tuple));
    const morgue = bolt({ input: { id: DEAD_FIELDS.id }, mode: "fail", execute: () => void letters++ });
    await stage.start(
      topology("dead", { retries: 2 })
        .spout("source", source.spout)
        .bolt("wall", failing, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("morgue", morgue, { from: { "source.dead": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(5_000);
    expect(letters).toBe(3);
    expect(source.failures).toEqual([{ type: "failed", attempts: 3, deadLettered: false }]);
    expect(events).toHaveLength(1);
  });

  it("leaves the number pending until the letter is acked", async () => {
    await using stage = new Stage();
    const [source, { bolt: failing }] = [new Source([7]), wall(stage)];
    const slow: (() => void)[] = [];
    const morgue = bolt({
      input: { id: DEAD_FIELDS.id },
      mode: "manual",
      execute: (tuple, { ack }) => void slow.push(() => ack(tuple)),
    });
    await stage.start(
      topology("dead", { retries: 0 })
        .spout("source", source.spout)
        .bolt("wall", failing, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("morgue", morgue, { from: { "source.dead": grouping.shuffle() } })
        .build(),
    );
    expect(source.outcomes).toEqual([]);
    slow[0]?.();
    await stage.settle();
    expect(source.outcomes).toEqual([[7, "failed", 1]]);
  });
});

describe("a tuple that is never acked", () => {
  it("has expired after the message timeout, or up to half as long again [O13]", async () => {
    for (const later of [0, 200, 499]) {
      await using stage = new Stage();
      const [source, keeper] = [new Source(), new Keeper()];
      await stage.start(
        topology("slow", { retries: 0, messageTimeoutMs: 1_000 })
          .spout("source", source.spout)
          .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
          .build(),
      );
      await stage.advance(later);
      source.put(1);
      await stage.settle();
      await stage.advance(999);
      expect(source.outcomes).toEqual([]);
      await stage.advance(502);
      expect(source.failures).toEqual([{ type: "expired", attempts: 1, deadLettered: false }]);
      // The bolt's ack comes too late, and is nobody's.
      keeper.last.ack();
      await stage.settle();
      expect(source.outcomes).toHaveLength(1);
    }
  });

  it("is emitted again, and says of its last try why it failed", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1]), new Keeper()];
    const running = await stage.start(
      topology("slow", { retries: 1, messageTimeoutMs: 1_000 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(5_000);
    expect(keeper.numbers).toEqual([1, 1]);
    expect(source.failures).toEqual([{ type: "expired", attempts: 2, deadLettered: false }]);
    expect(running.metrics().components.find(({ name }) => name === "source")).toMatchObject({
      emitted: 2,
      expired: 1,
      failed: 0,
      dead: 1,
    });
  });

  it("does not expire while other tuples of the same spout come and go", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source(), new Sink()];
    await stage.start(
      topology("busy", { retries: 0, messageTimeoutMs: 1_000 })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    for (let n = 1; n <= 20; n++) {
      source.put(n);
      await stage.advance(250);
    }
    expect(source.acked).toHaveLength(20);
    expect(source.failures).toEqual([]);
  });
});
