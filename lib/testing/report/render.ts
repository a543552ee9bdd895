// A schedule as text for a terminal of 100 columns: a line for each step, its effects below, and the failure at the end.

import { cut, printable } from "./brief.js";
import { type Fold, folded, foldText } from "./folding.js";
import type { Trace, TraceEffect, TraceStep } from "./trace.js";

const COLUMNS = 100;
/** Steps shown from the beginning of a long schedule, for context. More are shown from its end, where it fails. */
const FIRST_STEPS = 20;
const LAST_STEPS = 60;
/** What a process may do instead of taking a message. A text that was sent would have quotes. */
const UNSENT = /^(?:starts|wakes|looks at \d+ messages?, none fits)$/;
/** Effects shown for one step. */
const EFFECTS = 10;
/** Process names are padded to this length. Longer names shift their line. */
const NAME = 28;
/** Of even longer names, the end is shown. */
const MOST_NAME = 48;
/** Most characters of a place. */
const MOST_PLACE = 40;
const FAULT = "! ";
const NO_FAULT = "  ";

/**
 * Writes a schedule as text. Each step shows its number, the process, the event, and the place of its code where it is known;
 * `!` in the margin marks a fault. The effects of a step stand below it: `→` a message sent, `⇢` a message held, which arrives
 * in a step of its own, `+` a process spawned, `×` a process exited, `✓` a promise settled, `∅` a message lost, `?` a choice,
 * `◦` an event of a device, `·` a note. Eight or more steps in which a tree of processes starts and nothing else happens are one line. The virtual time stands above the first step at that time. Of more than 80 steps, the first 20 and the last 60 are shown. Lines are cut at 100 characters, except those of the
 * failure at the end.
 *
 * @example
 * console.log(renderTrace({ steps: [], failure: "the shop never opened" })); // FAILED: the shop never opened
 */
export function renderTrace(trace: Trace): string {
  const steps = trace.steps.length === 0 ? [] : [renderSteps(trace.steps)];
  return [...steps, ...ending(trace.failure)].join("\n");
}

/** @internal The steps alone. */
export function renderSteps(steps: readonly TraceStep[]): string {
  const { first, left, last } = excerpt(folded(steps), FIRST_STEPS, LAST_STEPS);
  const shown = [...first, ...last].filter((fold) => fold.length === 1).flat();
  const format = {
    digits: Math.max(0, ...shown.map(({ number }) => String(number).length)),
    name: Math.min(NAME, Math.max(0, ...shown.map(({ process }) => called(process).length))),
  };
  const lines = section(first, format);
  if (left.length > 0) lines.push(`… ${summary(left.flat())} …`, ...section(last, format));
  return lines.map((line) => cut(line, COLUMNS)).join("\n");
}

/** @internal The steps at both ends. `left` holds the steps between, if there are more than the ends show. */
export function excerpt<Step>(
  steps: readonly Step[],
  first: number,
  last: number,
): { readonly first: readonly Step[]; readonly left: readonly Step[]; readonly last: readonly Step[] } {
  if (steps.length <= first + last) return { first: steps, left: [], last: [] };
  const end = steps.length - last;
  return { first: steps.slice(0, first), left: steps.slice(first, end), last: steps.slice(end) };
}

/** @internal The omitted steps in a few words. */
export function summary(left: readonly TraceStep[]): string {
  const faults = left.filter(isFault).length;
  const which =
    left.length === 1 ? `step ${left[0]?.number}` : `steps ${left[0]?.number} to ${left.at(-1)?.number}`;
  return `${which} left out${faults === 0 ? "" : `, with ${faults} ${faults === 1 ? "fault" : "faults"}`}`;
}

/** @internal The event of a step, from the view of its process. */
export function happening(step: TraceStep): string {
  switch (step.type) {
    case "run":
      if (UNSENT.test(step.took)) return step.took;
      return `took ${step.took}${step.sender === undefined ? "" : ` from ${step.sender}`}`;
    case "resume":
      return `goes on after ${step.from}${given(step.result)}`;
    case "deliver":
      return `held message from ${step.from} arrived: ${step.message}`;
    case "effect":
      return effectOf(step);
    case "timer":
      return `timer: ${step.what}`;
    case "fault":
      return `FAULT: ${step.fault}`;
    default:
      return step satisfies never;
  }
}

/** A request to the outside world. */
function effectOf({ from, request, outcome }: TraceStep & { readonly type: "effect" }): string {
  switch (outcome) {
    case "done":
      return `does ${request} for ${from}`;
    case "refused":
      return `FAULT: fails before it does ${request} for ${from}`;
    case "answer lost":
      return `FAULT: does ${request} for ${from}, but the answer is lost`;
    case "cut off":
      return `never gets ${request}: ${from} has given up`;
    default:
      return outcome satisfies never;
  }
}

