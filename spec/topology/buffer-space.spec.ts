// Bolts that emit more than their targets can take: they wait for room, and never for each other in a circle.

import { test as check, fc } from "@fast-check/vitest";
import { bolt, grouping, type TopologyRef, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { gate } from "../support/gate.js";
import { proving, sized } from "../support/proof.js";
import { N, Sink, Source, Stage, upTo } from "./support.js";

const MANY = proving ? 20_000 : 5_000;
const NUMBERS = { numbers: N };

/** The process of a component's first task. */
function processOf(running: TopologyRef, component: string) {
  return running.tasks(component)[0]?.pid?.process;
}

/** A sink that yields between numbers, and the most that ever waited in front of it. */
function watched(running: () => TopologyRef | undefined, each?: (n: number) => unknown) {
  const most = { waiting: 0 };
  const sink = new Sink((n) => {
    for (const { waiting } of running()?.tasks("sink") ?? []) most.waiting = Math.max(most.waiting, waiting);
    return each?.(n);
  });
  return { sink, most };
}

const LONG = [
  [
    "a generator",
    bolt({
      input: N,
      streams: NUMBERS,
      *execute(_tuple, { emit }) {
        for (let n = 1; n <= MANY; n++) {
          emit.numbers({ n });
          yield;
        }
      },
    }),
  ],
  [
    "an asynchronous generator",
    bolt({
      input: N,
      streams: NUMBERS,
      async *execute(_tuple, { emit }) {
        for (let n = 1; n <= MANY; n++) {
          emit.numbers({ n });
          if (n % 100 === 0) await undefined;
          yield;
        }
      },
    }),
  ],
  [
    "a function that awaits ready()",
    bolt({
      input: N,
      streams: NUMBERS,
      execute: async (_tuple, { emit, ready }) => {
        for (let n = 1; n <= MANY; n++) {
          emit.numbers({ n });
          await ready();
        }
      },
    }),
  ],
] as const;

describe("one tuple that emits very many", () => {
  it.each(LONG)("waits for room: %s [O48]", async (_name, many) => {
    await using stage = new Stage();
    let running: TopologyRef | undefined;
    const { sink, most } = watched(() => running);
    const source = new Source();
    running = await stage.start(
      topology("many", { receiveBuffer: 16 })
        .spout("source", source.spout)
        .bolt("many", many, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("sink", sink.bolt, { from: { "many.numbers": grouping.shuffle() } })
        .build(),
    );
    source.put(1);
    await stage.settle();
    expect(sink.seen).toEqual(upTo(MANY));
    expect(source.acked).toEqual([1]);
    expect(most.waiting).toBeGreaterThan(8);
    expect(most.waiting).toBeLessThanOrEqual(17);
  });

  it("that cannot be stopped midway is followed by no other before there is room [O49]", async () => {
    await using stage = new Stage();
    let running: TopologyRef | undefined;
    const { sink, most } = watched(
      () => running,
      () => stage.sleep(1),
    );
    const burst = bolt({
      input: N,
      streams: NUMBERS,
      execute: (_tuple, { emit }) => {
        for (let n = 1; n <= 100; n++) emit.numbers({ n });
      },
    });
    const source = new Source();
    running = await stage.start(
      topology("burst", { receiveBuffer: 16, messageTimeoutMs: 600_000 })
        .spout("source", source.spout)
        .bolt("burst", burst, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("sink", sink.bolt, { from: { "burst.numbers": grouping.shuffle() } })
        .build(),
    );
    source.put(...upTo(20));
    await stage.advance(3_000);
    expect(sink.seen).toHaveLength(2_000);
    expect(source.acked).toHaveLength(20);
    expect(most.waiting).toBeLessThanOrEqual(100 + 16 / 2);
  });

  it("waits behind `shuffle` only when no task has room, and behind `fields` when one has none", async () => {
    for (const [chosen, done] of [
      [grouping.shuffle(), true],
      [grouping.fields("n"), false],
    ] as const) {
      await using stage = new Stage();
      const seen: number[] = [];
      const sink = bolt({
        input: N,
        execute: ({ values: { n } }, { index }) =>
          index === 0 ? new Promise<void>(() => undefined) : void seen.push(n),
      });
      const many = bolt({
        input: N,
        streams: NUMBERS,
        *execute(_tuple, { emit }) {
          for (let n = 1; n <= 1_000; n++) {
            emit.numbers({ n });
            yield;
          }
        },
      });
      await stage.start(
        topology("hung", { receiveBuffer: 8 })
          .spout("source", new Source([1]).spout)
          .bolt("many", many, { from: { "source.numbers": grouping.shuffle() } })
          .bolt("sink", sink, { tasks: 3, from: { "many.numbers": chosen } })
          .build(),
      );
      expect(seen.length > 900).toBe(done);
    }
  });
});

describe("a bolt that waits for room", () => {
  const start = async (stage: Stage, config: { executeTimeoutMs?: number }, each: () => unknown) => {
    const ends: string[] = [];
    const many = bolt({
      input: N,
      streams: NUMBERS,
      *execute({ values: { n } }, { emit }) {
        try {
          for (let i = 0; i < 20; i++) {
            emit.numbers({ n });
            yield;
          }
          ends.push("done");
        } finally {
          ends.push("finally");
        }
      },
    });
    const source = new Source([1]);
    const sink = new Sink(each);
    const running = await stage.start(
      topology("waits", { receiveBuffer: 4, retries: 0, messageTimeoutMs: 600_000 })
        .spout("source", source.spout)
        // Tasks stop in the opposite order: the one that waits first.
        .bolt("sink", sink.bolt)
        .bolt("many", many, { ...config, from: { "source.numbers": grouping.shuffle() } })
        .subscribe("many.numbers", "sink")
        .build(),
      { log: false },
    );
    return { running, ends, source };
  };

  it("goes on when the task that has none ends", async () => {
    await using stage = new Stage();
    let stuck = true;
    const { running, ends } = await start(stage, {}, () =>
      stuck ? new Promise(() => undefined) : undefined,
    );
    expect(ends).toEqual([]);
    stuck = false;
    await stage.kill(running, "sink");
    expect(ends).toEqual(["done", "finally"]);
  });

  it("waits no more when it has ended: a late end of its work makes no new wait", async () => {
    await using stage = new Stage();
    const late = gate();
    const burst = bolt({
      input: N,
      streams: NUMBERS,
      execute: async (_tuple, { emit }) => {
        for (let n = 1; n <= 10; n++) emit.numbers({ n });
        await late.promise;
      },
    });
    const running = await stage.start(
      topology("late", { receiveBuffer: 4, retries: 0 })
        .spout("source", new Source([1]).spout)
        .bolt("burst", burst, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("sink", new Sink(() => new Promise(() => undefined)).bolt, {
          from: { "burst.numbers": grouping.shuffle() },
        })
        .build(),
      { log: false },
    );
    const task = processOf(running, "burst");
    await stage.kill(running, "burst");
    late.open();
    await stage.settle();
    expect(task?.rare?.waits).toBeUndefined();
  });

  it("runs the `finally` of its generator when it is killed, and leaves no wait behind", async () => {
    await using stage = new Stage();
    const { running, ends, source } = await start(stage, {}, () => new Promise(() => undefined));
    await stage.kill(running, "many");
    expect(ends).toEqual(["finally"]);
    expect(source.outcomes).toEqual([[1, "failed", 1]]);
    expect(stage.reports).toEqual([]);
  });

  it("is not counted by `executeTimeoutMs`, which counts the work alone", async () => {
    await using stage = new Stage();
    const { running, source } = await start(stage, { executeTimeoutMs: 50 }, () => stage.sleep(100));
    await stage.advance(10_000);
    expect(running.tasks("many")[0]?.restarts).toBe(0);
    expect(source.acked).toEqual([1]);
  });

  it("does not keep a topology from ending", async () => {
    await using stage = new Stage();
    const { running, ends } = await start(stage, {}, () => new Promise(() => undefined));
    const stopped = running.stop({ drainMs: 1_000 });
    await stage.advance(1_000);
    // The task that hangs is killed after its shutdown time; the one that waits for it goes on.
    expect(ends).toEqual(["done", "finally"]);
    expect(await stage.until(stopped)).toEqual({ drained: false, unfinished: 1 });
  });
});

describe("bolts in a cycle", () => {
  it("do not wait for each other: a loop ends however little room there is [O50]", async () => {
    await using stage = new Stage();
    const source = new Source(upTo(50));
    const loop = bolt({
      inputs: { numbers: { n: N.n }, again: { n: N.n, left: N.n } },
      streams: { again: { n: N.n, left: N.n } },
      execute: (tuple, { emit }) => {
        const left = tuple.stream === "again" ? tuple.values.left : 4;
        if (left > 0) for (let i = 0; i < 2; i++) emit.again({ n: tuple.values.n, left: left - 1 });
      },
    });
    await stage.start(
      topology("loop", { receiveBuffer: 1 })
        .spout("source", source.spout)
        .bolt("loop", loop, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .subscribe("loop.again", "loop", grouping.fields("n"))
        .build(),
    );
    await stage.settle();
    expect([...source.acked].sort((a, b) => a - b)).toEqual(upTo(50));
  });

  const HOP = { n: N.n, left: N.n };
  const names = ["a", "b", "c", "d"] as const;
  const edge = fc.record({
    from: fc.constantFrom(...names),
    to: fc.constantFrom(...names),
    keyed: fc.boolean(),
  });

  check.prop(
    [fc.uniqueArray(edge, { selector: ({ from, to }) => from + to, maxLength: 9 }), fc.nat({ max: 2 })],
    {
      numRuns: sized(15, 1 / 250, 40),
    },
  )("come to their end in any graph, with room for one tuple", async (edges, awaits) => {
    await using stage = new Stage();
    const source = new Source(upTo(10));
    const hop = bolt({
      input: { n: N.n },
      streams: { hops: HOP },
      execute: async ({ values }, { emit, ready }) => {
        const { n, left = 3 } = values as { readonly n: number; readonly left?: number };
        if (left === 0) return;
        for (let i = 0; i < 3; i++) {
          emit.hops({ n, left: left - 1 });
          if (i < awaits) await ready();
        }
      },
    });
    let built = topology("any", { receiveBuffer: 1, messageTimeoutMs: 600_000 }).spout(
      "source",
      source.spout,
    );
    for (const name of names)
      built = built.bolt(name, hop, { tasks: 2, from: { "source.numbers": grouping.shuffle() } }) as never;
    for (const { from, to, keyed } of edges)
      built = (built as never as { subscribe(...args: unknown[]): never }).subscribe(
        `${from}.hops`,
        to,
        keyed ? grouping.fields("n") : grouping.shuffle(),
      );
    await stage.start(built.build());
    await stage.settle();
    expect([...source.acked].sort((a, b) => a - b)).toEqual(upTo(10));
  });
});

describe("extend", () => {
  it("begins the timeout of a tuple's trees anew, for all that belongs to them [O51]", async () => {
    await using stage = new Stage();
    const source = new Source([1]);
    const seen: number[] = [];
    const hold = gate();
    const fork = bolt({
      input: N,
      streams: { left: N, right: N },
      execute: ({ values }, { emit }) => {
        emit.left(values);
        emit.right(values);
      },
    });
    const long = bolt({
      input: N,
      execute: async (_tuple, { extend }) => {
        for (let i = 0; i < 10; i++) {
          await stage.sleep(500);
          extend();
        }
      },
    });
    const waits = bolt({
      input: N,
      execute: ({ values: { n } }) => {
        seen.push(n);
        return n === 0 ? hold.promise : undefined;
      },
    });
    const other = new Source([0], false);
    await stage.start(
      topology("long", { messageTimeoutMs: 1_000, retries: 0 })
        .spout("other", other.spout)
        .spout("source", source.spout)
        .bolt("fork", fork, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("long", long, { executeTimeoutMs: 800, from: { "fork.left": grouping.shuffle() } })
        .bolt("waits", waits, {
          from: { "other.numbers": grouping.shuffle(), "fork.right": grouping.shuffle() },
        })
        .build(),
    );
    await stage.advance(4_000);
    expect(source.outcomes).toEqual([]);
    hold.open();
    await stage.settle();
    // It had waited for four timeouts behind another, and its tree lives.
    expect(seen).toEqual([0, 1]);
    await stage.advance(1_000);
    expect(source.acked).toEqual([1]);
  });

  it("lasts as long as a new emit: without another `extend`, the tuple expires as one that was just emitted", async () => {
    await using stage = new Stage();
    const source = new Source([1]);
    const long = bolt({
      input: N,
      execute: async (_tuple, { extend }) => {
        await stage.sleep(900);
        extend();
        await stage.sleep(10_000);
      },
    });
    await stage.start(
      topology("once", { messageTimeoutMs: 1_000, retries: 0 })
        .spout("source", source.spout)
        .bolt("long", long, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: false },
    );
    await stage.advance(1_899);
    expect(source.outcomes).toEqual([]);
    await stage.advance(501);
    expect(source.outcomes).toEqual([[1, "expired", 1]]);
  });

  it("needs a tuple that is not settled", async () => {
    await using stage = new Stage();
    const errors: unknown[] = [];
    const attempt = (fn: () => void): void => {
      try {
        fn();
      } catch (error) {
        errors.push((error as { code: string }).code);
      }
    };
    const odd = bolt({
      input: N,
      mode: "manual",
      config: { tickMs: 100 },
      tick: ({ extend }) => attempt(() => extend()),
      execute: (tuple, { ack, extend }) => {
        extend(tuple);
        ack(tuple);
        attempt(() => extend(tuple));
      },
    });
    await stage.start(
      topology("odd")
        .spout("source", new Source([1]).spout)
        .bolt("odd", odd, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.advance(100);
    expect(errors).toEqual(["ERR_TUPLE_SETTLED", "ERR_OPTION"]);
  });
});
