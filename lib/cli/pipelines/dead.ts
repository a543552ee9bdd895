// Commands about dead letters: they list them, and put them back, edit them, or give them up.

import type { DeedOptions, DeedResult } from "../../pipeline/messages/dead-options.js";
import type { DeadChoice, DeadMessage, PipelineOperations } from "../../pipeline/operations/operations.js";
import { oneLine } from "../../process/printable.js";
import { Misuse, type OptionSpecs } from "../shell/arguments.js";
import { EXIT } from "../shell/exit.js";
import { CHOICE, DEED, deedOf, eachLetter, letterText, printItems, recordText } from "../shell/letters.js";
import { defined } from "../shell/list.js";
import { count, valueText } from "../shell/style.js";
import { jsonGiven, numberGiven } from "../shell/values.js";
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
      const deed = deedOf(options, context.host);
      if (needsReason && deed.reason === undefined) throw new Misuse("--reason is missing: say why");
      const on = await context.operations();
      const letters = await eachLetter(messages, options, context.host, (which) =>
        act(on, id as string, which, deed),
      );
      context.show({ letters }, () => `${count(letters)} dead letters ${done}`);
      return EXIT.fine;
    },
  });
}

const edit = defineCommand({
  words: ["ID", "MESSAGE", "VALUE"],
  summary: "puts a dead letter back with another value, which is JSON",
  options: DEED,
  run: async ({ words: [id, message, value], options }, context) => {
    const given = jsonGiven("VALUE", value as string);
    const on = await context.operations();
    await on.editDead(id as string, message as string, given, deedOf(options, context.host));
    context.show({ letters: 1 }, () => oneLine(`${message}: goes on with ${valueText(given)}`));
    return EXIT.fine;
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
