// A schedule as a Mermaid sequence diagram: what is drawn, and that whatever is in it, Mermaid can read it.

import { fc, test as property } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { traceToMermaid } from "../../../lib/testing/report/mermaid.js";
import type { Trace, TraceEffect, TraceStep } from "../../../lib/testing/report/trace.js";

const took = (number: number, process: string, effects: readonly TraceEffect[] = []): TraceStep => ({
  type: "run",
  number,
  at: 0,
  process,
  took: `{n: ${number}}`,
  effects,
});

const trace: Trace = {
  steps: [
    took(1, "shop", [
      { type: "spawn", process: "shop/till" },
      { type: "note", text: "open" },
    ]),
    took(2, "shop/clerk", [
      { type: "send", to: "shop/till", message: '{type: "pay", n: 7}', held: true },
      { type: "send", to: "shop/till", message: '{type: "close"}', held: false },
    ]),
    {
      ...{ type: "fault", number: 3, at: 0, process: "shop/till", fault: "crash" },
      effects: [{ type: "exit", process: "shop/till", reason: "crash, InjectedFault: crash" }],
    },
    { type: "timer", number: 4, at: 250, process: "shop", what: "restart of till", effects: [] },
    {
      type: "deliver",
      number: 5,
      at: 250,
      process: "shop/till",
      from: "shop/clerk",
      message: "{n: 7}",
      effects: [],
    },
    {
      ...took(6, "shop/till", [{ type: "settle", process: "shop/clerk", what: "call to shop/till" }]),
      at: 250,
    },
    { type: "resume", number: 7, at: 250, process: "shop/clerk", from: "call to shop/till", effects: [] },
  ],
  failure: "the till is wrong:\n\n  expected 7; got 0",
};

// ── Mermaid's grammar, as far as it is used here ────────────────────────────────────────────────────────────────────

const ENTITY = /#(\d+);/g;
/** What may stand for a label: no end of statement, comment, directive, formula, markup or word of the grammar. */
const LABEL = String.raw`(?:[^#;%$<>&"\p{Cc}\p{Zl}\p{Zp}]|#\d+;|<br\/>)+`;
const FORMS: readonly RegExp[] = [
  `participant (p\\d+) as (${LABEL})`,
  `Note over (p\\d+): (${LABEL})`,
  `Note over (p\\d+),(p\\d+): (${LABEL})`,
  `(p\\d+)(?:->>|-\\)|-->>|-x)(p\\d+): (${LABEL})`,
].map((form) => new RegExp(`^ {2}${form}$`, "u"));
const WORDS = /\bend\b|^(?:no)?wrap:|style|classDef/i;

/** The labels of a diagram, decoded. Throws when it is none. */
function labelsOf(diagram: string): string[] {
  const [first, ...lines] = diagram.split("\n");
  expect(first).toBe("sequenceDiagram");
  expect(lines.pop()).toBe("");
  const declared = new Set<string>();
  return lines.map((line) => {
    const form = FORMS.find((one) => one.test(line));
    if (form === undefined) throw new Error(`no form of Mermaid's: ${line}`);
    const parts = (form.exec(line) as string[]).slice(1);
    const label = parts.pop() as string;
    if (form === FORMS[0]) {
      expect(declared.has(parts[0] as string), line).toBe(false);
      declared.add(parts[0] as string);
    }
    for (const participant of parts) expect(declared.has(participant), line).toBe(true);
    expect(label.trim()).not.toBe("");
    expect(label).not.toMatch(WORDS);
    return label.replace(ENTITY, (_, code: string) => String.fromCharCode(Number(code)));
  });
}

// ── drawn ───────────────────────────────────────────────────────────────────────────────────────────────────────────

describe("effects of one step", () => {
  it("are arrows from who sent to who gets, and notes", () => {
    const effects: readonly TraceEffect[] = [
      { type: "send", from: "shop/clerk", to: "shop/till", message: "1", held: false },
      { type: "lost", to: "shop/till", message: "2", reason: "its mailbox is full" },
      { type: "settle", process: "shop/clerk", what: "a call", result: "reply 3" },
      { type: "choice", label: "drink", value: '"tea"' },
      { type: "device", device: "disk", text: "sync of log done" },
    ];
    const diagram = traceToMermaid({ steps: [took(1, "shop", effects)], failure: undefined });
    expect(diagram.split("\n").slice(-7)).toEqual([
      "  Note over p1: 1 took {n: 1}",
      "  p2->>p3: 1",
      "  p1-xp3: 2 lost: its mailbox is full",
      "  Note over p2: ✓ may go on: a call, reply 3",
      "  Note over p1: drink: #34;tea#34;",
      "  Note over p1: disk: sync of log done",
      "",
    ]);
  });
});

