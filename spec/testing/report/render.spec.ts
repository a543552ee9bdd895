// A schedule as text: what each kind of step and effect looks like, and what becomes of long ones.

import { fc, test as property } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { renderTrace } from "../../../lib/testing/report/render.js";
import type { Trace, TraceEffect, TraceStep } from "../../../lib/testing/report/trace.js";

/** A plain step. */
function numbered(number: number): TraceStep {
  return { type: "run", number, at: 0, process: "shop/clerk", took: `{n: ${number}}`, effects: [] };
}

/** A restock message is held up, the stock crashes and comes back empty, and the order is refused. */
const lateRestock: Trace = {
  steps: [
    {
      type: "run",
      number: 1,
      at: 0,
      process: "shop",
      took: "starts",
      effects: [
        { type: "spawn", process: "shop/stock" },
        { type: "spawn", process: "shop/clerk" },
      ],
    },
    {
      type: "run",
      number: 2,
      at: 0,
      process: "shop/clerk",
      took: '{type: "order", n: 7}',
      effects: [
        { type: "send", to: "shop/stock", message: '{type: "restock", n: 9}', held: true },
        { type: "send", to: "shop/stock", message: '{type: "take", n: 7}', held: false },
      ],
    },
    {
      type: "fault",
      number: 3,
      at: 0,
      process: "shop/stock",
      fault: "crash",
      effects: [{ type: "exit", process: "shop/stock", reason: "crash, InjectedFault: crash" }],
    },
    {
      type: "timer",
      number: 4,
      at: 250,
      process: "shop",
      what: "restart of stock",
      effects: [
        { type: "spawn", process: "shop/stock" },
        { type: "note", text: "restarted for the 1st time" },
      ],
    },
    {
      type: "deliver",
      number: 5,
      at: 250,
      process: "shop/stock",
      from: "shop/clerk",
      message: '{type: "restock", n: 9}',
      effects: [],
    },
    {
      type: "run",
      number: 6,
      at: 250,
      process: "shop/stock",
      took: '{type: "restock", n: 9}',
      effects: [{ type: "settle", process: "shop/clerk", what: "call to shop/stock" }],
    },
    {
      type: "resume",
      number: 7,
      at: 250,
      process: "shop/clerk",
      from: "call to shop/stock",
      effects: [{ type: "exit", process: "shop/clerk", reason: "normal" }],
    },
  ],
  failure: "no order is refused while there is stock:\n  order 7 was refused, 9 are left",
};

const texts = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.string({ maxLength: 150 }),
  fc.constantFrom("two\nlines", "shop/clerk", "\u2028\u001b[2J", "! 1  a"),
);
const effects = fc.record({
  type: fc.constantFrom("send", "spawn", "exit", "settle", "lost", "choice", "device", "note"),
  ...{
    ...{ label: texts, value: texts, device: texts },
    result: fc.option(texts, { nil: undefined }),
    process: texts,
    to: texts,
    message: texts,
    held: fc.boolean(),
    reason: texts,
    what: texts,
    text: texts,
  },
}) as fc.Arbitrary<TraceEffect>;
const steps = fc.record({
  type: fc.constantFrom("run", "resume", "deliver", "timer", "fault"),
  ...{ process: texts, took: texts, from: texts, message: texts, what: texts, fault: texts },
  place: fc.option(texts, { nil: undefined }),
  effects: fc.array(effects, { maxLength: 14 }),
  at: fc.constantFrom(0, 0, 0, 5, 2.5),
}) as unknown as fc.Arbitrary<TraceStep>;
/** Schedules of up to 80 steps: all of them are shown. */
const traces: fc.Arbitrary<Trace> = fc.record({
  steps: fc.array(steps, { maxLength: 80 }).map((all) => {
    let at = 0;
    return all.map((step, i) => {
      at += step.at;
      return { ...step, number: i + 1, at };
    });
  }),
  failure: fc.option(texts, { nil: undefined }),
});

