// Windows of several tasks, where the grouping allows any of them: a retried tuple goes back to the task that it came to
// first, whose windows wait for it. With the options of a topology that sets none.

import {
  bolt,
  grouping,
  sliding,
  type TopologyRef,
  topology,
  tumbling,
  windowBolt,
} from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { N, Source, Stage, upTo } from "../support.js";

const by = ({ n }: { readonly n: number }): number => n;
const MANY = 8_000;

/** The same numbers from 0 to 1 at every run. */
function rolls(): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return state / 0x8000_0000;
  };
}

interface Run {
  readonly all: readonly number[];
  readonly source: Source;
  /** How often each window had each number, by `start/number`. */
  readonly had: ReadonlyMap<string, number>;
  readonly running: TopologyRef;
  readonly stage: Stage;
}

interface Plan {
  readonly many?: number;
  readonly span?: readonly [ms: number, everyMs: number];
  readonly choice?: ReturnType<typeof grouping.shuffle<{ readonly n: number }>>;
  readonly tasks?: number;
  /** Share of the tuples that the bolt beside the windows throws at. */
  readonly throws?: number;
  readonly kills?: boolean;
  /** The number of tasks changes all the time. */
  readonly scales?: boolean;
}

/** Runs all numbers through windows, some at a time. */
async function run(
  {
    span: [ms, everyMs] = [50, 50],
    choice = grouping.shuffle(),
    tasks = 2,
    throws = 0,
    kills = false,
    scales = false,
    many = MANY,
  }: Plan,
  look: (run: Run) => void,
): Promise<void> {
  await using stage = new Stage();
  const [source, had, roll, all] = [new Source(), new Map<string, number>(), rolls(), upTo(many)];
  const windows = windowBolt({
    input: N,
    window: sliding({ ms, everyMs, by }),
    execute: ({ tuples, start }, { index }) => {
      for (const { values } of tuples) {
        const key = `${choice.label === "all" ? `${index}: ` : ""}${start}/${values.n}`;
        had.set(key, (had.get(key) ?? 0) + 1);
      }
    },
  });
  const beside = bolt({
    input: N,
    execute: () => {
      if (roll() < throws) throw new Error("not now");
    },
  });
  const running = await stage.start(
    topology("many")
      .spout("source", source.spout)
      .bolt("windows", windows, { tasks, from: { "source.numbers": choice } })
      .bolt("beside", beside, { from: { "source.numbers": grouping.shuffle() } })
      .build(),
    { log: false },
  );
  for (let next = 0, round = 1; next < many || source.left > 0; round++) {
    const more = 10 + Math.floor(roll() * 60);
    source.put(...all.slice(next, next + more));
    next += more;
    await stage.advance(1 + Math.floor(roll() * 30));
    if (!kills || round % 10 > 0) continue;
    if (scales) void running.scale("windows", 1 + Math.floor(roll() * 4)).catch(() => undefined);
    const { pid } = running.tasks("windows")[Math.floor(roll() * tasks)] ?? {};
    if (pid !== undefined) stage.system.exit(pid as never, "kill");
  }
  expect(await stage.until(running.stop())).toEqual({ drained: true, unfinished: 0 });
  look({ all, source, had, running, stage });
}

/** Every number was in each of its windows once, was acked, and none was late. */
function expectAll({ all, source, had, running }: Run, [ms, everyMs]: readonly [number, number]): void {
  expect(source.failures).toEqual([]);
  expect(source.acked.length).toBe(all.length);
  const wanted = new Map<string, number>();
  for (const n of all)
    for (let start = n - (n % everyMs); start > n - ms; start -= everyMs) wanted.set(`${start}/${n}`, 1);
  expect([...had].filter(([key, times]) => wanted.get(key) !== times)).toEqual([]);
  expect(had.size).toBe(wanted.size);
  expect(running.metrics().components.find(({ name }) => name === "windows")?.late).toBe(0);
}

