// Windows of the tuples' own time, when tasks crash or throw: what they lost comes again into the windows that have not
// been handed over, and what is late is told.

import { test as check, fc } from "@fast-check/vitest";
import type { RoutingFunction } from "signalbox";
import type { LogLine, TopologyConfig, TopologyRef, WindowPlan } from "signalbox/topology";
import { bolt, field, grouping, sliding, topology, tumbling, windowBolt } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { sized } from "../../support/proof.js";
import { Keeper, N, Sink, Source, Stage, upTo } from "../support.js";

type Values = { readonly n: number };
const by = ({ n }: Values): number => n;
const QUICK: TopologyConfig = { retryBackoff: { minMs: 100, maxMs: 100, jitter: 0 }, intensity: 1_000 };

/** What the windows of a bolt were handed over with: each of their tuples, by the start of the window. */
class Windows {
  readonly all: string[] = [];
  readonly counts: Map<string, Map<number, number>> = new Map();
  throws = 0;
  readonly bolt;

  constructor(window: WindowPlan<Values>, late?: "stray") {
    this.bolt = windowBolt({
      input: N,
      streams: { stray: N },
      window,
      ...(late !== undefined && { late }),
      execute: ({ tuples, start }, { index }) => {
        if (this.throws > 0) {
          this.throws--;
          throw new Error("not now");
        }
        this.all.push(`${start}: ${tuples.map(({ values }) => values.n).join(" ")}`);
        const key = `${index}/${start}`;
        const count = this.counts.get(key) ?? new Map<number, number>();
        this.counts.set(key, count);
        for (const { values } of tuples) count.set(values.n, (count.get(values.n) ?? 0) + 1);
      },
    });
  }

  /** How often each number was in a window that starts there, in all tasks. */
  get times(): ReadonlyMap<string, number> {
    const times = new Map<string, number>();
    for (const [key, count] of this.counts)
      for (const [n, more] of count) {
        const place = `${n} from ${key.split("/")[1]}`;
        times.set(place, (times.get(place) ?? 0) + more);
      }
    return times;
  }
}

/** Each number so many times in each window that holds it. */
function eachOnce(
  numbers: readonly number[],
  ms: number,
  every: number,
  copies = 1,
): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const n of numbers)
    for (let start = Math.floor(n / every) * every; start > n - ms; start -= every)
      times.set(`${n} from ${start}`, copies);
  return times;
}

const sorted = (map: ReadonlyMap<string, number>): unknown => [...map].sort();
const component = (running: TopologyRef, name: string) =>
  running.metrics().components.find((one) => one.name === name);

async function finish(stage: Stage, running: TopologyRef): Promise<void> {
  expect(await stage.until(running.stop())).toEqual({ drained: true, unfinished: 0 });
}

