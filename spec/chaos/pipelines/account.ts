// Compares what a pipeline under kills has left behind with what its inputs ask for: lineage, counters and outputs.

import { System } from "signalbox";
import { openStore, type Row, type Scan } from "signalbox/store";
import { childId, sourceId } from "../../../lib/pipeline/definition/message-id.js";
import { decodeEntry, type LineageEntry } from "../../../lib/pipeline/ledger/lineage.js";
import {
  deadLetters,
  executions,
  lineage,
  messages,
  PIPELINE_SCHEMA,
} from "../../../lib/pipeline/ledger/tables.js";
import { type StorePlace, storeAt } from "../stores.js";
import { besides, type Strikes } from "../strikes.js";
import { inputOf } from "./inputs.js";
import { ONCE } from "./pipeline.js";
import type { Deed } from "./record.js";

/** Rows that are read at a time. */
const PAGE = 50_000;

/** What is in the store when all has ended. */
export interface Left {
  readonly status: string;
  readonly pending: number;
  readonly done: number;
  readonly dead: number;
  readonly inputs: number;
  readonly lineage: ReadonlyMap<string, LineageEntry>;
  readonly deadLetters: ReadonlySet<string>;
  /** Messages that are still there. */
  readonly live: number;
}

export interface Findings {
  /** Inputs of which something is missing. */
  readonly lost: readonly number[];
  /** Inputs of which something is there twice. */
  readonly duplicated: readonly number[];
  /** Completions that differ: one if all is well. */
  readonly completions: number;
  /** Everything else that is not as it has to be. */
  readonly wrong: readonly string[];
}

export function isClean({ lost, duplicated, completions, wrong }: Findings): boolean {
  return lost.length === 0 && duplicated.length === 0 && completions === 1 && wrong.length === 0;
}

/** Reads what is left. Opens the store by itself: no host may hold a SQLite file meanwhile. */
export async function readLeft(place: StorePlace): Promise<Left> {
  const system = new System({ report: false });
  const store = await openStore(system, storeAt(place), [PIPELINE_SCHEMA]);
  try {
    const [execution, ...others] = await store.scan(executions, {});
    if (execution === undefined || others.length > 0) throw new Error("there is no execution, or several");
    const { number, status, pending, done, dead, inputs } = execution;
    const scope = { prefix: [number], limit: PAGE };
    const lineageById = new Map<string, LineageEntry>();
    for (let page: Row<typeof lineage>[] = [], after: Scan = {}; ; after = { after: page.at(-1)?.id ?? "" }) {
      page = await store.scan(lineage, { ...scope, ...after });
      for (const { id, entry } of page) lineageById.set(id, decodeEntry(id, entry));
      if (page.length < PAGE) break;
    }
    const letters = await store.scan(deadLetters, scope);
    const live = await store.count(messages, { prefix: [number] });
    return {
      ...{ status, pending, done, dead, inputs, live, lineage: lineageById },
      deadLetters: new Set(letters.map(({ id }) => id)),
    };
  } finally {
    await store.close();
    await system.stop();
  }
}

/** What the inputs ask for. */
interface Wanted {
  /** Messages whose ids do not depend on how batches fell, and whether each is a dead letter. */
  readonly messages: ReadonlyMap<string, boolean>;
  /** Members of outputs, as `kind n p`. */
  readonly members: ReadonlySet<string>;
}

/** @param dropped - inputs of which another one with the same key has passed */
function wantedOf(seed: number, inputs: number, dropped: ReadonlySet<number>): Wanted {
  const messages = new Map<string, boolean>();
  const members = new Set<string>();
  for (let n = 0; n < inputs; n++) {
    const input = inputOf(seed, n);
    const id = sourceId(0, n);
    const isDropped = dropped.has(n);
    const isDead = !isDropped && (input === undefined || input.isRefused);
    messages.set(id, isDead);
    if (isDead || isDropped || input === undefined) continue;
    for (const { p, isDead: isPartDead, isAudited } of input.parts) {
      const part = childId(id, p);
      messages.set(part, isPartDead);
      if (isPartDead) continue;
      messages.set(childId(part, 0), false);
      members.add(`batch ${n} ${p}`);
      if (!isAudited) continue;
      messages.set(childId(part, 1), false);
      members.add(`audit ${n} ${p}`);
    }
  }
  return { messages, members };
}

/** Inputs that were dropped since another one with their key had passed. */
function droppedIn(lineage: ReadonlyMap<string, LineageEntry>): Set<number> {
  const dropped = new Set<number>();
  for (const { id, calls } of lineage.values()) {
    const { adapter, status } = calls.at(-1) ?? {};
    if (adapter === ONCE && status === "ended") dropped.add(inputNumber(id));
  }
  return dropped;
}

/** Of the inputs with one key, one has to pass, unless all are refused. Reports those that should have passed, or should not. */
function checkKeys(
  seed: number,
  inputs: number,
  dropped: ReadonlySet<number>,
  report: Record<"lost" | "duplicated", Set<number>>,
): void {
  const passed = new Map<string, number>();
  const last = new Map<string, number>();
  for (let n = 0; n < inputs; n++) {
    const input = inputOf(seed, n);
    if (input === undefined || (input.isRefused && !dropped.has(n))) continue;
    last.set(input.key, n);
    if (dropped.has(n)) continue;
    if (passed.has(input.key)) report.duplicated.add(n);
    passed.set(input.key, n);
  }
  for (const [key, n] of last) if (!passed.has(key)) report.lost.add(n);
}