describe("a schedule is drawn", () => {
  it("with its processes, messages, faults, exits and the failure", () => {
    expect(`\n${traceToMermaid(trace)}`).toMatchInlineSnapshot(`
      "
      sequenceDiagram
        participant p1 as shop
        participant p2 as shop/till
        participant p3 as shop/clerk
        Note over p1,p3: at 0 ms
        Note over p1: 1 took {n: 1}
        p1-->>p2: spawned
        Note over p1: open
        Note over p3: 2 took {n: 2}
        p3-)p2: {type: #34;pay#34;, n: 7}
        p3->>p2: {type: #34;close#34;}
        Note over p2: ⚡ 3 FAULT: crash
        Note over p2: × exited: crash, InjectedFault: crash
        Note over p1,p3: at 250 ms
        Note over p1: 4 timer: restart of till
        p3-->>p2: 5 arrived: {n: 7}
        Note over p2: 6 took {n: 6}
        Note over p3: ✓ may go on: call to shop/till
        Note over p3: 7 goes on after call to shop/till
        Note over p1,p3: FAILED: the till is wrong:<br/>  expected 7#59; got 0
      "
    `);
    labelsOf(traceToMermaid(trace));
  });

  it("when it is empty", () => {
    expect(traceToMermaid({ steps: [], failure: undefined })).toBe("sequenceDiagram\n");
  });

  it("when it failed without a step", () => {
    expect(traceToMermaid({ steps: [], failure: "no shop" }).split("\n")).toEqual([
      "sequenceDiagram",
      "  participant p1 as no process",
      "  Note over p1: FAILED: no shop",
      "",
    ]);
  });

  it("to a failure of many lines, its first ones", () => {
    const failure = Array.from({ length: 9 }, (_, i) => `line ${i + 1}`).join("\n");
    const [label] = labelsOf(traceToMermaid({ steps: [], failure })).slice(-1);
    expect(label?.split("<br/>")).toEqual([
      "FAILED: line 1",
      "line 2",
      "line 3",
      "line 4",
      "line 5",
      "line 6",
      "…",
    ]);
  });

  it("with short labels", () => {
    const step: TraceStep = {
      ...took(1, `shop/${"deep/".repeat(20)}clerk`),
      took: "x".repeat(100),
    } as TraceStep;
    const [name, , note] = labelsOf(traceToMermaid({ steps: [step], failure: undefined }));
    expect(name).toBe(`…${step.process.slice(-47)}`);
    expect(note).toBe(`1 took ${"x".repeat(52)}…`);
  });

  it("with the ten first effects of a step", () => {
    const effects = Array.from({ length: 12 }, (_, i): TraceEffect => ({ type: "note", text: `note ${i}` }));
    const labels = labelsOf(traceToMermaid({ steps: [took(1, "shop", effects)], failure: undefined }));
    expect(labels.slice(2)).toEqual([
      "1 took {n: 1}",
      ...effects.slice(0, 10).map((_, i) => `note ${i}`),
      "… and more: 2 × note",
    ]);
  });
});

describe("long schedules", () => {
  const long = (count: number, effects: readonly TraceEffect[] = []): Trace => ({
    steps: Array.from({ length: count }, (_, i) => took(i + 1, `shop/${i % 7}`, effects)),
    failure: "lost",
  });

  it("are drawn by their ends", () => {
    const labels = labelsOf(traceToMermaid(long(200)));
    expect(labels.filter((label) => label.includes(" took "))).toHaveLength(80);
    expect(labels).toContain("… steps 21 to 140 left out …");
    expect(labels.at(-1)).toBe("FAILED: lost");
  });

  it("are drawn as far as Mermaid takes them: 50,000 characters", () => {
    const sends = (count: number): TraceEffect[] =>
      Array.from({ length: count }, (_, i) => {
        return { type: "send", to: `shop/${i}`, message: ";".repeat(100), held: false };
      });
    for (const [count, left] of [
      [3, "… steps 11 to 170 left out …"],
      [6, "… steps 6 to 185 left out …"],
      [9, "… steps 3 to 193 left out …"],
    ] as const) {
      const diagram = traceToMermaid(long(200, sends(count)));
      expect(diagram.length).toBeLessThan(50_000);
      expect(diagram.length).toBeGreaterThan(15_000);
      const labels = labelsOf(diagram);
      expect(labels).toContain(left);
      expect(labels).toContain("200 took {n: 200}");
    }
  });
});