describe("a window task that is killed", () => {
  it("has what it lost in the windows that were not handed over, and nothing is late [O24]", async () => {
    await using stage = new Stage();
    const [source, windows] = [new Source([3, 7, 12, 15, 21]), new Windows(tumbling({ ms: 10, by }))];
    const running = await stage.start(
      topology("killed", QUICK)
        .spout("source", source.spout)
        .bolt("windows", windows.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(windows.all).toEqual(["0: 3 7", "10: 12 15"]);
    source.put(22, 25);
    await stage.kill(running, "windows");
    // Far past what was lost, while that waits to be tried again.
    source.put(41, 55);
    await stage.settle();
    expect(windows.all).toHaveLength(2);
    await stage.advance(300);
    expect(windows.all.slice(2)).toEqual(["20: 21 22 25", "40: 41"]);
    await finish(stage, running);
    expect(windows.all.slice(4)).toEqual(["50: 55"]);
    expect([...source.acked].sort((a, b) => a - b)).toEqual([3, 7, 12, 15, 21, 22, 25, 41, 55]);
    expect(component(running, "windows")?.late).toBe(0);
  });

  it("waits as well for what waited in front of it", async () => {
    await using stage = new Stage();
    const [source, windows] = [new Source([1, 2]), new Windows(tumbling({ ms: 10, by }))];
    const running = await stage.start(
      topology("waited", QUICK)
        .spout("source", source.spout)
        .bolt("windows", windows.bolt, { from: { "source.numbers": grouping.fields("n") } })
        .build(),
    );
    source.put(3, 4);
    stage.strike(running, "windows");
    await stage.settle();
    source.put(30);
    await stage.advance(250);
    expect(windows.all).toEqual(["0: 1 2 3 4"]);
    await finish(stage, running);
  });

  it("does not wait for what will not come again", async () => {
    await using stage = new Stage();
    const [source, windows] = [new Source([1, 2]), new Windows(tumbling({ ms: 10, by }))];
    const running = await stage.start(
      topology("no-retries", { ...QUICK, retries: 0 })
        .spout("source", source.spout)
        .bolt("windows", windows.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "windows");
    source.put(5, 30);
    await stage.advance(250);
    expect(windows.all).toEqual(["0: 5"]);
    await finish(stage, running);
  });

  it("hands over sliding windows once each: those that were done before stay done", async () => {
    await using stage = new Stage();
    const [source, windows] = [new Source(upTo(13)), new Windows(sliding({ ms: 10, everyMs: 5, by }))];
    const running = await stage.start(
      topology("slides", QUICK)
        .spout("source", source.spout)
        .bolt("windows", windows.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect(windows.all).toEqual(["-5: 1 2 3 4", "0: 1 2 3 4 5 6 7 8 9"]);
    await stage.kill(running, "windows");
    source.put(20);
    await stage.advance(250);
    expect(windows.all.slice(2)).toEqual(["5: 5 6 7 8 9 10 11 12 13", "10: 10 11 12 13"]);
    await finish(stage, running);
  });
});

describe("a tuple that is tried again since another bolt has lost it", () => {
  it("is in no window twice, and is acked by one that had it [O24]", async () => {
    await using stage = new Stage();
    const source = new Source([3, 7, 12]);
    const [one, other] = [new Windows(tumbling({ ms: 10, by })), new Windows(tumbling({ ms: 20, by }))];
    const running = await stage.start(
      topology("two", QUICK)
        .spout("source", source.spout)
        .bolt("one", one.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("other", other.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    expect([one.all, other.all]).toEqual([["0: 3 7"], []]);
    await stage.kill(running, "other");
    await stage.advance(200);
    source.put(25, 45);
    await stage.settle();
    expect(one.all).toEqual(["0: 3 7", "10: 12", "20: 25"]);
    expect(other.all).toEqual(["0: 3 7 12", "20: 25"]);
    await finish(stage, running);
    expect([...source.acked].sort((a, b) => a - b)).toEqual([3, 7, 12, 25, 45]);
  });
});

describe("a drain", () => {
  it.each([0, 50])(
    "flushes no window before what has failed is tried again, begun %i ms after that",
    async (ms) => {
      await using stage = new Stage();
      const [source, windows] = [new Source([3, 7]), new Windows(tumbling({ ms: 10, by }))];
      let fails = 1;
      const relay = bolt({
        input: N,
        streams: { numbers: N },
        execute: ({ values }, { emit }) => {
          if (values.n === 7 && fails-- > 0) throw new Error("not now");
          emit.numbers(values);
        },
      });
      const running = await stage.system.start(
        topology("drain", QUICK)
          .spout("source", source.spout)
          .bolt("relay", relay, { from: { "source.numbers": grouping.shuffle() } })
          .bolt("windows", windows.bolt, { from: { "relay.numbers": grouping.shuffle() } })
          .build(),
        { log: false },
      );
      if (ms > 0) await stage.advance(ms);
      await finish(stage, running);
      expect(windows.all).toEqual(["0: 3 7"]);
      expect(source.acked).toEqual([3, 7]);
    },
  );
});

describe("a tuple that is late", () => {
  it("fails for good at once, is counted, and logged [O25]", async () => {
    await using stage = new Stage();
    const [source, windows, lines] = [
      new Source([3, 12]),
      new Windows(tumbling({ ms: 10, by })),
      [] as LogLine[],
    ];
    const letters = new Sink();
    const running = await stage.start(
      topology("late", QUICK)
        .spout("source", source.spout)
        .bolt("windows", windows.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .bolt(
          "letters",
          bolt({
            inputs: { dead: { id: field.number } },
            execute: ({ values }) => void letters.seen.push(values.id),
          }),
          {
            from: { "source.dead": {} },
          } as never,
        )
        .build(),
      { log: (line) => lines.push(line) },
    );
    source.put(7);
    await stage.settle();
    expect(source.outcomes).toEqual([
      [3, "acked"],
      [7, "failed", 1],
    ]);
    expect(letters.seen).toEqual([7]);
    expect(component(running, "windows")?.late).toBe(1);
    expect(lines.map(({ level, text }) => `${level}: ${text}`)).toEqual([
      "warn: failed a tuple of source.numbers for good: it is late, as 0 were before; `late` takes such tuples",
    ]);
    await finish(stage, running);
  });

  it("goes to the declared stream, anchored [O25]", async () => {
    await using stage = new Stage();
    const [source, windows] = [new Source([3, 12]), new Windows(tumbling({ ms: 10, by }), "stray")];
    const strays = new Sink();
    const running = await stage.start(
      topology("stray", QUICK)
        .spout("source", source.spout)
        .bolt("windows", windows.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("strays", strays.bolt, { from: { "windows.stray": grouping.shuffle() } })
        .build(),
    );
    source.put(7);
    await stage.settle();
    expect(strays.seen).toEqual([7]);
    expect(source.acked).toEqual([3, 7]);
    expect(component(running, "windows")?.late).toBe(1);
    await finish(stage, running);
  });

  it("is so also for a task that was restarted since", async () => {
    await using stage = new Stage();
    const [source, windows] = [new Source([3, 12]), new Windows(tumbling({ ms: 10, by }), "stray")];
    const running = await stage.start(
      topology("later", QUICK)
        .spout("source", source.spout)
        .bolt("windows", windows.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    await stage.kill(running, "windows");
    source.put(7);
    await stage.advance(200);
    expect(windows.all).toEqual(["0: 3"]);
    expect(component(running, "windows")?.late).toBe(1);
    await finish(stage, running);
  });
});

describe("a tuple whose tree expires in another bolt", () => {
  it("is not late after its window was handed over, if no bolt reads from the windows [O25]", async () => {
    await using stage = new Stage();
    const [source, windows, keeper] = [
      new Source([3, 12]),
      new Windows(tumbling({ ms: 10, by })),
      new Keeper(),
    ];
    const running = await stage.start(
      topology("expires")
        .spout("source", source.spout)
        .bolt("windows", windows.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("keeper", keeper.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: false },
    );
    expect(windows.all).toEqual(["0: 3"]);
    await stage.advance(50_000);
    for (const held of keeper.got.slice(2)) held.ack();
    await stage.settle();
    expect(source.acked).toEqual([3]);
    expect(windows.all).toEqual(["0: 3"]);
    expect(component(running, "windows")?.late).toBe(0);
    await finish(stage, running);
  });
});

describe("a window whose `execute` throws", () => {
  it("is tried again, with the tuples it has [O26]", async () => {
    await using stage = new Stage();
    const [source, windows] = [new Source([3, 7]), new Windows(tumbling({ ms: 10, by }))];
    windows.throws = 3;
    const running = await stage.start(
      topology("throws", QUICK)
        .spout("source", source.spout)
        .bolt("windows", windows.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: false },
    );
    source.put(12, 25);
    await stage.settle();
    expect([windows.all, source.outcomes]).toEqual([[], []]);
    await stage.advance(1_000);
    expect(windows.all).toEqual(["0: 3 7", "10: 12"]);
    expect(source.acked).toEqual([3, 7, 12]);
    await finish(stage, running);
  });

  it("fails its tuples in the end, which come into it again", async () => {
    await using stage = new Stage();
    const [source, windows] = [new Source([3, 7, 12]), new Windows(tumbling({ ms: 10, by }))];
    windows.throws = 4;
    const running = await stage.start(
      topology("gives-up", QUICK)
        .spout("source", source.spout)
        .bolt("windows", windows.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: false },
    );
    source.put(33);
    await stage.advance(2_000);
    expect(windows.all).toEqual(["0: 3 7", "10: 12"]);
    expect(source.failures).toEqual([]);
    await finish(stage, running);
  });

  it("is handed over when the topology drains meanwhile", async () => {
    await using stage = new Stage();
    const [source, windows] = [new Source([3, 12]), new Windows(tumbling({ ms: 10, by }))];
    windows.throws = 2;
    const running = await stage.start(
      topology("drains", QUICK)
        .spout("source", source.spout)
        .bolt("windows", windows.bolt, { from: { "source.numbers": grouping.shuffle() } })
        .build(),
      { log: false },
    );
    await finish(stage, running);
    expect(windows.all.sort()).toEqual(["0: 3", "10: 12"]);
    expect(source.acked.length).toBe(2);
  });
});

describe("whatever tasks are killed when", () => {
  const span = fc.constantFrom([10, 10], [10, 5], [20, 5]);
  const kill = fc.record({
    after: fc.integer({ min: 1, max: 16 }),
    component: fc.constantFrom("windows", "others", "source", "__acker"),
    index: fc.nat(1),
    waitMs: fc.constantFrom(0, 10, 120),
    throws: fc.constantFrom(0, 0, 1, 5),
  });
  const rest = fc.constantFrom(0, 50, 1_000);
  const run = fc.record({
    span,
    kills: fc.array(kill, { maxLength: 6 }),
    viaRelay: fc.boolean(),
    restMs: rest,
    choice: fc.constantFrom("fields", "partialKey", "shuffle", "localOrShuffle", "none", "global"),
    tasks: fc.integer({ min: 1, max: 4 }),
  });
  check.prop([run], { numRuns: sized(30, 1 / 10) })(
    "each tuple is in each of its windows once, in two bolts side by side, behind any grouping [O24]",
    async ({ span: [ms, every], kills, viaRelay, restMs, choice, tasks }) => {
      const choose = (): RoutingFunction<Values> => (grouping[choice] as typeof grouping.fields)("n");
      await using stage = new Stage();
      const source = new Source();
      const plan = (): WindowPlan<Values> => sliding({ ms: ms as number, everyMs: every as number, by });
      const [windows, others] = [new Windows(plan()), new Windows(plan())];
      const relay = bolt({
        input: N,
        streams: { numbers: N },
        // Two of the same time that come of one.
        execute: ({ values }, { emit }) => {
          emit.numbers(values);
          emit.numbers(values);
        },
      });
      const running = await stage.start(
        topology("chaos", { ...QUICK, retries: 50 })
          .spout("source", source.spout)
          .bolt("relay", relay, { from: { "source.numbers": grouping.shuffle() } })
          .bolt("windows", windows.bolt, { tasks, from: { "source.numbers": choose() } })
          .bolt("others", others.bolt, {
            tasks,
            from: { [viaRelay ? "relay.numbers" : "source.numbers"]: choose() } as never,
          })
          .build(),
        { log: false },
      );
      const numbers = upTo(100);
      let next = 0;
      for (const { after, component: name, index, waitMs, throws } of kills) {
        source.put(...numbers.slice(next, next + after));
        next += after;
        await stage.advance(waitMs);
        // Not the bolt in between: of what that has not passed on, no window knows.
        const tasks = running.tasks(name);
        const { pid } = tasks[index % tasks.length] ?? {};
        if (pid !== undefined) stage.system.exit(pid as never, "kill");
        await stage.advance(waitMs);
        windows.throws = throws;
      }
      source.put(...numbers.slice(next));
      await stage.settle();
      const last = kills.at(-1);
      if (last !== undefined)
        stage.strike(running, last.component, last.index % running.tasks(last.component).length);
      await stage.advance(restMs);
      expect(await stage.until(running.stop())).toEqual({ drained: true, unfinished: 0 });
      expect(sorted(windows.times)).toEqual(sorted(eachOnce(numbers, ms as number, every as number)));
      expect(sorted(others.times)).toEqual(
        sorted(eachOnce(numbers, ms as number, every as number, viaRelay ? 2 : 1)),
      );
      expect([...source.acked].sort((a, b) => a - b)).toEqual(numbers);
    },
  );
});
