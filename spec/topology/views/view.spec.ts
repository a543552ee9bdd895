// Metrics as people see them: the table and the screen in full, what fits into how many columns, and redrawing.

import { fc, test as property } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import { OptionError } from "../../../lib/process/errors.js";
import type { LatencyMetrics } from "../../../lib/topology/runtime/latency.js";
import type { ComponentMetrics, TopologyMetrics } from "../../../lib/topology/runtime/metrics.js";
import { renderDashboard, renderSummary, repaintDashboard } from "../../../lib/topology/views/view.js";

const NOTHING = {
  ...{
    tasks: 1,
    executors: 1,
    emitted: 0,
    acked: 0,
    failed: 0,
    expired: 0,
    lost: 0,
    dead: 0,
    late: 0,
    errors: 0,
  },
  ...{ restarts: 0, executed: 0, pending: 0, waiting: 0, streams: {}, inputs: {} },
};

function took(meanMs: number, p99Ms: number): LatencyMetrics {
  return { meanMs, p50Ms: meanMs, p99Ms, maxMs: p99Ms, samples: 20 };
}

function component(
  name: string,
  kind: ComponentMetrics["kind"],
  given: Partial<ComponentMetrics>,
): ComponentMetrics {
  return { ...NOTHING, name, kind, ...given };
}

const lines = component("lines", "spout", {
  ...{ emitted: 12_345, acked: 12_000, failed: 3, expired: 1, dead: 1, pending: 128, restarts: 1 },
  completeLatency: took(49.5, 98.7),
});
const split = component("split", "bolt", {
  ...{
    tasks: 4,
    executors: 2,
    emitted: 1_200_000,
    executed: 12_345,
    acked: 12_217,
    waiting: 14,
    lost: 2,
    errors: 1,
  },
  ...{ executeLatency: took(0.42, 0.9), processLatency: took(1.25, 1_500), capacity: 0.93 },
});
const acker = component("acker", "acker", { tasks: 4, executors: 4 });
const words: TopologyMetrics = {
  ...{ name: "words", phase: "running", uptimeMs: 61_000 },
  components: [lines, split, acker],
};

/** Without the rules, which are as wide as the table. */
function text(table: string): string[] {
  return table.split("\n").filter((line) => !line.startsWith("─"));
}

describe("the summary", () => {
  test("is a table with the sums, what became of the spouts' tuples, and the bottleneck", () => {
    expect(text(renderSummary(words))).toEqual([
      "words: running, up 1 min 01 s",
      "",
      "component  kind    tasks    emitted  executed   acked  failed  expired  dead  late  lost  errors  restarts  pending  waiting  capacity  complete ms   execute ms   process ms",
      "lines      spout       1     12,345         0  12,000       3        1     1     0     0       0         1      128        0         –  49.5 / 98.7            –            –",
      "split      bolt   4 in 2  1,200,000    12,345  12,217       0        0     0     0     2       1         0        0       14      0.93            –  0.42 / 0.90  1.25 / 1.5k",
      "acker      acker       4          0         0       0       0        0     0     0     0       0         0        0        0         –            –            –            –",
      "total                  9  1,212,345    12,345                              1     0     2       1         1                14",
      "",
      "reliable tuples: 12,000 acked, 3 failed, 1 expired, 1 dead, 128 pending",
      "bottleneck: split, whose busiest task is at work 93 % of the time",
      "",
    ]);
  });

  test("names no bottleneck while every component has time to spare", () => {
    const idle = { ...words, components: [{ ...split, capacity: 0.8 }] };
    expect(renderSummary(idle)).not.toContain("bottleneck");
  });

  test("names the worst of several bottlenecks", () => {
    const components = [
      { ...split, capacity: 0.9 },
      component("count", "bolt", { capacity: 0.97 }),
      component("store", "bolt", { capacity: 0.85 }),
    ];
    expect(renderSummary({ ...words, components })).toContain("bottleneck: count, ");
  });

  test("of a topology without components is a table without rows", () => {
    expect(text(renderSummary({ ...words, components: [] })).slice(2, 4)).toEqual([
      expect.stringMatching(/^component {2}kind/),
      expect.stringMatching(/^total {2}/),
    ]);
  });

  test.each([
    [0, "0.0 s"],
    [12_399, "12.3 s"],
    [59_999, "59.9 s"],
    [60_000, "1 min 00 s"],
    [3_599_999, "59 min 59 s"],
    [3_600_000, "1 h 00 min"],
    [200_000_000, "55 h 33 min"],
  ])("says of an uptime of %i ms: %s", (uptimeMs, said) => {
    expect(renderSummary({ ...words, uptimeMs }).split("\n")[0]).toBe(`words: running, up ${said}`);
  });
});