// ── safe ────────────────────────────────────────────────────────────────────────────────────────────────────────────

describe("writes characters that Mermaid cannot take as entities", () => {
  const drawn = (text: string): string => {
    const lines = traceToMermaid({
      steps: [took(1, "shop", [{ type: "note", text }])],
      failure: undefined,
    }).split("\n");
    return lines.at(-2)?.slice("  Note over p1: ".length) ?? "";
  };

  it.each([
    ["a;b", "a#59;b"],
    ["#59;", "#35;59#59;"],
    ["%%{init: {}}%%", "#37;#37;{init: {}}#37;#37;"],
    ["$$x$$", "#36;#36;x#36;#36;"],
    ["<br/> & <b>", "#60;br/#62; #38; #60;b#62;"],
    ['say "hi"', "say #34;hi#34;"],
    ["the end", "the #101;nd"],
    ["END of it", "#69;ND of it"],
    ["sender, bend, ended", "sender, bend, ended"],
    ["wrap: a, nowrap: b, wrap", "#119;rap: a, #110;owrap: b, wrap"],
    ["lifestyle :#b;", "life#115;tyle :#35;b#59;"],
    ["classDef x:#b;", "#99;lassDef x:#35;b#59;"],
    ["two\nlines", "two\\nlines"],
    ["\r\u2028", "\\r\\u{2028}"],
    ["", "(blank)"],
    [" ", "(blank)"],
    ["{take: 1} -> ok, a->>b: c", "{take: 1} -#62; ok, a-#62;#62;b: c"],
  ])("%j", (text, written) => {
    expect(drawn(text)).toBe(written);
  });

  it("processes are known by aliases, so that their names may be anything", () => {
    const names = ["end", "a b", "a->>b", "p2", "participant x", ""];
    const labels = labelsOf(
      traceToMermaid({ steps: names.map((name, i) => took(i + 1, name)), failure: undefined }),
    );
    expect(labels.slice(0, names.length)).toEqual([...names.slice(0, -1), "(blank)"]);
  });
});

const nasty = fc.constantFrom(
  ...[
    "end",
    "END;",
    "#",
    "#59;",
    "%%{init: {}}%%",
    "%% comment",
    "$$x^2$$",
    "<b>bold</b>",
    "<br/>",
    "&lt;",
    '"hi"',
  ],
  ...[
    "two\nlines",
    "tab\t",
    "carriage\rreturn",
    "\u2028",
    "\u0085",
    "wrap: x",
    "nowrap: x",
    "style a: #b;",
    "---",
  ],
  ...[
    "lifestyle: #b;",
    "classDef x: #fff;",
    ": colon",
    "a->>b: c",
    "-)",
    "-x",
    "+",
    "",
    " ",
    "participant p1",
  ],
  ...[
    "`code`",
    "\\n",
    "x".repeat(300),
    "日本 😀",
    "\ud800",
    "p1",
    "shop/clerk",
    "shop/till",
    "accTitle: x",
    "title x",
  ],
);
const texts = fc.oneof(
  nasty,
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.array(nasty, { maxLength: 3 }).map((parts) => parts.join(" ")),
);
const effects = fc.record({
  type: fc.constantFrom("send", "spawn", "exit", "settle", "lost", "choice", "device", "note"),
  ...{
    process: texts,
    to: texts,
    message: texts,
    held: fc.boolean(),
    reason: texts,
    what: texts,
    text: texts,
  },
  ...{ label: texts, value: texts, device: texts, result: texts, sender: texts },
  from: fc.option(texts, { nil: undefined }),
}) as fc.Arbitrary<TraceEffect>;
const steps = fc.record({
  type: fc.constantFrom("run", "resume", "deliver", "effect", "timer", "fault"),
  ...{ request: texts, outcome: fc.constantFrom("done", "refused", "answer lost", "cut off") },
  ...{ sender: texts, result: texts, place: texts },
  ...{ process: texts, took: texts, from: texts, message: texts, what: texts, fault: texts },
  ...{ effects: fc.array(effects, { maxLength: 12 }), at: fc.nat(2), number: fc.nat() },
}) as unknown as fc.Arbitrary<TraceStep>;
const traces: fc.Arbitrary<Trace> = fc.record({
  steps: fc.array(steps, { maxLength: 100 }),
  failure: fc.option(texts, { nil: undefined }),
});

property.prop([traces])("any schedule is a diagram that Mermaid reads and takes", (trace) => {
  const diagram = traceToMermaid(trace);
  labelsOf(diagram);
  expect(diagram.length).toBeLessThan(50_000);
  expect(diagram).not.toMatch(/\p{Cs}/u);
});