/** Number of the input from which a message descends. */
function inputNumber(id: string): number {
  const digits = id.split(".")[1] as string;
  return Number.parseInt(digits.slice(1), 36);
}

/** @param record - what the processes did, in its order */
export function findingsOf(seed: number, inputs: number, record: readonly Deed[], left: Left): Findings {
  const dropped = droppedIn(left.lineage);
  const wanted = wantedOf(seed, inputs, dropped);
  const wrong: string[] = [];
  const outputs = outputsOf(record, wrong);
  const lost = new Set<number>();
  const duplicated = new Set<number>();
  checkKeys(seed, inputs, dropped, { lost, duplicated });
  const seen = new Set<string>();
  for (const member of [...outputs.values()].flatMap(membersOf)) {
    if (seen.has(member)) duplicated.add(inputOfMember(member));
    else if (!wanted.members.has(member)) wrong.push(`${member} is in an output`);
    seen.add(member);
  }
  for (const member of wanted.members) if (!seen.has(member)) lost.add(inputOfMember(member));

  const ids = new Map([...wanted.messages, ...[...outputs.keys()].map((id) => [id, false] as const)]);
  for (const [id, isDead] of ids) {
    const entry = left.lineage.get(id);
    if (entry === undefined) lost.add(inputNumber(id));
    else if ((entry.status === "dead") !== isDead) wrong.push(`${id} is ${entry.status}`);
    if (isDead !== left.deadLetters.has(id)) wrong.push(`${id} is ${isDead ? "no" : "a"} dead letter`);
  }
  for (const id of left.lineage.keys()) if (!ids.has(id)) wrong.push(`${id} is in the lineage`);
  wrong.push(...wrongCounts(left, ids, inputs), ...wrongChildren(left.lineage));
  const ends = record.flatMap((deed) =>
    deed.type === "completed" ? [JSON.stringify({ ...deed, host: undefined })] : [],
  );
  return { lost: sorted(lost), duplicated: sorted(duplicated), completions: new Set(ends).size, wrong };
}

type Output = Pick<Extract<Deed, { type: "output" }>, "kind" | "members">;

const membersOf = ({ kind, members }: Output): string[] => members.map(([n, p]) => `${kind} ${n} ${p}`);
const inputOfMember = (member: string): number => Number(member.split(" ")[1]);

/** The outputs by id. What has the same id has to be the same. */
function outputsOf(record: readonly Deed[], wrong: string[]): Map<string, Output> {
  const outputs = new Map<string, Output>();
  const texts = new Map<string, string>();
  for (const deed of record) {
    if (deed.type !== "output") continue;
    const { id, kind, members } = deed;
    const text = JSON.stringify([kind, members]);
    if ((texts.get(id) ?? text) !== text) wrong.push(`${id} is two outputs`);
    texts.set(id, text);
    outputs.set(id, { kind, members });
  }
  return outputs;
}

function wrongCounts(left: Left, ids: ReadonlyMap<string, boolean>, inputs: number): string[] {
  const { status, pending, done, dead, live } = left;
  const is = { status, pending, done, dead, inputs: left.inputs, live };
  const deadOnes = [...ids.values()].filter((isDead) => isDead).length;
  const has = { status: "completed", pending: 0, done: ids.size, dead: deadOnes, inputs, live: 0 };
  return Object.entries(has).flatMap(([name, value]) => {
    const found = is[name as keyof typeof is];
    return found === value ? [] : [`${name} is ${found}, and has to be ${value}`];
  });
}

/** The number of children that a message has had is that of the messages that descend from it. */
function wrongChildren(lineage: ReadonlyMap<string, LineageEntry>): string[] {
  const children = new Map<string, number>();
  for (const id of lineage.keys()) {
    const parent = id.slice(0, id.lastIndexOf("."));
    children.set(parent, (children.get(parent) ?? 0) + 1);
  }
  return [...lineage.values()].flatMap(({ id, children: told }) => {
    const found = children.get(id) ?? 0;
    return found === told ? [] : [`${id} has ${found} children, and its lineage says ${told}`];
  });
}

const sorted = (numbers: ReadonlySet<number>): number[] => [...numbers].sort((a, b) => a - b);

/**
 * The closing line, which programs may read: `5 kills, 50 inputs, 0 lost, 0 duplicated, completed once`. Behind that stands how much else is
 * wrong, and what struck besides kills.
 */
export function lineOf(struck: Strikes, inputs: number, findings: Findings): string {
  const { lost, duplicated, completions, wrong } = findings;
  const end =
    completions === 1 ? "completed once" : completions === 0 ? "not completed" : `${completions} completions`;
  const others = wrong.length === 0 ? "" : `, ${wrong.length} wrong`;
  const found = `${lost.length} lost, ${duplicated.length} duplicated, ${end}${others}`;
  return `${struck.kills} kills, ${inputs} inputs, ${found}${besides(struck)}`;
}
