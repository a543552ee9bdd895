// How a bolt settles what it is given: by its mode, at once or later, and by the rules.

import type { ExitReason } from "signalbox";
import {
  AnchorError,
  type BoltContext,
  type BoltMode,
  bolt,
  grouping,
  SettledError,
  spout,
  type Tuple,
  topology,
} from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { gate } from "../support/gate.js";
import { Keeper, N, Source, Stage, upTo } from "./support.js";

describe("the mode of a bolt", () => {
  const outcomes = async (mode: BoltMode, execute: (n: number) => unknown): Promise<Source["outcomes"]> => {
    await using stage = new Stage();
    const source = new Source([1, 2]);
    await stage.start(
      topology("modes", { retries: 0 })
        .spout("source", source.spout)
        .bolt("bolt", bolt({ input: N, mode, execute: ({ values }) => execute(values.n) }), {
          from: { "source.numbers": grouping.shuffle() },
        })
        .build(),
      { log: false },
    );
    await stage.settle();
    return [...source.outcomes].sort();
  };
  const odd = (n: number): void => {
    if (n % 2 === 1) throw new Error("odd");
  };

  it("`ack` acks a tuple after `execute`, and fails it when `execute` threw; the task goes on", async () => {
    const expected = [
      [1, "failed", 1],
      [2, "acked"],
    ];
    expect(await outcomes("ack", odd)).toEqual(expected);
    expect(await outcomes("ack", async (n) => odd(n))).toEqual(expected);
  });

  it("`fail` fails everything", async () => {
    const expected = [
      [1, "failed", 1],
      [2, "failed", 1],
    ];
    expect(await outcomes("fail", () => undefined)).toEqual(expected);
    expect(await outcomes("fail", async () => undefined)).toEqual(expected);
  });

  it("`manual` settles nothing by itself", async () => {
    expect(await outcomes("manual", () => undefined)).toEqual([]);
  });
});

describe("an asynchronous bolt", () => {
  it("has one tuple at a time, and an emit after an await is anchored to that tuple", async () => {
    await using stage = new Stage();
    const [source, keeper] = [new Source([1, 2]), new Keeper()];
    const gates = [gate(), gate()];
    const started: number[] = [];
    const slow = bolt({
      input: N,
      streams: { late: N },
      execute: async ({ values }, { emit }) => {
        started.push(values.n);
        await gates[values.n - 1]?.promise;
        emit.late(values);
      },
    });
    await stage.start(
      topology("slow")
        .spout("source", source.spout)
        .bolt("slow", slow, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("keeper", keeper.bolt, { from: { "slow.late": grouping.shuffle() } })
        .build(),
    );
    expect(started).toEqual([1]);
    for (const one of gates) {
      one.open();
      await stage.settle();
    }
    expect(started).toEqual([1, 2]);
    keeper.got[1]?.ack();
    await stage.settle();
    expect(source.outcomes).toEqual([[2, "acked"]]);
    keeper.got[0]?.fail();
    await stage.settle();
    expect(source.outcomes).toHaveLength(1);
  });
});

describe("an asynchronous spout", () => {
  it("gets no second call before `next` has ended, but `ack` and `fail` are called meanwhile", async () => {
    await using stage = new Stage();
    const gates = upTo(3).map(() => gate());
    const acked: number[] = [];
    let asked = 0;
    const slow = spout({
      streams: { numbers: N },
      next: async ({ emit, done }) => {
        const n = ++asked;
        emit.numbers({ n }, { id: n });
        await gates[n - 1]?.promise;
        if (n === 3) done();
      },
      ack: (id: number) => void acked.push(id),
    });
    await stage.start(topology("slow").spout("slow", slow).build());
    expect([asked, acked]).toEqual([1, [1]]);
    gates[0]?.open();
    await stage.settle();
    expect([asked, acked]).toEqual([2, [1, 2]]);
    gates[1]?.open();
    gates[2]?.open();
    await stage.advance(1_000);
    expect([asked, acked]).toEqual([3, [1, 2, 3]]);
  });
});

describe("a bolt that breaks the rules", () => {
  const crashOf = async (
    fault: (tuple: Tuple<{ readonly n: number }>, ctx: BoltContext<{ copies: N }, undefined>) => void,
  ) => {
    await using stage = new Stage();
    const source = new Source([1]);
    const ends: ExitReason[] = [];
    stage.system.events.on("exit", ({ reason }) => void (reason.type === "crash" && ends.push(reason)));
    const bad = bolt({ input: N, streams: { copies: N }, mode: "manual", execute: fault });
    const running = await stage.start(
      topology("bad", { retries: 0 })
        .spout("source", source.spout)
        .bolt("bad", bad, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    const [task] = running.tasks("bad");
    expect(task?.restarts).toBe(1);
    const [reason] = ends;
    return { error: reason?.type === "crash" ? reason.error : undefined, outcomes: source.outcomes };
  };

  it("crashes with a SettledError when it acks a tuple twice: the ack holds", async () => {
    const { error, outcomes } = await crashOf((tuple, { ack }) => {
      ack(tuple);
      ack(tuple);
    });
    expect(error).toBeInstanceOf(SettledError);
    expect(error).toMatchObject({ code: "ERR_TUPLE_SETTLED", component: "bad" });
    expect(outcomes).toEqual([[1, "acked"]]);
  });

  it("crashes with a SettledError when it fails a tuple that it has acked", async () => {
    const { error } = await crashOf((tuple, { ack, fail }) => {
      ack(tuple);
      fail(tuple);
    });
    expect(error).toBeInstanceOf(SettledError);
  });

  it("crashes with an AnchorError when it emits anchored to a tuple that it has acked", async () => {
    const { error } = await crashOf((tuple, { ack, emit }) => {
      ack(tuple);
      emit.copies({ n: 1 }, { anchors: tuple });
    });
    expect(error).toBeInstanceOf(AnchorError);
    expect(error).toMatchObject({ code: "ERR_TUPLE_ANCHOR", component: "bad" });
  });

  it("also when the anchor is the tuple at hand, by default", async () => {
    const { error } = await crashOf((tuple, { ack, emit }) => {
      ack(tuple);
      emit.copies({ n: 1 });
    });
    expect(error).toBeInstanceOf(AnchorError);
  });

  it("fails the tuple and goes on, in mode `ack`, when it calls `ack` itself", async () => {
    await using stage = new Stage();
    const source = new Source([1, 2]);
    const bad = bolt({
      input: N,
      execute: (tuple, { ack }) => (tuple.values.n === 1 ? ack(tuple) : undefined),
    });
    const running = await stage.start(
      topology("bad", { retries: 0 })
        .spout("source", source.spout)
        .bolt("bad", bad, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: false },
    );
    expect([...source.outcomes].sort()).toEqual([
      [1, "failed", 1],
      [2, "acked"],
    ]);
    expect(running.tasks("bad")[0]?.restarts).toBe(0);
  });
});