describe("the screen", () => {
  const second: TopologyMetrics = {
    ...words,
    uptimeMs: words.uptimeMs + 2_000,
    components: [
      { ...lines, emitted: lines.emitted + 3_000 },
      { ...split, emitted: split.emitted + 15 },
      acker,
    ],
  };

  test("shows rates since the look before", () => {
    expect(renderDashboard(second, words)).toEqual([
      "words: running, up 1 min 03 s",
      "",
      "component  emitted/s  pending  waiting         capacity  mean ms  p99 ms  failed  expired  restarts",
      "lines           1.5k      128        0                –     49.5    98.7       3        1         1",
      "split            7.5        0       14  █████████░ 0.93     0.42    0.90       0        0         0",
      "acker              0        0        0                –        –       –       0        0         0",
      "",
      "bottleneck: split, whose busiest task is at work 93 % of the time",
    ]);
  });

  test("shows everything where there is room", () => {
    expect(renderDashboard(second, words, 140)[2]).toBe(
      "component  emitted/s  executed/s  pending  waiting         capacity  mean ms  p99 ms  failed  expired    dead    lost  restarts",
    );
  });

  test("shows the most telling where there is little", () => {
    expect(renderDashboard(second, words, 40).slice(2)).toEqual([
      "component  emitted/s  pending",
      "lines           1.5k      128",
      "split            7.5        0",
      "acker              0        0",
      "",
      "bottleneck: split, whose busiest task i…",
    ]);
  });

  const rate = (line: string | undefined): string | undefined => line?.split(/ +/)[1];

  test("shows rates since the start when there was no look before, or it was at another run", () => {
    const fresh = { ...words, uptimeMs: 10_000, components: [{ ...lines, emitted: 50 }] };
    expect(rate(renderDashboard(fresh)[3])).toBe("5.0");
    expect(rate(renderDashboard(fresh, words)[3])).toBe("5.0");
    expect(rate(renderDashboard(fresh, { ...words, uptimeMs: 9_000 })[3])).toBe("5.0");
    expect(rate(renderDashboard({ ...fresh, uptimeMs: 0 })[3])).toBe("–");
  });

  test("cuts long names", () => {
    const name = "a-component-with-a-name-that-nobody-can-remember";
    const [, , , row] = renderDashboard({ ...words, components: [component(name, "bolt", {})] });
    expect(row).toMatch(/^a-component-with-a-name…\s/);
  });

  test.each([0, -1, 2.5, Number.NaN])("refuses %d columns", (columns) => {
    expect(() => renderDashboard(words, undefined, columns)).toThrow(OptionError);
  });

  /** Characters and the cells they take. */
  const CELLS = new Map([
    ...[..."abcXYZ_-09 é–…·█░/.,:%"].map((char) => [char, 1] as const),
    ...[..."日本語한글漢"].map((char) => [char, 2] as const),
    ...["\u0301", "\u0308"].map((char) => [char, 0] as const),
  ]);
  const cells = (line: string): number => [...line].reduce((sum, char) => sum + (CELLS.get(char) ?? 1), 0);
  const name = fc.string({
    unit: fc.constantFrom(...CELLS.keys(), "\n", "\t", "\u001b", "\u202e"),
    maxLength: 40,
  });
  const number = fc.oneof(fc.nat({ max: 100 }), fc.nat({ max: Number.MAX_SAFE_INTEGER }));
  const latency = fc.option(
    fc.double({ min: 0, max: 1e9, noNaN: true }).map((ms) => took(ms, ms)),
    { nil: undefined },
  );
  const components = fc.array(
    fc.record({
      name,
      kind: fc.constantFrom("spout" as const, "bolt" as const, "acker" as const),
      ...{ tasks: fc.integer({ min: 1, max: 100 }), executors: fc.integer({ min: 1, max: 100 }) },
      ...{ emitted: number, acked: number, failed: number, expired: number, lost: number, dead: number },
      late: number,
      ...{ errors: number, restarts: number, executed: number, pending: number, waiting: number },
      ...{ completeLatency: latency, executeLatency: latency, processLatency: latency },
      capacity: fc.option(fc.double({ min: 0, max: 50, noNaN: true }), { nil: undefined }),
      ...{ streams: fc.constant({}), inputs: fc.constant({}) },
    }),
    { maxLength: 5 },
  );
  const topology = fc.record({ name, phase: fc.constant("running"), uptimeMs: number, components });

  property.prop([topology, fc.option(topology, { nil: undefined }), fc.integer({ min: 1, max: 200 })])(
    "is never wider than its columns, and has a line for each component",
    (now, before, columns) => {
      const shown = renderDashboard(now, before, columns);
      expect(shown.length).toBeGreaterThanOrEqual(4 + now.components.length);
      for (const line of shown) {
        expect(cells(line)).toBeLessThanOrEqual(columns);
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      }
    },
  );

  property.prop([topology])("and the summary's columns end where they should", (metrics) => {
    const [, , head = "", rule, ...rest] = renderSummary(metrics).split("\n");
    expect(rule).toBe("─".repeat(cells(head)));
    const rows = rest.slice(0, metrics.components.length);
    for (const row of rows) expect(cells(row)).toBe(cells(head));
  });
});

