// How much may be under way: reliable tuples by count, unreliable ones by the room in front of the bolts.

import { bolt, grouping, spout, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { gate } from "../support/gate.js";
import { Keeper, N, Sink, Source, Stage, upTo } from "./support.js";

describe("reliable tuples", () => {
  it("are never more in flight than `maxPending` for each task of the spout [O14]", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source(upTo(100)), new Keeper()];
    await stage.start(
      topology("bound", { maxPending: 5 })
        .spout("source", source.spout, { tasks: 2 })
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    let open = 0;
    let most = 0;
    for (let at = 0; at < 100; at++) {
      open = keeper.got.length - at;
      most = Math.max(most, open);
      if (at % 3 === 0) keeper.got[at]?.fail();
      else keeper.got[at]?.ack();
      await stage.settle();
    }
    expect(most).toBe(10);
  });

  it("that are acked or fail for good make room for the next at once", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source(upTo(3)), new Keeper()];
    await stage.start(
      topology("room", { maxPending: 1, retries: 0 })
        .spout("source", source.spout)
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(keeper.numbers).toEqual([1]);
    keeper.last.ack();
    await stage.settle();
    expect(keeper.numbers).toEqual([1, 2]);
    keeper.last.fail();
    await stage.settle();
    expect(keeper.numbers).toEqual([1, 2, 3]);
    expect(stage.clock.now).toBe(0);
  });

  it("may be a great many of one `next`: the others wait in line, and take their turns", async () => {
    await using stage = new Stage();
    const sink = new Sink();
    const source = new Source([1], true, (_n, { emit }) => {
      for (let n = 1; n <= 50_000; n++) emit.numbers({ n }, { id: n });
    });
    await stage.start(
      topology("burst")
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(sink.seen).toEqual(upTo(50_000));
    expect(source.acked).toHaveLength(50_000);
  });

  it("that cannot be emitted have failed, and take no place of others", async () => {
    await using stage = new Stage();
    const circular: { self?: unknown } = {};
    circular.self = circular;
    const keys: unknown[] = [circular, circular, 1, 2, 3];
    const failed: unknown[] = [];
    const careful = spout({
      streams: { keys: { key: { type: "value", accepts: () => true } } },
      next: ({ emit }) => {
        const key = keys.shift();
        if (key !== undefined) emit.keys({ key }, { id: key });
      },
      fail: (id, _ctx, { attempts }) => failed.push([id, attempts]),
    });
    const seen: unknown[] = [];
    const running = await stage.start(
      topology("thrown", { maxPending: 1, retries: 1 })
        .spout("careful", careful)
        .bolt("sink", bolt({ input: {}, execute: ({ values }) => void seen.push(values) }), {
          from: { "careful.keys": grouping.fields("key") },
        })
        .build(),
    );
    await stage.advance(1_000);
    expect(failed).toEqual([
      [circular, 2],
      [circular, 2],
    ]);
    expect(stage.reports.join("\n")).toContain(
      "could not emit on keys: TypeError: Converting circular structure",
    );
    expect(seen).toHaveLength(3);
    expect(running.metrics().components.find(({ name }) => name === "careful")?.pending).toBe(0);
  });
});

