// Commands that change flows.

import type { FlowOperations, FlowOutcome, FlowStatus } from "../../flow/operations/operations.js";
import { oneLine } from "../../process/printable.js";
import { Misuse } from "../shell/arguments.js";
import { forEach } from "../shell/each.js";
import { EXIT } from "../shell/exit.js";
import { valueText } from "../shell/style.js";
import { jsonGiven, lengthGiven, numberGiven } from "../shell/values.js";
import { exitOf } from "./answer.js";
import { type CommandContext, defineCommand, type FlowsCommand } from "./context.js";

/** A command that does the same with each of the flows that it is given, and says which of them it could not do it with. */
function each(
  summary: string,
  done: string,
  act: (on: FlowOperations, id: string) => Promise<void>,
): FlowsCommand {
  return defineCommand({
    words: ["ID…"],
    summary,
    options: {},
    run: ({ words }, { host, json, operations }) =>
      forEach(words, { host, json, done, exitOf }, (id) => act(operations, id)),
  });
}

const retry = defineCommand({
  words: ["ID…"],
  summary: "repeats the failed step, and everything that came after it",
  options: {
    from: {
      value: "STEP",
      help: "repeats this step or wait, and everything that came after it: charge, or charge#2",
    },
  },
  run: ({ words, options: { from } }, { host, json, operations }) =>
    forEach(words, { host, json, done: "is retried", exitOf }, (id) =>
      operations.retry(id, from === undefined ? {} : { from }),
    ),
});

const fork = defineCommand({
  words: ["ID"],
  summary: "starts a new flow with the history of this one",
  options: {
    id: { value: "ID", help: "the id of the new flow. Default: a new one" },
    from: {
      value: "STEP",
      help: "keeps the history before this step or wait, which is repeated. Default: keeps none, and repeats everything",
    },
    input: { value: "JSON", help: "another input; not with --from" },
    result: { value: "JSON", help: "another result for the step of --from" },
  },
  run: async ({ words: [id], options }, context) => {
    const made = await context.operations.fork(id as string, {
      ...(options.id !== undefined && { id: options.id }),
      ...(options.from !== undefined && { from: options.from }),
      ...(options.input !== undefined && { input: jsonGiven("--input", options.input) }),
      ...(options.result !== undefined && { result: jsonGiven("--result", options.result) }),
    });
    context.show({ id: made }, () => oneLine(made));
    return EXIT.fine;
  },
});

const start = defineCommand({
  words: ["NAME", "[INPUT]"],
  summary: "starts a flow by the name of its definition; the input is JSON",
  options: {
    id: {
      value: "ID",
      help: "the id of the flow. If a flow has it already, nothing changes. Default: a new one",
    },
  },
  run: async ({ words: [name, input], options: { id } }, context) => {
    const value = input === undefined ? undefined : jsonGiven("INPUT", input);
    const started = await context.operations.start(name as string, value, id === undefined ? {} : { id });
    context.show({ id: started }, () => oneLine(started));
    return EXIT.fine;
  },
});

const send = defineCommand({
  words: ["ID", "TOPIC", "[VALUE]"],
  summary: "sends a message to a flow; the value is JSON",
  options: { "message-id": { value: "ID", help: "a second message with this id is dropped" } },
  run: async ({ words: [id, topic, value], options }, context) => {
    const messageId = options["message-id"];
    await context.operations.send(
      id as string,
      topic as string,
      value === undefined ? undefined : jsonGiven("VALUE", value),
      messageId === undefined ? {} : { id: messageId },
    );
    context.show({ ok: true }, () => "sent");
    return EXIT.fine;
  },
});

const wait = defineCommand({
  words: ["ID"],
  summary: "waits for the end of a flow, and prints its result; exit code 1 if it did not complete",
  options: {
    timeout: { value: "LENGTH", help: 'how long to wait, such as "5 min". Default: as long as it takes' },
  },
  run: async ({ words: [id], options: { timeout } }, context) => {
    const outcome = await context.operations.outcome(
      id as string,
      timeout === undefined ? {} : { timeoutMs: lengthGiven("timeout", timeout) },
    );
    context.show(outcome, () => outcomeText(outcome, context));
    return outcome.status === "completed" ? EXIT.fine : EXIT.no;
  },
});

function outcomeText(outcome: FlowOutcome, { style }: CommandContext): string {
  if (outcome.status === "completed") return valueText(outcome.result) || "completed";
  const text = valueText(outcome.error);
  return `${style.status(outcome.status, outcome.status)}${text === "" ? "" : `: ${text}`}`;
}

const prune = defineCommand({
  words: [],
  summary: "removes flows that have ended",
  options: {
    "older-than": {
      value: "LENGTH",
      help: 'only flows that ended at least this long ago, such as "30 days"',
    },
    keep: { value: "COUNT", help: "keeps this many, those that ended last" },
    status: { value: "STATUS", many: true, help: "only completed, failed, cancelled or killed ones" },
    name: { value: "NAME", help: "only flows of this definition" },
  },
  run: async ({ options }, context) => {
    const age = options["older-than"];
    if (age === undefined && options.keep === undefined)
      throw new Misuse('--older-than or --keep is required, such as --older-than "30 days" or --keep 10000');
    const removed = await context.operations.prune({
      ...(age !== undefined && { olderThanMs: lengthGiven("older-than", age) }),
      ...(options.keep !== undefined && { keep: numberGiven("keep", options.keep, 1) }),
      ...(options.status.length > 0 && { status: options.status as FlowStatus[] }),
      ...(options.name !== undefined && { name: options.name }),
    });
    context.show({ removed }, () => `${removed} flows removed`);
    return EXIT.fine;
  },
});

const backup = defineCommand({
  words: ["FILE"],
  summary: "writes a copy of the store to a new file, while its host keeps running",
  options: {},
  run: async ({ words: [path] }, context) => {
    await context.operations.backup(context.host.absolute(path as string));
    context.show({ path }, () => oneLine(`wrote ${path}`));
    return EXIT.fine;
  },
});

export const CHANGE: Readonly<Record<string, FlowsCommand>> = {
  start,
  send,
  await: wait,
  pause: each("stops flows at their next step, until they are resumed", "pauses", (on, id) => on.pause(id)),
  resume: each("resumes paused flows", "is resumed", (on, id) => on.resume(id)),
  cancel: each("asks flows to end; their code may clean up", "is asked to end", (on, id) => on.cancel(id)),
  kill: each("ends flows without running their code again", "is killed", (on, id) => on.kill(id)),
  retry,
  discharge: each("lets failed flows in the hospital run again at once", "is discharged", (on, id) =>
    on.discharge(id),
  ),
  fork,
  remove: each("removes flows that have ended", "is removed", (on, id) => on.remove(id)),
  prune,
  backup,
};