describe("redrawing", () => {
  const SIGN = new RegExp(`${"\u001b"}\\[(\\d*)([A-Z])|[\\s\\S]`, "g");

  /** A terminal that knows what is used here, and nothing else. */
  function terminal(): { write(text: string): void; lines(): string[] } {
    const rows: string[] = [""];
    let [row, column] = [0, 0];
    return {
      write(text) {
        for (const [all, count, code] of text.matchAll(SIGN)) {
          if (code === "A") row -= Number(count);
          else if (code === "K" && count === "2") rows[row] = "";
          else if (code === "J" && count === "")
            rows.splice(row, rows.length, (rows[row] ?? "").slice(0, column));
          else if (code !== undefined) throw new Error(`unknown: ${JSON.stringify(all)}`);
          else if (all === "\r") column = 0;
          else if (all === "\n") {
            row++;
            rows[row] ??= "";
          } else {
            rows[row] =
              (rows[row] ?? "").padEnd(column).slice(0, column) + all + (rows[row] ?? "").slice(column + 1);
            column++;
          }
        }
      },
      lines: () => rows.slice(0, -1),
    };
  }

  test("goes up, clears each line before it is written, and clears what is below", () => {
    expect(repaintDashboard(["one", "two"], 3)).toBe("\u001b[3A\r\u001b[2Kone\n\r\u001b[2Ktwo\n\r\u001b[J");
    expect(repaintDashboard([], 0)).toBe("\r\u001b[J");
  });

  property.prop([fc.array(fc.array(fc.stringMatching(/^[a-z ]{0,8}$/), { maxLength: 5 }), { minLength: 1 })])(
    "leaves the lines that were drawn last, whatever was there before",
    (frames) => {
      const { write, lines: shown } = terminal();
      write("$ watch\r\n");
      let before = 0;
      for (const frame of frames) {
        write(repaintDashboard(frame, before));
        before = frame.length;
        expect(shown()).toEqual(["$ watch", ...frame]);
      }
    },
  );
});
