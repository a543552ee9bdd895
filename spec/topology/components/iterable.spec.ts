// Spouts from iterables: every item once, whatever kind of iterable it is, and however often tasks crash.

import { fc, test } from "@fast-check/vitest";
import { OptionError } from "signalbox";
import { bolt, field, grouping, spoutFrom, topology } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { gate } from "../../support/gate.js";
import { Keeper, N, Sink, Stage, upTo } from "../support.js";

type Items = Parameters<typeof spoutFrom<N, "items">>[0];

/** What comes through from a source, until there is no more. */
async function through(source: Items, config = {}): Promise<readonly number[]> {
  await using stage = new Stage();
  const sink = new Sink();
  const running = await stage.start(
    topology("items", config)
      .spout("items", spoutFrom(source, { fields: N }), { tasks: 2 })
      .bolt("sink", sink.bolt, { from: { "items.items": grouping.shuffle() } })
      .build(),
  );
  await stage.until(running.finished());
  return [...sink.seen].sort((a, b) => a - b);
}

function* generated(last: number): Generator<{ n: number }> {
  for (const n of upTo(last)) yield { n };
}

async function* awaited(last: number): AsyncGenerator<{ n: number }> {
  for (const n of upTo(last)) {
    await Promise.resolve();
    yield { n };
  }
}

