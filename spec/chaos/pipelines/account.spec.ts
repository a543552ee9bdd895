// The account of a kill test: whatever a pipeline could do wrong is found.

import { describe, expect, it } from "vitest";
import { childId, sourceId } from "../../../lib/pipeline/definition/message-id.js";
import type { CallRecord, LineageEntry } from "../../../lib/pipeline/ledger/lineage.js";
import { findingsOf, isClean, type Left, lineOf } from "./account.js";
import { type Input, inputOf } from "./inputs.js";
import { ONCE } from "./pipeline.js";
import type { Deed } from "./record.js";

const SEED = 7;
const INPUTS = 40;

const DROPPED: CallRecord = { adapter: ONCE, status: "ended", startedMs: 0, tookMs: 0, gave: 0 };

type Entries = Map<string, LineageEntry>;

/** What a pipeline leaves behind that does everything right, with one member in each output. */
function perfect(): { record: Deed[]; left: Left & { lineage: Entries; deadLetters: Set<string> } } {
  const lineage: Entries = new Map();
  const deadLetters = new Set<string>();
  const record: Deed[] = [];
  const settled = (id: string, children: number, isDead = false, calls: CallRecord[] = []): void => {
    const status = isDead ? "dead" : "completed";
    lineage.set(id, { id, route: "r", status, attempt: 1, calls, children });
    if (isDead) deadLetters.add(id);
  };
  const inputs = Array.from({ length: INPUTS }, (_, n) => inputOf(SEED, n));
  const passed = new Set<string>();
  for (const [n, input] of inputs.entries()) {
    if (input !== undefined && passed.has(input.key)) {
      settled(sourceId(0, n), 0, false, [DROPPED]);
      continue;
    }
    if (input?.isRefused === false) passed.add(input.key);
    const isDead = input === undefined || input.isRefused;
    settled(sourceId(0, n), isDead ? 0 : input.parts.length, isDead);
    for (const { p, isDead: isPartDead, isAudited } of isDead ? [] : (input as Input).parts) {
      const part = childId(sourceId(0, n), p);
      const kinds = isPartDead ? [] : isAudited ? (["batch", "audit"] as const) : (["batch"] as const);
      settled(part, kinds.length, isPartDead);
      for (const [i, kind] of kinds.entries()) {
        const output = childId(childId(part, i), 0);
        settled(childId(part, i), 1);
        settled(output, 0);
        record.push({ type: "output", id: output, kind, members: [[n, p]] });
      }
    }
  }
  const counts = { inputs: INPUTS, done: lineage.size, dead: deadLetters.size };
  record.push({ type: "completed", host: "host-0", ended: 1, ...counts });
  return { record, left: { status: "completed", pending: 0, live: 0, ...counts, lineage, deadLetters } };
}

const of = ({ record, left }: { record: readonly Deed[]; left: Left }) =>
  findingsOf(SEED, INPUTS, record, left);

const kills = (count: number) => ({ kills: count, stops: 0, restarts: 0 });

describe("the account of a kill test", () => {
  it("finds nothing where nothing is wrong, also if outputs are there again", () => {
    const { record, left } = perfect();
    const findings = of({ record: [...record, ...record], left });
    expect(isClean(findings)).toBe(true);
    expect(lineOf(kills(3), INPUTS, findings)).toBe(
      "3 kills, 40 inputs, 0 lost, 0 duplicated, completed once",
    );
  });

  it("finds an output that is missing", () => {
    const made = perfect();
    const [first] = made.record as [Extract<Deed, { type: "output" }>];
    expect(of({ ...made, record: made.record.slice(1) }).lost).toEqual([first.members[0]?.[0]]);
  });

  it("finds a member of two outputs", () => {
    const made = perfect();
    const [first] = made.record as [Extract<Deed, { type: "output" }>];
    const again = { ...first, id: `${first.id}x` };
    const findings = of({ ...made, record: [...made.record, again] });
    expect(findings.duplicated).toEqual([first.members[0]?.[0]]);
    expect(lineOf(kills(1), INPUTS, findings)).toContain("1 duplicated, completed once, ");
  });

  it("finds an id with two outputs", () => {
    const made = perfect();
    const [first] = made.record as [Extract<Deed, { type: "output" }>];
    const other: Deed = { ...first, members: [] };
    expect(of({ ...made, record: [other, ...made.record] }).wrong).toContain(`${first.id} is two outputs`);
  });

  it("finds an entry of the lineage that is missing, too much, or tells something else", () => {
    const some = sourceId(0, 3);
    const { lineage } = perfect().left;
    const without = new Map(lineage);
    without.delete(some);
    const { record, left } = perfect();
    expect(of({ record, left: { ...left, lineage: without } }).lost).toEqual([3]);
    const entry = lineage.get(some) as LineageEntry;
    const more = new Map(lineage).set("15.15", { ...entry, id: "15.15" });
    expect(of({ record, left: { ...left, lineage: more } }).wrong).toContain("15.15 is in the lineage");
    const children = new Map(lineage).set(some, { ...entry, children: 9 });
    expect(of({ record, left: { ...left, lineage: children } }).wrong).toEqual([
      expect.stringMatching(/children, and its lineage says 9$/),
    ]);
    const other = new Map(lineage).set(some, { ...entry, status: "dead" });
    expect(of({ record, left: { ...left, lineage: other } }).wrong).toEqual([`${some} is dead`]);
  });

  it("finds inputs with one key of which two have passed, or none", () => {
    const { record, left } = perfect();
    const [twin] = [...left.lineage.values()].filter(({ calls }) => calls.length > 0) as [LineageEntry];
    const other = inputOf(SEED, Number.parseInt(twin.id.split(".")[1]?.slice(1) as string, 36))?.key;
    const both = new Map(left.lineage).set(twin.id, { ...twin, calls: [] });
    const found = of({ record, left: { ...left, lineage: both } });
    expect(found.duplicated).toHaveLength(1);
    const first = left.lineage.get(sourceId(0, Number(other))) as LineageEntry;
    const none = new Map(left.lineage).set(first.id, { ...first, calls: [DROPPED] });
    expect(of({ record, left: { ...left, lineage: none } }).lost).toHaveLength(1);
  });

  it("finds dead letters and counts that are wrong, and messages that are left", () => {
    const { record, left } = perfect();
    const [letter] = [...left.deadLetters] as [string];
    expect(of({ record, left: { ...left, deadLetters: new Set() } }).wrong).toContain(
      `${letter} is no dead letter`,
    );
    const wrong = { status: "running", pending: 1, done: 1, dead: 0, inputs: 39, live: 2 };
    expect(of({ record, left: { ...left, ...wrong } }).wrong).toHaveLength(6);
  });

  it("finds no completion, and two", () => {
    const { record, left } = perfect();
    const end = record.at(-1) as Extract<Deed, { type: "completed" }>;
    const outputs = record.slice(0, -1);
    expect(lineOf(kills(1), INPUTS, of({ record: outputs, left }))).toMatch(/, not completed$/);
    expect(of({ record: [...record, { ...end, host: "host-1" }], left }).completions).toBe(1);
    const twice = of({ record: [...record, { ...end, ended: 2 }], left });
    expect(lineOf(kills(1), INPUTS, twice)).toMatch(/, 2 completions$/);
    expect(isClean(twice)).toBe(false);
  });
});
