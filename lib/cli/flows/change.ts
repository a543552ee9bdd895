// Commands that change flows.

import { FLOW_STATUSES, type FlowOperations, type FlowOutcome } from "../../flow/operations/operations.js";
import { oneLine } from "../../process/printable.js";
import { Misuse } from "../shell/arguments.js";
import { valueText } from "../shell/style.js";
import { among, json, jsonGiven, length, whole } from "../shell/values.js";
import { type CommandContext, type FlowsCommands, kit } from "./context.js";

const each = (summary: string, done: string, act: (on: FlowOperations, id: string) => Promise<void>) =>
  kit.each({ summary, done, act });

const retry = kit.each({
  summary: "repeats the failed step, and everything that came after it",
  options: {
    from: {
      value: "STEP",
      help: "repeats this step or wait, and everything that came after it: charge, or charge#2",
    },
  },
  done: "is retried",
  act: (on, id, given) => on.retry(id, given),
});

const fork = kit.ask({
  words: ["ID"],
  summary: "starts a new flow with the history of this one",
  options: {
    id: { value: "ID", help: "the id of the new flow. Default: a new one" },
    from: {
      value: "STEP",
      help: "keeps the history before this step or wait, which is repeated. Default: keeps none, and repeats everything",
    },
    input: json("another input; not with --from"),
    result: json("another result for the step of --from"),
  },
  ask: async (on, [id], given) => ({ id: await on.fork(id, given) }),
  text: ({ id }) => oneLine(id),
});

const start = kit.ask({
  words: ["NAME", "[INPUT]"],
  summary: "starts a flow by the name of its definition; the input is JSON",
  options: {
    id: {
      value: "ID",
      help: "the id of the flow. If a flow has it already, nothing changes. Default: a new one",
    },
  },
  ask: async (on, [name, input], given) => ({
    id: await on.start(name, jsonGiven("INPUT", input), given),
  }),
  text: ({ id }) => oneLine(id),
});

const send = kit.ask({
  words: ["ID", "TOPIC", "[VALUE]"],
  summary: "sends a message to a flow; the value is JSON",
  options: { "message-id": { value: "ID", help: "a second message with this id is dropped", gives: "id" } },
  ask: async (on, [id, topic, value], given) => {
    await on.send(id, topic, jsonGiven("VALUE", value), given);
    return { ok: true };
  },
  text: () => "sent",
});

const wait = kit.ask({
  words: ["ID"],
  summary: "waits for the end of a flow, and prints its result; exit code 1 if it did not complete",
  options: {
    timeout: {
      ...length('how long to wait, such as "5 min". Default: as long as it takes'),
      gives: "timeoutMs",
    },
  },
  ask: (on, [id], given) => on.outcome(id, given),
  text: outcomeText,
  isYes: ({ status }) => status === "completed",
});

function outcomeText(outcome: FlowOutcome, { style }: CommandContext): string {
  if (outcome.status === "completed") return valueText(outcome.result) || "completed";
  const text = valueText(outcome.error);
  return `${style.status(outcome.status, outcome.status)}${text === "" ? "" : `: ${text}`}`;
}

const prune = kit.ask({
  summary: "removes flows that have ended",
  options: {
    "older-than": {
      ...length('only flows that ended at least this long ago, such as "30 days"'),
      gives: "olderThanMs",
    },
    keep: whole("COUNT", 1, "keeps this many, those that ended last"),
    status: {
      ...among("STATUS", FLOW_STATUSES, "only completed, failed, cancelled or killed ones"),
      many: true,
    },
    name: { value: "NAME", help: "only flows of this definition" },
  },
  ask: async (on, _words, given) => {
    if (given.olderThanMs === undefined && given.keep === undefined)
      throw new Misuse('--older-than or --keep is required, such as --older-than "30 days" or --keep 10000');
    return { removed: await on.prune(given) };
  },
  text: ({ removed }) => `${removed} flows removed`,
});

const backup = kit.ask({
  words: ["FILE"],
  summary: "writes a copy of the store to a new file, while its host keeps running",
  ask: async (on, [path], _given, { host }) => {
    await on.backup(host.absolute(path));
    return { path };
  },
  text: ({ path }) => oneLine(`wrote ${path}`),
});

export const CHANGE: FlowsCommands = {
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