describe("a spout from an iterable", () => {
  it("emits each item once, and then there is no more to come", async () => {
    for (const source of [
      upTo(20).map((n) => ({ n })),
      new Set(upTo(20).map((n) => ({ n }))),
      generated(20),
      () => generated(20),
      awaited(20),
      () => awaited(20),
    ])
      expect(await through(source)).toEqual(upTo(20));
    expect(await through([])).toEqual([]);
  });

  it("asks for no more than there is room for", async () => {
    await using stage = new Stage();
    let asked = 0;
    const endless = function* (): Generator<{ n: number }> {
      for (;;) yield { n: ++asked };
    };
    const keeper = new Keeper();
    await stage.start(
      topology("endless", { maxPending: 3 })
        .spout("items", spoutFrom(endless, { fields: N }))
        .bolt("keeper", keeper.bolt, { from: { "items.items": grouping.shuffle() } })
        .build(),
    );
    expect([asked, keeper.numbers]).toEqual([3, [1, 2, 3]]);
    keeper.last.ack();
    await stage.settle();
    expect(asked).toBe(4);
  });

  it("tells what became of each item", async () => {
    await using stage = new Stage();
    const [acked, failed]: [unknown[], unknown[]] = [[], []];
    const keeper = new Keeper();
    const items = spoutFrom([{ n: 1 }, { n: 2 }], {
      stream: "numbers",
      fields: N,
      ack: (item) => void acked.push(item),
      fail: (item, { type }) => void failed.push([item, type]),
      config: { retries: 0 },
    });
    await stage.start(
      topology("told")
        .spout("items", items)
        .bolt("keeper", keeper.bolt, { from: { "items.numbers": grouping.shuffle() } })
        .build(),
    );
    keeper.got[0]?.ack();
    keeper.got[1]?.fail();
    await stage.settle();
    expect(acked).toEqual([{ n: 1 }]);
    expect(failed).toEqual([[{ n: 2 }, "failed"]]);
  });

  it("emits untracked tuples when it is not reliable", async () => {
    await using stage = new Stage();
    const keeper = new Keeper();
    const running = await stage.start(
      topology("loose", { maxPending: 1 })
        .spout("items", spoutFrom(generated(5), { fields: N, reliable: false }))
        .bolt("keeper", keeper.bolt, { from: { "items.items": grouping.shuffle() } })
        .build(),
    );
    expect(keeper.numbers).toEqual(upTo(5));
    expect(keeper.last.tuple.anchored).toBe(false);
    expect(running.metrics().components.find(({ name }) => name === "items")?.pending).toBe(0);
  });

  it("emits an item as soon as it is there, without waiting to be asked", async () => {
    await using stage = new Stage();
    const [first, sink] = [gate(), new Sink()];
    const late = async function* (): AsyncGenerator<{ n: number }> {
      await first.promise;
      yield { n: 1 };
    };
    await stage.start(
      topology("late", { spoutWaitMs: 60_000 })
        .spout("items", spoutFrom(late, { fields: N }))
        .bolt("sink", sink.bolt, { from: { "items.items": grouping.shuffle() } })
        .build(),
    );
    first.open();
    await stage.settle();
    expect(sink.seen).toEqual([1]);
    expect(stage.clock.now).toBe(0);
  });

  it("loses no item when a task of it crashes", async () => {
    await using stage = new Stage();
    const keeper = new Keeper();
    const running = await stage.start(
      topology("crash", { maxPending: 2 })
        .spout("items", spoutFrom(generated(5), { fields: N }))
        .bolt("keeper", keeper.bolt, { from: { "items.items": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "items");
    expect(keeper.numbers).toEqual([1, 2, 1, 2]);
    for (let at = 2; at < keeper.got.length; at++) {
      keeper.got[at]?.ack();
      await stage.settle();
    }
    expect([...new Set(keeper.numbers)]).toEqual(upTo(5));
    expect(running.metrics().components.find(({ name }) => name === "items")).toMatchObject({
      acked: 5,
      pending: 0,
    });
  });

  it("closes its iterator when the topology stops", async () => {
    await using stage = new Stage();
    let closed = 0;
    const endless = function* (): Generator<{ n: number }> {
      try {
        for (let n = 1; ; n++) yield { n };
      } finally {
        closed++;
      }
    };
    const running = await stage.start(
      topology("closed", { maxPending: 2 })
        .spout("items", spoutFrom(endless, { fields: N }), { tasks: 2 })
        .bolt("keeper", new Keeper().bolt, { from: { "items.items": grouping.shuffle() } })
        .build(),
    );
    await running.stop({ drainMs: 0 });
    expect(closed).toBe(1);
  });

  it("does not wait for an iterator that has nothing to give when the topology stops", async () => {
    await using stage = new Stage();
    const never = gate<{ n: number }>();
    const quiet = async function* (): AsyncGenerator<{ n: number }> {
      yield await never.promise;
    };
    const running = await stage.start(
      topology("quiet")
        .spout("items", spoutFrom(quiet, { fields: N }))
        .bolt("sink", new Sink().bolt, { from: { "items.items": grouping.shuffle() } })
        .build(),
    );
    await stage.until(running.stop());
    expect(stage.clock.now).toBe(0);
  });

  it.each([
    ["an iterator", false],
    ["an asynchronous iterator", true],
  ])(
    "whose source throws crashes, again at every restart, until the topology ends of it: %s",
    async (_kind, late) => {
      await using stage = new Stage();
      const sink = new Sink();
      const broken = function* (): Generator<{ n: number }> {
        yield { n: 1 };
        throw new Error("unreadable");
      };
      const brokenLater = async function* (): AsyncGenerator<{ n: number }> {
        yield* broken();
      };
      const running = await stage.start(
        topology("broken", { restarts: 0, intensity: 3 })
          .spout("items", spoutFrom(late ? brokenLater : broken, { fields: N }))
          .bolt("sink", sink.bolt, { from: { "items.items": grouping.shuffle() } })
          .build(),
      );
      await stage.advance(10_000);
      expect(new Set(sink.seen)).toEqual(new Set([1]));
      expect(running.phase).toBe("ended");
    },
  );

  it("closes its iterator also when the topology gives up", async () => {
    await using stage = new Stage();
    let closed = false;
    async function* numbers(): AsyncGenerator<{ readonly n: number }> {
      try {
        for (let n = 0; ; n++) yield { n };
      } finally {
        closed = true;
      }
    }
    const breaks = bolt({
      input: N,
      mode: "manual",
      execute: () => {
        throw new Error("it breaks");
      },
    });
    const running = await stage.start(
      topology("broken", { intensity: 0, restarts: 0 })
        .spout("numbers", spoutFrom(numbers, { fields: N }))
        .bolt("breaks", breaks, { from: { "numbers.items": {} } })
        .build(),
    );
    await stage.advance(1);
    expect([running.phase, closed]).toEqual(["ended", true]);
  });

  it("is refused when it is none", () => {
    for (const source of ["text", undefined, 7, {}])
      expect(() => spoutFrom(source as never, { fields: N })).toThrow(OptionError);
    expect(() => spoutFrom([], { fields: N, reliable: "yes" as never })).toThrow(OptionError);
    expect(() => spoutFrom([], { fields: N, stream: "a b" })).toThrow(OptionError);
  });

  it("gives its stream its type", () => {
    spoutFrom([{ word: "tea" }], { fields: { word: field.text } });
    // @ts-expect-error the items have no `word`
    expect(spoutFrom([{ wort: "tea" }], { fields: { word: field.text } })).toBeDefined();
  });

  test.prop([fc.nat({ max: 40 }), fc.integer({ min: 1, max: 5 }), fc.boolean()], { numRuns: 15 })(
    "emits each item once, however little room there is",
    async (last, maxPending, late) => {
      expect(await through(late ? () => awaited(last) : () => generated(last), { maxPending })).toEqual(
        upTo(last),
      );
    },
  );
});