describe("8,000 tuples on time, in windows of two tasks behind `shuffle`", () => {
  it.each([
    ["tumbling", [50, 50]],
    ["sliding", [40, 10]],
  ] as const)("are each in their %s windows once, whichever task is killed when [O54]", async (_, span) => {
    await run({ span, kills: true }, (one) => expectAll(one, span));
  });

  it.each([
    ["tumbling", [50, 50]],
    ["sliding", [40, 10]],
  ] as const)(
    "are each in their %s windows once when 5 in 100 of them throw elsewhere [O54]",
    async (_, span) => {
      await run({ span, throws: 0.05 }, (one) => expectAll(one, span));
    },
  );

  it("are so too behind other groupings, with more tasks, kills and throws [O54]", async () => {
    const choices = [
      grouping.localOrShuffle(),
      grouping.none(),
      grouping.partialKey("n"),
      grouping.fields("n"),
    ];
    for (const choice of choices)
      await run({ many: 2_000, choice, tasks: 3, kills: true, throws: 0.02 }, (one) =>
        expectAll(one, [50, 50]),
      );
  });

  it("are so too while tasks come and go [O54]", async () => {
    await run({ many: 2_000, kills: true, scales: true, throws: 0.02 }, (one) => expectAll(one, [50, 50]));
  });

  it("are once in the windows of each task that gets a copy [O54]", async () => {
    await run({ many: 1_000, choice: grouping.all(), kills: true, throws: 0.02 }, ({ all, had, source }) => {
      const each = ["0: ", "1: "].flatMap((task) => all.map((n) => [`${task}${n - (n % 50)}/${n}`, 1]));
      expect([...had].sort()).toEqual(each.sort());
      expect(source.acked.length).toBe(all.length);
    });
  });
});

describe("a retried tuple", () => {
  it("comes to the windows of the first task from whichever task gets it, also when that one is behind [O54]", async () => {
    await using stage = new Stage();
    const [source, seen] = [new Source(), [] as string[]];
    const windows = windowBolt({
      input: N,
      window: tumbling({ ms: 10, by }),
      execute: ({ tuples, start }, { index }) =>
        void seen.push(`${index}: ${start}: ${tuples.map(({ values }) => values.n).join(" ")}`),
    });
    const running = await stage.start(
      topology("behind")
        .spout("source", source.spout)
        .bolt("windows", windows, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    // The first task has the odd ones. The second one has ended the first window, the first one has not.
    for (const n of [1, 2, 3, 12]) {
      source.put(n);
      await stage.settle();
    }
    const first = seen.length === 1 && seen[0]?.startsWith("1: 0:") ? 0 : 1;
    expect(seen).toEqual([`${1 - first}: 0: 2`]);
    await stage.kill(running, "windows", first);
    await stage.advance(500);
    expect(await stage.until(running.stop())).toEqual({ drained: true, unfinished: 0 });
    expect([...seen].sort()).toEqual(
      [`${first}: 0: 1 3`, `${1 - first}: 0: 2`, `${1 - first}: 10: 12`].sort(),
    );
    expect(source.failures).toEqual([]);
  });

  it("comes back to a task that is taken out, before that task ends [O54]", async () => {
    await using stage = new Stage();
    const [source, seen] = [new Source(), [] as string[]];
    const windows = windowBolt({
      input: N,
      window: tumbling({ ms: 10, by }),
      execute: ({ tuples, start }, { index }) =>
        void seen.push(`${index}: ${start}: ${tuples.map(({ values }) => values.n).join(" ")}`),
    });
    const running = await stage.start(
      topology("fewer")
        .spout("source", source.spout)
        .bolt("windows", windows, { tasks: 2, from: { "source.numbers": grouping.shuffle() } })
        .build(),
    );
    for (const n of [1, 2, 3]) {
      source.put(n);
      await stage.settle();
    }
    stage.strike(running, "windows", 1);
    const fewer = running.scale("windows", 1);
    await stage.settle();
    source.put(14, 25);
    await stage.settle();
    await stage.until(fewer);
    expect(await stage.until(running.stop())).toEqual({ drained: true, unfinished: 0 });
    const numbers = seen.flatMap((line) => (line.split(": ")[2] as string).split(" ").map(Number));
    expect(numbers.sort((a, b) => a - b)).toEqual([1, 2, 3, 14, 25]);
    expect(source.failures).toEqual([]);
  });
});
