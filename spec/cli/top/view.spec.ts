// `signalbox top` as lines of text.

import { fc, test as property } from "@fast-check/vitest";
import { expect, test } from "vitest";
import { styleOf } from "../../../lib/cli/shell/style.js";
import { decide, initial, ORDERS, type TopState } from "../../../lib/cli/top/top-machine.js";
import { sampleText, screenLines } from "../../../lib/cli/top/view.js";
import { HOSTILE } from "../../observer/scripted/hostile.js";
import { incidentOf, NOW, processOf, sampleOf } from "./samples.js";

const PLAIN = styleOf(false, {});
const QUESTION = { by: "mailbox", find: "", limit: 20 } as const;
const till = processOf(7, {
  ...{ name: "till", label: "server", mailboxDepth: 1_240, growthPerS: 3.25, handledPerS: 12_345 },
  ...{ busy: 0.42, ageMs: 192_000 },
});

function stateOf(sample: TopState["sample"], columns: number, rows: number): TopState {
  const state = initial({ ...QUESTION, intervalMs: 1_000, columns, rows });
  return sample === undefined ? state : decide(state, { type: "answered", sample })[0];
}

test("a text has the system, its counts, its last incidents and its processes [N1591]", () => {
  const sample = sampleOf([till, processOf(3)], {
    recent: [incidentOf(1), incidentOf(2, { kind: "crash", count: 3 })],
  });
  expect(sampleText(sample, QUESTION, undefined).split("\n")).toEqual([
    "shop (shop-1) · up 3 min · 1,204 processes · 12,345 handled/s · heap 34 MiB of 60 MiB · rss 120 MiB · 2 match",
    "crashes 0 · restarts 3 (+1) · dead letters 0 · late turns 2 · bank open for 12 s · kept for 1 min",
    "12 s ago  crash ×3  shop floor/till: Error: no paper",
    "12 s ago  restart  shop floor/till: Error: no paper",
    "",
    "PID              ▼MAILBOX   GROWTH/S   HANDLED/S   BUSY      AGE  STATUS       KIND          NAME",
    "shop.7              1,240        3.3      12,345   42 %    3 min  waiting      server        till (server)",
    "shop.3                  3                                         waiting      server        clerk-3",
  ]);
});

test("a screen has so many lines as the window, and none is wider [N1591]", () => {
  const lines = screenLines(stateOf(sampleOf([till, processOf(3)]), 60, 16), PLAIN);
  expect(lines).toHaveLength(16);
  expect(lines.filter((line) => [...line].length > 60)).toEqual([]);
  expect(lines.join("\n")).toContain("▼MAILBOX");
  expect(lines.at(-1)).toMatch(/^q quit/);
});

const TEXT = fc.oneof(fc.string(), fc.constantFrom(...Object.values(HOSTILE)), fc.string({ unit: "binary" }));
property.prop([
  fc.integer({ min: 1, max: 220 }),
  fc.integer({ min: 1, max: 70 }),
  fc.constantFrom(...ORDERS),
  fc.array(fc.record({ label: TEXT, name: TEXT, kind: TEXT, mailboxDepth: fc.nat() }), { maxLength: 80 }),
  TEXT,
])(
  "no text of the program breaks the picture, in a window of any size [N1591]",
  (columns, rows, by, parts, text) => {
    const processes = parts.map((part, n) => processOf(n, part));
    const sample = sampleOf(processes, { name: text, recent: [incidentOf(1, { text, path: text })] });
    const state = { ...stateOf(sample, columns, rows), question: { by, find: text, limit: 20 } };
    const lines = screenLines(state, PLAIN);
    expect(lines.length).toBeLessThanOrEqual(rows);
    for (const line of lines) {
      expect([...line].length).toBeLessThanOrEqual(columns);
      expect(line).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
    }
    expect(sampleText(sample, state.question, undefined)).not.toMatch(/[^\P{Cc}\n]/u);
  },
);

test("columns keep their widths while the numbers change [N1591]", () => {
  const titles = [1, 1_000_000].map((mailboxDepth) => {
    const lines = screenLines(stateOf(sampleOf([processOf(1, { mailboxDepth })]), 120, 20), PLAIN);
    return lines.find((line) => line.includes("MAILBOX"));
  });
  expect(titles[0]).toBe(titles[1]);
});

test("a narrow window keeps the pid, the order's own number and the name [N1591]", () => {
  const lines = screenLines(
    { ...stateOf(sampleOf([till]), 60, 16), question: { ...QUESTION, by: "growth" } },
    PLAIN,
  );
  const titles = lines.find((line) => line.includes("PID")) ?? "";
  expect(titles).toMatch(/PID.*MAILBOX.*▼GROWTH\/S.*NAME/);
  expect(titles).not.toContain("KIND");
});

test("says that the program does not answer, and keeps the last picture [N1591]", () => {
  const [state] = decide(stateOf(sampleOf([till]), 100, 16), {
    type: "failed",
    problem: "no program\u001b[2J",
  });
  const text = screenLines(state, PLAIN).join("\n");
  expect(text).toContain("no answer: no program");
  expect(text).toContain("till (server)");
  expect(text).not.toContain("\u001b");
  expect(screenLines(stateOf(undefined, 40, 5), PLAIN)[0]).toBe("asks the program …");
});

test("an incident of now is 0 ms ago", () => {
  const sample = sampleOf([], { recent: [incidentOf(1, { lastAt: NOW })] });
  expect(sampleText(sample, QUESTION, undefined)).toContain("0 ms ago  restart");
});
