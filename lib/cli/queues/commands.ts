// The commands of `signalbox queues`.

import type { DeedOptions, DeedResult, LetterFilter } from "../../pipeline/messages/dead-options.js";
import type { QueueOperations, QueueSummary } from "../../pipeline/queues/operations.js";
import { oneLine } from "../../process/printable.js";
import { EXIT } from "../shell/exit.js";
import {
  actOnLetters,
  CHOICE,
  DEED,
  editLetter,
  letterText,
  printItems,
  recordText,
} from "../shell/letters.js";
import { defined } from "../shell/list.js";
import { count, valueText } from "../shell/style.js";
import { renderTable } from "../shell/table.js";
import { numberGiven } from "../shell/values.js";
import { type CommandContext, defineCommand, type QueuesCommand } from "./context.js";

const LIMIT = { value: "COUNT", help: "most of them. Default: all" } as const;
const RANGE = { after: { value: "NAME", help: "only queues behind this name" }, limit: LIMIT } as const;

const mostOf = (limit: string | undefined): { readonly limit?: number } =>
  defined({ limit: limit === undefined ? undefined : numberGiven("limit", limit, 1) });

const list = defineCommand({
  words: [],
  summary: "lists the queues, and how many messages each has",
  options: RANGE,
  run: async ({ options: { after, limit } }, context) => {
    const queues: QueueSummary[] = [];
    const range = defined({ ...mostOf(limit), after });
    for await (const one of context.operations.list(range)) queues.push(one);
    context.show({ queues }, () => (queues.length === 0 ? "no queues" : queuesText(queues, context)));
    return EXIT.fine;
  },
});

function queuesText(queues: readonly QueueSummary[], { host, style }: CommandContext): string {
  const number = (n: number): string => (n === 0 ? "" : count(n));
  return renderTable<QueueSummary>(
    [
      { title: "QUEUE", cell: ({ name }) => name, shrinks: true },
      { title: "READY", cell: ({ ready }) => count(ready), align: "right" },
      { title: "IN FLIGHT", cell: ({ inFlight }) => number(inFlight), align: "right" },
      { title: "DELAYED", cell: ({ delayed }) => number(delayed), align: "right" },
      { title: "DEAD", cell: ({ dead }) => number(dead), align: "right", paint: style.bad },
    ],
    queues,
    host.columns,
  );
}

const heartbeats = defineCommand({
  words: ["QUEUE"],
  summary: "lists the last heartbeats of messages in flight, the oldest message first",
  options: { limit: { value: "COUNT", help: "most messages. Default 1,000" } },
  run: async ({ words: [queue], options: { limit } }, context) => {
    const found = await context.operations.heartbeats(queue as string, mostOf(limit));
    const { host, style } = context;
    context.show({ heartbeats: found }, () =>
      found
        .map(({ id, at, progress }) => `${oneLine(id)}  ${style.dim(host.iso(at))}  ${valueText(progress)}`)
        .join("\n"),
    );
    return EXIT.fine;
  },
});

const dead = defineCommand({
  words: ["QUEUE"],
  summary: "lists the dead letters of a queue, with their values and errors",
  options: {
    limit: LIMIT,
    records: {
      help: "lists the letters that are no longer dead: put back or dropped, by whom, when and why",
    },
  },
  run: async ({ words: [queue], options: { limit, records } }, context) => {
    const { operations } = context;
    if (records) {
      const found = operations.deadRecords(queue as string, mostOf(limit));
      return printItems("records", found, context, (record) => recordText(record, context));
    }
    const letters = operations.deadLetters(queue as string, mostOf(limit));
    return printItems("deadLetters", letters, context, (letter) => {
      const errors = letter.history.map(({ error }) => error);
      return letterText(letter, `${letter.attempts} attempts`, errors, context);
    });
  },
});

type Act = (
  on: QueueOperations,
  queue: string,
  which: readonly string[] | LetterFilter,
  deed: DeedOptions,
) => Promise<DeedResult>;

function ofLetters(summary: string, done: string, needsReason: boolean, act: Act): QueuesCommand {
  return defineCommand({
    words: ["QUEUE", "[MESSAGE…]"],
    summary,
    options: { ...CHOICE, ...DEED },
    run: async ({ words: [queue, ...messages], options }, context) => {
      return actOnLetters(messages, options, context, { done, needsReason }, (which, deed) =>
        act(context.operations, queue as string, which, deed),
      );
    },
  });
}

const edit = defineCommand({
  words: ["QUEUE", "MESSAGE", "VALUE"],
  summary: "puts a dead letter back with another value, which is JSON",
  options: DEED,
  run: async ({ words: [queue, message, value], options }, context) => {
    return editLetter(message as string, value as string, options, context, (given, deed) =>
      context.operations.editDead(queue as string, message as string, given, deed),
    );
  },
});

export const COMMANDS: Readonly<Record<string, QueuesCommand>> = {
  list,
  heartbeats,
  dead,
  retry: ofLetters(
    "puts dead letters back into their queue with all attempts left",
    "go on",
    false,
    (on, queue, which, deed) => on.retryDead(queue, which, deed),
  ),
  edit,
  drop: ofLetters(
    "drops dead letters for good, with a reason",
    "are dropped",
    true,
    (on, queue, which, deed) => on.dropDead(queue, which, { reason: "", ...deed }),
  ),
};