describe("a spout that has nothing", () => {
  it("is asked again after its wait, and not before", async () => {
    await using stage = new Stage();
    const source = new Source();
    await stage.start(topology("idle", { spoutWaitMs: 250 }).spout("source", source.spout).build());
    expect(source.asked).toBe(1);
    await stage.advance(249);
    expect(source.asked).toBe(1);
    await stage.advance(1);
    expect(source.asked).toBe(2);
    await stage.advance(2_500);
    expect(source.asked).toBe(12);
  });

  it("is asked at once when it is woken", async () => {
    await using stage = new Stage();
    const [source, sink] = [new Source(), new Sink()];
    await stage.start(
      topology("woken", { spoutWaitMs: 60_000 })
        .spout("source", source.spout)
        .bolt("sink", sink.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    source.put(1);
    await stage.settle();
    expect(sink.seen).toEqual([1]);
    expect(stage.clock.now).toBe(0);
  });

  it("is asked no more when it has said that it is done", async () => {
    await using stage = new Stage();
    let asked = 0;
    const once = spout({
      streams: { numbers: N },
      next: ({ emit, done }) => {
        asked++;
        emit.numbers({ n: 1 });
        done();
      },
    });
    await stage.start(topology("once").spout("once", once).build());
    await stage.advance(10_000);
    expect(asked).toBe(1);
  });
});

describe("a full receive buffer", () => {
  /** A bolt that waits for its gates, one for each number. */
  const slow = (): { readonly done: number[]; release(n: number): void; readonly bolt: Keeper["bolt"] } => {
    const gates = new Map(upTo(500).map((n) => [n, gate()]));
    const done: number[] = [];
    const definition = bolt({
      input: N,
      streams: { passed: N },
      execute: async ({ values: { n } }) => {
        await gates.get(n)?.promise;
        done.push(n);
      },
    });
    return { done, release: (n) => gates.get(n)?.open(), bolt: definition };
  };

  it("pauses an unreliable spout, which goes on when it is half empty [O15]", async () => {
    await using stage = new Stage();
    const [source, worker] = [new Source(upTo(100), false), slow()];
    const running = await stage.start(
      topology("full", { receiveBuffer: 10 })
        .spout("source", source.spout)
        .bolt("worker", worker.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const waiting = (): number => running.tasks("worker")[0]?.waiting ?? 0;
    await stage.advance(10_000);
    const emitted = 100 - source.left;
    expect(emitted).toBeLessThanOrEqual(12);
    expect(waiting()).toBeGreaterThan(9);
    for (let n = 1; waiting() > 6; n++) {
      worker.release(n);
      await stage.settle();
    }
    expect(100 - source.left).toBe(emitted);
    for (const n of upTo(100)) {
      worker.release(n);
      await stage.settle();
      expect(waiting()).toBeLessThanOrEqual(11);
    }
    expect(worker.done).toEqual(upTo(100));
  });

  it("pauses also spouts at several removes", async () => {
    await using stage = new Stage();
    const [source, worker] = [new Source(upTo(100), false), slow()];
    const pass = bolt({
      input: N,
      streams: { passed: N },
      execute: ({ values }, { emit }) => emit.passed(values),
    });
    await stage.start(
      topology("far", { receiveBuffer: 10 })
        .spout("source", source.spout)
        .bolt("pass", pass, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("worker", worker.bolt, { from: { "pass.passed": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(10_000);
    expect(source.left).toBeGreaterThan(60);
    for (const n of upTo(100)) {
      worker.release(n);
      await stage.settle();
    }
    expect(worker.done).toHaveLength(100);
  });

  it("pauses no spout that does not lead there", async () => {
    await using stage = new Stage();
    const [source, other, worker, sink] = [
      new Source(upTo(50), false),
      new Source(upTo(50), false),
      slow(),
      new Sink(),
    ];
    await stage.start(
      topology("apart", { receiveBuffer: 10 })
        .spout("source", source.spout)
        .spout("other", other.spout)
        .bolt("worker", worker.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("sink", sink.bolt, { from: { "other.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(source.left).toBeGreaterThan(30);
    expect(sink.seen).toHaveLength(50);
  });

  it("is empty again when the task that did not keep up is killed", async () => {
    await using stage = new Stage();
    const [source, worker] = [new Source(upTo(100), false), slow()];
    const running = await stage.start(
      topology("killed", { receiveBuffer: 10 })
        .spout("source", source.spout)
        .bolt("worker", worker.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const left = source.left;
    await stage.kill(running, "worker");
    expect(source.left).toBeLessThan(left);
    expect(running.tasks("worker")[0]).toMatchObject({ restarts: 1 });
  });
});
