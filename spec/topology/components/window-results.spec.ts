// The results of windows, when bolts downstream throw or are killed: the window is handed over again, with all of its tuples.

import { test as check, fc } from "@fast-check/vitest";
import {
  bolt,
  field,
  grouping,
  sliding,
  type TopologyConfig,
  topology,
  windowBolt,
} from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { sized } from "../../support/proof.js";
import { Keeper, N, Source, Stage, upTo } from "../support.js";

const by = ({ n }: { readonly n: number }): number => n;
const RESULT = { window: field.text, numbers: field.text };

/** Windows that emit their numbers, and a sink that throws at some results and notes the others. */
class Results {
  readonly source: Source = new Source();
  readonly accepted: Map<string, string[]> = new Map();
  late = 0;
  private readonly stage: Stage;
  private readonly refuses: () => boolean;

  constructor(stage: Stage, refuses: () => boolean) {
    this.stage = stage;
    this.refuses = refuses;
  }

  start([ms, everyMs]: readonly [number, number], tasks: number, config: TopologyConfig = {}) {
    const windows = windowBolt({
      input: N,
      streams: { results: RESULT },
      window: sliding({ ms, everyMs, by }),
      late: () => void this.late++,
      execute: ({ tuples, start }, { emit, task }) =>
        emit.results({ window: `${task}/${start}`, numbers: tuples.map(({ values }) => values.n).join(" ") }),
    });
    const sink = bolt({
      input: RESULT,
      execute: ({ values: { window, numbers } }) => {
        if (this.refuses()) throw new Error("not now");
        this.accepted.set(window, [...(this.accepted.get(window) ?? []), numbers]);
      },
    });
    return this.stage.start(
      topology("results", config)
        .spout("source", this.source.spout)
        .bolt("windows", windows, { tasks, from: { "source.numbers": grouping.shuffle() } })
        // Results pass through another bolt, so that the one that fails is further down.
        .bolt("pass", bolt({ input: RESULT, streams: { results: RESULT }, execute: pass }), {
          from: { "windows.results": grouping.shuffle() },
        })
        .bolt("sink", sink, { tasks: 2, from: { "pass.results": grouping.shuffle() } })
        .build(),
      { log: false },
    );
  }

  /** How often each number was in an accepted window that starts there. */
  get times(): ReadonlyMap<string, number> {
    const times = new Map<string, number>();
    for (const [window, results] of this.accepted)
      for (const numbers of results)
        for (const n of numbers.split(" ")) {
          const key = `${n} from ${window.split("/")[1]}`;
          times.set(key, (times.get(key) ?? 0) + 1);
        }
    return times;
  }
}

type Emit = {
  readonly emit: { results(values: { readonly window: string; readonly numbers: string }): void };
};

function pass(
  { values }: { readonly values: { readonly window: string; readonly numbers: string } },
  { emit }: Emit,
): void {
  emit.results(values);
}

/** Each number once from each start of a window that holds it. */
function eachOnce(numbers: readonly number[], [ms, everyMs]: readonly [number, number]): Map<string, number> {
  const times = new Map<string, number>();
  for (const n of numbers)
    for (let start = n - (n % everyMs); start > n - ms; start -= everyMs) times.set(`${n} from ${start}`, 1);
  return times;
}

const sorted = (map: ReadonlyMap<string, number>): unknown => [...map].sort();

