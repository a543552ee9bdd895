// Where a journal is cut when a flow is tried again, or forked. Pure.

import { OptionError } from "../../process/errors.js";
import { isError } from "../../process/show.js";
import { type Symptom, symptomOf } from "../hospital/symptom.js";
import type { Decision } from "../journal/entry.js";

/** The facts about an entry without its value. */
export interface EntryHead {
  readonly position: number;
  readonly decision: Decision;
  /** The keys of its asks. */
  readonly asked: readonly string[];
}

const keyOf = (decision: Decision): string | undefined =>
  decision.type === "cancelled" ? undefined : decision.key;

/**
 * The number of the first entry that is forgotten so that a step or wait is done again: the first one about it.
 *
 * @throws OptionError when the flow never asked for it
 */
export function cutBefore(entries: readonly EntryHead[], from: string): number {
  const at = entries.findIndex(({ decision }) => keyOf(decision) === from);
  if (at >= 0) return at;
  // Asked for, and nothing is recorded about it yet: nothing has to be forgotten.
  if (entries.some(({ asked }) => asked.includes(from))) return entries.length;
  const known = [...new Set(entries.flatMap(({ decision }) => keyOf(decision) ?? []))];
  throw new OptionError("from", from, knownSteps(known));
}

/** Most steps that an error names. */
const MAX_NAMED = 20;

export function knownSteps(known: readonly string[]): string {
  if (known.length === 0) return "absent: the journal of the flow is empty";
  const more = known.length > MAX_NAMED ? `, and ${known.length - MAX_NAMED} more` : "";
  return `a step or wait in the journal of the flow: ${known.slice(0, MAX_NAMED).join(", ")}${more}`;
}

/** The number of the entry that decides a step. @throws OptionError when the step is not done */
export function doneAt(entries: readonly EntryHead[], from: string): number {
  const at = entries.findIndex(({ decision }) => decision.type === "done" && decision.key === from);
  if (at >= 0) return at;
  const done = entries.flatMap(({ decision }) => (decision.type === "done" ? [decision.key] : []));
  throw new OptionError("from", from, knownSteps(done));
}

/** An entry that is an error, with the error. */
export interface Failure {
  readonly seq: number;
  readonly error: unknown;
}

/**
 * The number of the entry whose error ended a flow: the last one that is this error, or a cause of it. Undefined: the code failed by
 * itself.
 */
export function cutAtFailure(failures: readonly Failure[], outcome: unknown): number | undefined {
  const causes = causesOf(outcome);
  for (let i = failures.length - 1; i >= 0; i--) {
    const { seq, error } = failures[i] as Failure;
    if (causes.some((cause) => isSame(cause, error))) return seq;
  }
  return undefined;
}

/**
 * The number of the entry whose error brought a flow to the hospital: the last one with this symptom. Undefined: the code failed by itself.
 *
 * @param symptom - what the record of the hospital has of the error, if it can be read
 */
export function cutAtSymptom(
  failures: readonly Failure[],
  symptom: Pick<Symptom, "name" | "message"> | undefined,
): number | undefined {
  return failures.findLast(({ error }) => {
    const { name, message } = symptomOf(error);
    return name === symptom?.name && message === symptom.message;
  })?.seq;
}

/** Most causes that are looked at. */
const MAX_CAUSES = 20;

function causesOf(error: unknown): unknown[] {
  const all: unknown[] = [];
  for (
    let one = error;
    one !== undefined && all.length < MAX_CAUSES;
    one = isError(one) ? one.cause : undefined
  ) {
    all.push(one);
    if (one instanceof AggregateError) all.push(...one.errors.slice(0, MAX_CAUSES));
  }
  return all;
}

function isSame(one: unknown, other: unknown): boolean {
  if (!isError(one) || !isError(other)) return Object.is(one, other);
  return one.name === other.name && one.message === other.message;
}
