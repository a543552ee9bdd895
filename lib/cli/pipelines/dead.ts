// Commands about dead letters: they list them, and put them back, edit them, or give them up.

import type { DeedOptions, DeedResult } from "../../pipeline/messages/dead-options.js";
import type { DeadChoice, DeadMessage, PipelineOperations } from "../../pipeline/operations/operations.js";
import { Misuse, type OptionSpecs } from "../shell/arguments.js";
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
import { numberGiven } from "../shell/values.js";
import { defineCommand, type PipelinesCommand } from "./context.js";

const dead = defineCommand({
  words: ["ID"],
  summary: "lists the dead letters of an execution, with their values and errors",
  options: {
    limit: { value: "COUNT", help: "most letters. Default: all" },
    route: { value: "ROUTE", help: "only those of this route" },
    records: {
      help: "lists the letters that are no longer dead: replayed, put back or dropped, by whom, when and why",
    },
  },
  run: async ({ words: [id], options: { route, limit, records } }, context) => {
    const most = defined({ limit: limit === undefined ? undefined : numberGiven("limit", limit, 1) });
    const operations = await context.operations();
    if (records) {
      if (route !== undefined) throw new Misuse("--route cannot be combined with --records");
      const found = operations.deadRecords(id as string, most);
      return printItems("records", found, context, (record) => recordText(record, context));
    }
    const letters = operations.deadLetters(id as string, { ...most, ...defined({ route }) });
    return printItems("deadLetters", letters, context, (letter) =>
      letterText(letter, placeOf(letter), letter.errors, context),
    );
  },
});

const placeOf = ({ queue, route, adapter }: DeadMessage): string =>
  [route ?? queue, ...(adapter === undefined ? [] : [adapter])].join(" / ");

const { all, ...REST } = CHOICE;
const CHOSEN = {
  all,
  route: { value: "ROUTE", help: "without MESSAGE: only those of this route" },
  ...REST,
} as const satisfies OptionSpecs;

type Act = (
  on: PipelineOperations,
  id: string,
  which: readonly string[] | DeadChoice,
  deed: DeedOptions,
) => Promise<DeedResult>;

function ofLetters(summary: string, done: string, needsReason: boolean, act: Act): PipelinesCommand {
  return defineCommand({
    words: ["ID", "[MESSAGE…]"],
    summary,
    options: { ...CHOSEN, ...DEED },
    run: async ({ words: [id, ...messages], options }, context) => {
      const on = await context.operations();
      return actOnLetters(messages, options, context, { done, needsReason }, (which, deed) =>
        act(on, id as string, which, deed),
      );
    },
  });
}

const edit = defineCommand({
  words: ["ID", "MESSAGE", "VALUE"],
  summary: "puts a dead letter back with another value, which is JSON",
  options: DEED,
  run: async ({ words: [id, message, value], options }, context) => {
    return editLetter(message as string, value as string, options, context, async (given, deed) =>
      (await context.operations()).editDead(id as string, message as string, given, deed),
    );
  },
});

export const DEAD: Readonly<Record<string, PipelinesCommand>> = {
  dead,
  retry: ofLetters(
    "puts dead letters back into their queues with all attempts left; a completed execution runs again",
    "go on",
    false,
    (on, id, which, deed) => on.retryDead(id, which, deed),
  ),
  edit,
  drop: ofLetters("drops dead letters for good, with a reason", "are dropped", true, (on, id, which, deed) =>
    on.dropDead(id, which, { reason: "", ...deed }),
  ),
};
