// Explains why no order exists: the operations as a picture, how far an order gets, and the operations that do not fit there.

import { brief } from "../report/brief.js";
import type { AnsweredOperation, Operation } from "./history.js";
import type { Rules } from "./model.js";
import { answeredBy, type Misfit } from "./search.js";

/** Most rows of the picture, numbers of an order, and answers to list; the rest is counted. */
const ROWS = 20;
const NUMBERS = 20;
const ANSWERS = 5;

interface Refuted<State, Op, Result> {
  readonly operations: readonly Operation<Op, Result>[];
  /** The operation with the impossible answer; nothing after that answer matters. */
  readonly broken: AnsweredOperation<Op, Result>;
  readonly found: Misfit<State, Op, Result>;
  readonly rules: Rules<State, Op, Result>;
  readonly partition: string | undefined;
}

/** The message for a history that is not linearizable. */
export function explain<State, Op, Result>(refuted: Refuted<State, Op, Result>): string {
  const { operations, broken, found, rules, partition } = refuted;
  const part = partition === undefined ? "" : ` of ${JSON.stringify(partition)}`;
  const begun = operations.filter(({ begin }) => begin < broken.end);
  const shown = mostTelling(begun, [broken, ...found.next, ...found.order.toReversed()]);
  const leftOut = begun.length - shown.length;
  const idle = begun.filter((one) => !answeredBy(one, broken.end) && !found.order.includes(one));
  return [
    `The history${part} is not linearizable: no order explains the answer to #${broken.number}.`,
    "Up to that answer no contradiction was found.",
    "",
    ...picture(shown, broken),
    ...(leftOut === 0 ? [] : [`    and ${leftOut} more`]),
    "",
    found.order.length === 0
      ? `Nothing can come first, in the state ${brief(found.stand.state)}.`
      : `A longest order that fits: ${numbers(found.order)}. It leads to the state ${brief(found.stand.state)}.`,
    found.next.length === 1 ? "Next would have to come:" : "Next would have to come one of:",
    ...found.next.slice(0, ROWS).map((one) => `    ${misfit(one, found, rules)}`),
    ...(found.next.length > ROWS ? [`    and ${found.next.length - ROWS} more`] : []),
    ...(idle.length === 0 ? [] : [`It does not help to place what had no answer: ${numbers(idle)}.`]),
  ].join("\n");
}

/** As many operations as the picture shows, the important ones first, in the order of their begins. */
function mostTelling<Op, Result>(
  begun: readonly Operation<Op, Result>[],
  first: readonly Operation<Op, Result>[],
): Operation<Op, Result>[] {
  return [...new Set([...first, ...begun])].slice(0, ROWS).sort((a, b) => a.number - b.number);
}

/** One row for each operation, one column for each event shown. */
function picture<Op, Result>(
  shown: readonly Operation<Op, Result>[],
  broken: AnsweredOperation<Op, Result>,
): string[] {
  const ends = shown.filter((one) => answeredBy(one, broken.end)).map(({ end }) => end);
  const events = [...shown.map(({ begin }) => begin), ...ends].sort((a, b) => a - b);
  const numberWidth = Math.max(...shown.map(({ number }) => `#${number}`.length));
  const clientWidth = Math.max(...shown.map(({ client }) => client.length));
  return shown.map((one) => {
    const answered = answeredBy(one, broken.end);
    const from = events.indexOf(one.begin);
    const to = answered ? events.indexOf(one.end) : events.length;
    const line = `${" ".repeat(from)}|${"-".repeat(to - from - 1)}${answered ? "|" : ">"}`;
    return [
      one === broken ? "  >" : "   ",
      `#${one.number}`.padEnd(numberWidth),
      one.client.padEnd(clientWidth),
      line.padEnd(events.length + 1),
      brief(one.op),
      answerOf(one, broken.end),
    ].join(" ");
  });
}

function answerOf<Op, Result>(one: Operation<Op, Result>, until: number): string {
  if (one.outcome === "unknown") return "(no answer)";
  return one.end <= until ? `→ ${brief(one.result)}` : "(answered later)";
}

function misfit<State, Op, Result>(
  operation: AnsweredOperation<Op, Result>,
  { stand }: Misfit<State, Op, Result>,
  rules: Rules<State, Op, Result>,
): string {
  const what = `#${operation.number} ${brief(operation.op)}`;
  const answers = [...new Set(rules.outcomes(stand, operation.op).map(([, result]) => brief(result)))];
  if (answers.length === 0) return `${what}: the model does not allow it there`;
  const more = answers.length > ANSWERS ? `, or ${answers.length - ANSWERS} other answers` : "";
  return `${what}: the answer was ${brief(operation.result)}, the model's is ${answers.slice(0, ANSWERS).join(" or ")}${more}`;
}

function numbers(operations: readonly Operation<unknown, unknown>[]): string {
  const texts = operations.slice(-NUMBERS).map(({ number }) => `#${number}`);
  return `${operations.length > NUMBERS ? "…, " : ""}${texts.join(", ")}`;
}