describe("a schedule reads from top to bottom", () => {
  it("steps with their effects, the time where it changes, faults in the margin, the failure at the end", () => {
    expect(`\n${renderTrace(lateRestock)}\n`).toMatchInlineSnapshot(`
      "
      at 0 ms
        1  shop        starts
             + shop/stock spawned
             + shop/clerk spawned
        2  shop/clerk  took {type: "order", n: 7}
             ⇢ shop/stock (held): {type: "restock", n: 9}
             → shop/stock: {type: "take", n: 7}
      ! 3  shop/stock  FAULT: crash
             × shop/stock exited: crash, InjectedFault: crash
      at 250 ms
        4  shop        timer: restart of stock
             + shop/stock spawned
             · restarted for the 1st time
        5  shop/stock  held message from shop/clerk arrived: {type: "restock", n: 9}
        6  shop/stock  took {type: "restock", n: 9}
             ✓ shop/clerk may go on: call to shop/stock
        7  shop/clerk  goes on after call to shop/stock
             × shop/clerk exited: normal
      FAILED: no order is refused while there is stock:
        order 7 was refused, 9 are left
      "
    `);
  });

  it("a process that takes no message starts or wakes; a text of that name was sent", () => {
    const shown = (took: string): string =>
      renderTrace({ steps: [{ ...numbered(1), took } as TraceStep], failure: undefined });
    expect(shown("wakes")).toContain("  1  shop/clerk  wakes\n");
    expect(shown('"wakes"')).toContain('  1  shop/clerk  took "wakes"\n');
    expect(shown("wakes up")).toContain("took wakes up\n");
  });

  it("results, choices, lost messages and devices", () => {
    const effects: readonly TraceEffect[] = [
      { type: "settle", process: "shop/clerk", what: "a call", result: "reply 97" },
      { type: "lost", to: "shop/stock", message: "{n: 1}", reason: "its mailbox is full" },
      { type: "choice", label: "drink", value: '"tea"' },
      { type: "device", device: "disk", text: "append 5 bytes to log" },
    ];
    const step: TraceStep = {
      type: "resume",
      number: 1,
      at: 0,
      process: "shop",
      from: "a call",
      result: "reply 97",
      effects,
    };
    expect(
      `\n${renderTrace({ steps: [step, { ...numbered(2), sender: "shop/till" } as TraceStep], failure: undefined })}\n`,
    ).toMatchInlineSnapshot(`
      "
      at 0 ms
        1  shop        goes on after a call: reply 97
             ✓ shop/clerk may go on: a call, reply 97
             ∅ shop/stock: {n: 1} lost, its mailbox is full
             ? drink: "tea"
             ◦ disk: append 5 bytes to log
        2  shop/clerk  took {n: 2} from shop/till
      nothing failed
      "
    `);
  });

  it("without steps or failure it says so", () => {
    expect(renderTrace({ steps: [], failure: undefined })).toBe("nothing failed");
    expect(renderTrace({ steps: [], failure: "no shop" })).toBe("FAILED: no shop");
  });

  it("a failure of several lines keeps them, whole", () => {
    const failure = `expected 1\n  to be ${"2".repeat(200)}`;
    expect(renderTrace({ steps: [], failure })).toBe(`FAILED: ${failure}`);
  });

  it("fractions of milliseconds are shown to three digits", () => {
    const at = 0.1 + 0.2;
    expect(renderTrace({ steps: [{ ...numbered(1), at }], failure: undefined })).toContain("at 0.3 ms\n");
  });
});

describe("lines stay lines of 100 characters", () => {
  const line = (step: Partial<TraceStep>, index = 1): string =>
    renderTrace({ steps: [{ ...numbered(1), ...step } as TraceStep], failure: undefined }).split("\n")[
      index
    ] as string;

  it("cuts long texts", () => {
    const took = "x".repeat(200);
    expect(line({ took } as Partial<TraceStep>)).toHaveLength(100);
    expect(line({ took } as Partial<TraceStep>)).toMatch(/^ {2}1 {2}shop\/clerk {2}took x+…$/);
    const effects: TraceEffect[] = [{ type: "note", text: took }];
    expect(line({ effects }, 2)).toMatch(/^ {7}· x+…$/);
    expect(line({ effects }, 2)).toHaveLength(100);
  });

  it("of a long path the end is shown, and the rest of the line keeps its place", () => {
    const process = `shop/${"deep/".repeat(20)}clerk`;
    expect(line({ process })).toBe(`  1  …${process.slice(-47)}  took {n: 1}`);
    expect(line({ process: process.slice(-48) })).toBe(`  1  ${process.slice(-48)}  took {n: 1}`);
    const effects: TraceEffect[] = [{ type: "send", to: process, message: "1", held: false }];
    expect(line({ effects }, 2)).toBe(`       → …${process.slice(-47)}: 1`);
  });

  it("names of different length stand in a column, unless they are very long", () => {
    const steps = [
      numbered(9),
      { ...numbered(10), process: "till" },
      { ...numbered(11), process: "x".repeat(30) },
    ];
    expect(renderTrace({ steps, failure: undefined })).toBe(
      [
        "at 0 ms",
        `   9  shop/clerk${" ".repeat(20)}took {n: 9}`,
        `  10  till${" ".repeat(26)}took {n: 10}`,
        `  11  ${"x".repeat(30)}  took {n: 11}`,
        "nothing failed",
      ].join("\n"),
    );
  });

  it("the place of the code stands at the end of a line, or below it when there is no room", () => {
    const place = "spec/shop.spec.ts:12:9";
    expect(line({ place })).toBe(`  1  shop/clerk  took {n: 1} (${place})`);
    const took = "x".repeat(100);
    expect(line({ place, took } as Partial<TraceStep>, 2)).toBe(`       (${place})`);
    const far = `${"deep/".repeat(20)}shop.ts:1:1`;
    expect(line({ place: far })).toBe(`  1  shop/clerk  took {n: 1} (…${far.slice(-39)})`);
  });

  it("a name or message cannot break them, or hide", () => {
    expect(line({ process: "a\nb\u001b[2J" })).toBe("  1  a\\nb\\u{1b}[2J  took {n: 1}");
    expect(line({ took: "a\u202eb" } as Partial<TraceStep>)).toContain("took a\\u{202e}b");
    expect(renderTrace({ steps: [], failure: "red\u001b[31m\r\nnext" })).toBe(
      "FAILED: red\\u{1b}[31m\\r\nnext",
    );
  });
});