/** @internal Whether the simulator injected a fault. */
export function isFault(step: TraceStep): boolean {
  return (
    step.type === "fault" ||
    (step.type === "effect" && (step.outcome === "refused" || step.outcome === "answer lost"))
  );
}

/** @internal The awaited event and its result. */
export function settled(effect: TraceEffect & { readonly type: "settle" }): string {
  return `${effect.what}${effect.result === undefined ? "" : `, ${effect.result}`}`;
}

/** The value of an awaited promise, after its description. */
function given(result: string | undefined): string {
  return result === undefined ? "" : `: ${result}`;
}

/** @internal Virtual time for people, in milliseconds. */
export function time(at: number): string {
  return `${Math.round(at * 1_000) / 1_000} ms`;
}

/** @internal The effects of a step that are shown, and a summary of the others. */
export function effectsOf(step: TraceStep): {
  readonly shown: readonly TraceEffect[];
  readonly more: string | undefined;
} {
  if (step.effects.length <= EFFECTS) return { shown: step.effects, more: undefined };
  const counts = new Map<TraceEffect["type"], number>();
  for (const { type } of step.effects.slice(EFFECTS)) counts.set(type, (counts.get(type) ?? 0) + 1);
  const more = [...counts].map(([type, count]) => `${count} × ${type}`).join(", ");
  return { shown: step.effects.slice(0, EFFECTS), more: `and more: ${more}` };
}

interface Format {
  /** Width of the step numbers. */
  readonly digits: number;
  /** Width of the process names. */
  readonly name: number;
}

/** The text of consecutive steps. */
function section(folds: readonly Fold[], { digits, name }: Format): string[] {
  const lines: string[] = [];
  const indent = " ".repeat(NO_FAULT.length + digits + 4);
  let now: number | undefined;
  for (const fold of folds) {
    const [step] = fold as [TraceStep];
    if (step.at !== now) lines.push(`at ${time(step.at)}`);
    now = step.at;
    if (fold.length > 1) {
      lines.push(foldText(fold));
      continue;
    }
    const margin = isFault(step) ? FAULT : NO_FAULT;
    const number = String(step.number).padStart(digits);
    const line = `${margin}${number}  ${called(step.process).padEnd(name)}  ${printable(happening(step))}`;
    lines.push(...(step.place === undefined ? [line] : placed(line, step.place, indent)));
    const { shown, more } = effectsOf(step);
    for (const effect of shown) lines.push(indent + effectText(effect));
    if (more !== undefined) lines.push(`${indent}… ${more}`);
  }
  return lines;
}

/** A step with the place of its code: on the same line if there is room. Of a long place the end is shown. */
function placed(line: string, place: string, indent: string): string[] {
  const text = printable(place);
  const shown = text.length <= MOST_PLACE ? text : `…${printable(text.slice(1 - MOST_PLACE))}`;
  const whole = `${line} (${shown})`;
  return whole.length <= COLUMNS ? [whole] : [line, `${indent}(${shown})`];
}

/** @internal An effect as one line. */
export function effectText(effect: TraceEffect): string {
  switch (effect.type) {
    case "send":
      return effect.held
        ? `⇢ ${called(effect.to)} (held): ${printable(effect.message)}`
        : `→ ${called(effect.to)}: ${printable(effect.message)}`;
    case "spawn":
      return `+ ${called(effect.process)} spawned`;
    case "exit":
      return `× ${called(effect.process)} exited: ${printable(effect.reason)}`;
    case "settle":
      return `✓ ${called(effect.process)} may go on: ${printable(settled(effect))}`;
    case "lost":
      return `∅ ${called(effect.to)}: ${printable(effect.message)} lost, ${printable(effect.reason)}`;
    case "choice":
      return `? ${printable(effect.label)}: ${printable(effect.value)}`;
    case "device":
      return `◦ ${printable(effect.device)}: ${printable(effect.text)}`;
    case "note":
      return `· ${printable(effect.text)}`;
    default:
      return effect satisfies never;
  }
}

/** @internal The path of a process, or the end of a long path: the end says more than the beginning. */
export function called(name: string): string {
  const text = printable(name);
  return text.length <= MOST_NAME ? text : `…${printable(text.slice(1 - MOST_NAME))}`;
}

function ending(failure: string | undefined): string[] {
  return failure === undefined ? ["nothing failed"] : `FAILED: ${failure}`.split("\n").map(printable);
}