describe("a window whose result fails downstream", () => {
  it.each([
    ["tumbling", [50, 50]],
    ["sliding", [40, 10]],
  ] as const)(
    "is handed over again, %s: of 2,000 tuples none is lost, late or counted twice [O57]",
    async (_, span) => {
      await using stage = new Stage();
      let [results, isOver] = [0, false];
      const run = new Results(stage, () => !isOver && ++results % 20 === 7);
      const running = await run.start(span, 2);
      const numbers = upTo(2_000);
      for (let next = 0; next < numbers.length || run.source.left > 0; next += 40) {
        run.source.put(...numbers.slice(next, next + 40));
        await stage.advance(20);
      }
      isOver = true;
      expect(await stage.until(running.stop())).toEqual({ drained: true, unfinished: 0 });
      expect([run.source.failures, run.late]).toEqual([[], 0]);
      expect(sorted(run.times)).toEqual(sorted(eachOnce(numbers, span)));
      for (const accepted of run.accepted.values()) expect(accepted.length).toBe(1);
    },
  );

  it("is handed over again, also when that part fails before `execute` is done [O57]", async () => {
    await using stage = new Stage();
    const [source, keeper, seen] = [new Source([1, 2, 13]), new Keeper(), [] as string[]];
    const windows = windowBolt({
      input: N,
      streams: { numbers: N },
      window: sliding({ ms: 10, everyMs: 10, by }),
      execute: async ({ tuples, start }, { emit }) => {
        seen.push(`${start}: ${tuples.map(({ values }) => values.n).join(" ")}`);
        emit.numbers({ n: start });
        if (seen.length === 1) await stage.sleep(1_000);
      },
    });
    const running = await stage.start(
      topology("early")
        .spout("source", source.spout)
        .bolt("windows", windows, { from: { "source.numbers": grouping.shuffle() } })
        .bolt("keeper", keeper.bolt, { from: { "windows.numbers": grouping.shuffle() } })
        .build(),
      { log: false },
    );
    keeper.got[0]?.fail();
    await stage.advance(2_000);
    expect(seen).toEqual(["0: 1 2", "0: 1 2"]);
    keeper.got[1]?.ack();
    await stage.settle();
    expect(source.acked).toEqual([1, 2]);
    const stopped = running.stop();
    await stage.settle();
    keeper.got[2]?.ack();
    expect(await stage.until(stopped)).toEqual({ drained: true, unfinished: 0 });
  });

  it("is handed over as often as its tuples may be retried, and then they have failed for good [O57]", async () => {
    await using stage = new Stage();
    const run = new Results(stage, () => true);
    const running = await run.start([10, 10], 1);
    run.source.put(1, 2, 13);
    await stage.advance(5_000);
    expect(run.source.outcomes).toEqual([
      [1, "failed", 4],
      [2, "failed", 4],
    ]);
    expect(run.late).toBe(0);
    await stage.until(running.stop());
  });
});

describe("whatever is killed or throws", () => {
  const strike = fc.record({
    after: fc.integer({ min: 1, max: 30 }),
    component: fc.constantFrom("windows", "pass", "sink"),
    index: fc.nat(1),
    waitMs: fc.constantFrom(0, 10, 120),
    refuses: fc.nat(3),
  });
  const span = fc.constantFrom([10, 10] as const, [10, 5] as const, [20, 5] as const);
  const run = fc.record({
    span,
    tasks: fc.integer({ min: 1, max: 3 }),
    strikes: fc.array(strike, { maxLength: 6 }),
  });
  check.prop([run], { numRuns: sized(20, 1 / 10) })(
    "each window has an accepted result with each of its tuples once [O57]",
    async ({ span, tasks, strikes }) => {
      await using stage = new Stage();
      let refuse = 0;
      const results = new Results(stage, () => refuse > 0 && refuse-- > 0);
      const running = await results.start(span, tasks, { retries: 50, intensity: 1_000 });
      const numbers = upTo(100);
      let next = 0;
      for (const { after, component, index, waitMs, refuses } of strikes) {
        refuse = refuses;
        results.source.put(...numbers.slice(next, next + after));
        next += after;
        await stage.advance(waitMs);
        const all = running.tasks(component);
        const { pid } = all[index % all.length] ?? {};
        if (pid !== undefined) stage.system.exit(pid as never, "kill");
        await stage.advance(waitMs);
      }
      results.source.put(...numbers.slice(next));
      refuse = 0;
      await stage.advance(1_000);
      expect(await stage.until(running.stop())).toEqual({ drained: true, unfinished: 0 });
      expect(results.late).toBe(0);
      expect(sorted(results.times)).toEqual(sorted(eachOnce(numbers, span)));
      expect([...results.source.acked].sort((a, b) => a - b)).toEqual(numbers);
    },
  );
});