describe("a long schedule is shown by its ends", () => {
  const long = (count: number, change: (step: TraceStep) => TraceStep = (step) => step): Trace => ({
    steps: Array.from({ length: count }, (_, i) => change(numbered(i + 1))),
    failure: "lost",
  });

  it("80 steps are shown whole", () => {
    expect(renderTrace(long(80)).split("\n")).toHaveLength(82);
    expect(renderTrace(long(80))).not.toContain("left out");
  });

  it("of more, the first 20 and the last 60; the time is shown again", () => {
    const lines = renderTrace(long(1_234)).split("\n");
    expect(lines).toHaveLength(1 + 20 + 1 + 1 + 60 + 1);
    expect(lines.slice(0, 2)).toEqual(["at 0 ms", "     1  shop/clerk  took {n: 1}"]);
    expect(lines.slice(20, 24)).toEqual([
      "    20  shop/clerk  took {n: 20}",
      "… steps 21 to 1174 left out …",
      "at 0 ms",
      "  1175  shop/clerk  took {n: 1175}",
    ]);
    expect(renderTrace(long(81))).toContain("\n… step 21 left out …\n");
  });

  it("faults that are left out are counted", () => {
    const faultAt = (...numbers: number[]): Trace =>
      long(200, (step) =>
        numbers.includes(step.number) ? { ...step, type: "fault", fault: "crash" } : step,
      );
    expect(renderTrace(faultAt(20, 30, 140, 141))).toContain("… steps 21 to 140 left out, with 2 faults …");
    expect(renderTrace(faultAt(21))).toContain("… steps 21 to 140 left out, with 1 fault …");
  });

  it("of many effects of one step the first ten; the others are counted by kind", () => {
    const sends = Array.from(
      { length: 1_000 },
      (): TraceEffect => ({ type: "send", to: "a", message: "1", held: false }),
    );
    const exit: TraceEffect = { type: "exit", process: "a", reason: "normal" };
    const shown = (effects: TraceEffect[]): string[] =>
      renderTrace({ steps: [{ ...numbered(1), effects }], failure: undefined })
        .split("\n")
        .slice(2, -1);
    expect(shown(sends.slice(0, 10))).toHaveLength(10);
    expect(shown([...sends, exit])).toHaveLength(11);
    expect(shown([...sends, exit])[10]).toBe("       … and more: 990 × send, 1 × exit");
  });
});

property.prop([traces])(
  "any schedule: short lines, one for each step, effect and time, and no step that is taken for another thing",
  (trace) => {
    const lines = renderTrace(trace).split("\n");
    const failure = (trace.failure ?? "").split("\n").length;
    const body = lines.slice(0, -failure);
    for (const line of body) expect(line.length).toBeLessThanOrEqual(100);
    for (const line of lines) expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
    const steps = body.filter((line) => /^[ !] +\d+ {2}/.test(line));
    expect(steps.map((line) => Number.parseInt(line.slice(1), 10))).toEqual(
      trace.steps.map(({ number }) => number),
    );
    expect(steps.map((line) => line.startsWith("!"))).toEqual(
      trace.steps.map(({ type }) => type === "fault"),
    );
    const times = trace.steps.filter(({ at }, i) => i === 0 || at !== trace.steps[i - 1]?.at);
    expect(body.filter((line) => line.startsWith("at "))).toEqual(times.map(({ at }) => `at ${at} ms`));
    // Places below their step; an effect begins with a sign.
    const places = body.filter((line) => /^ {7,}\(.*\)$/.test(line));
    expect(places.length).toBeLessThanOrEqual(trace.steps.filter(({ place }) => place !== undefined).length);
    const effects = body.length - steps.length - times.length - places.length;
    expect(effects).toBe(trace.steps.reduce((sum, { effects }) => sum + Math.min(11, effects.length), 0));
  },
);
