// Commands that change the course of executions, and the wait for an end.

import type { ExecutionSummary, PipelineOperations } from "../../pipeline/operations/operations.js";
import { RateMeter } from "../../pipeline/runtime/progress.js";
import { oneLine } from "../../process/printable.js";
import { codeOfError, Refusal } from "../shell/answer.js";
import { EXIT } from "../shell/exit.js";
import { count } from "../shell/style.js";
import { length } from "../shell/values.js";
import { type CommandContext, kit, type PipelinesCommands } from "./context.js";
import { pipelineOf } from "./files.js";
import { progressLine } from "./progress.js";

const each = (summary: string, done: string, act: (on: PipelineOperations, id: string) => Promise<boolean>) =>
  kit.each({
    summary,
    done,
    act: async (on, id) => {
      if (!(await act(on, id))) throw new Refusal(`the execution ${JSON.stringify(id)} has ended`);
    },
  });

/** How often a wait looks how far the execution is. */
const LOOK_MS = 1_000;

const wait = kit.ask({
  words: ["ID"],
  summary: "waits for the end of an execution; exit code 1 if it did not complete",
  options: { timeout: length('how long to wait, such as "5 min". Default: as long as it takes') },
  ask: (on, [id], { timeout = Number.POSITIVE_INFINITY }, context) => awaited(on, id, timeout, context),
  text: endText,
  isYes: ({ status }) => status === "completed",
});

/** The end of an execution. Draws how far it is meanwhile. */
async function awaited(
  operations: PipelineOperations,
  id: string,
  timeoutMs: number,
  { host, json }: CommandContext,
): Promise<ExecutionSummary> {
  const meter = new RateMeter();
  const until = host.now() + timeoutMs;
  try {
    for (;;) {
      const status = await operations.status(id);
      if (status.ended !== undefined) return status;
      meter.note(host.now(), status.done);
      if (!json) host.draw(progressLine(meter.progress(host.now(), status, []), host.columns));
      const left = Math.max(0, until - host.now());
      try {
        return await operations.outcome(id, { timeoutMs: Math.min(left, LOOK_MS) });
      } catch (error) {
        if (codeOfError(error) !== "ERR_PIPELINE_WAIT_TIMEOUT" || left <= LOOK_MS) throw error;
      }
    }
  } finally {
    host.draw(undefined);
  }
}

/** How an execution has ended, in one line. */
export function endText(found: ExecutionSummary, { style }: CommandContext): string {
  const { id, status, inputs, done, dead, dropped = 0 } = found;
  const gone = dropped === 0 ? "" : `, ${count(dropped)} dropped`;
  const letters = (dead === 0 ? "" : style.bad(`, ${count(dead)} dead`)) + gone;
  return `${oneLine(id)}: ${style.status(status, status)}, ${count(inputs)} inputs, ${count(done)} done${letters}`;
}

const messages = {
  message: { value: "MESSAGE", many: true, help: "this message, may be repeated", gives: "messages" },
} as const;
const queues = {
  queue: { value: "QUEUE", many: true, help: "all messages of this queue, may be repeated", gives: "queues" },
} as const;
const reason = { value: "TEXT", help: "the reason, for the record" } as const;
const file = {
  file: { value: "FILE", help: "the file of the pipeline, where no host has the store open" },
} as const;

/** The operations, which know the pipeline of `--file`. */
const operationsWith = async (path: string | undefined, context: CommandContext) =>
  context.operations(path === undefined ? [] : [await pipelineOf(path, context)]);

const replay = kit.command({
  words: ["ID"],
  summary: "repeats messages of an execution in a new execution, and prints its id",
  options: {
    dead: { help: "its dead letters, or those of --route: they move to the new execution" },
    again: { help: "also dead letters that were replayed before" },
    route: { value: "ROUTE", help: "all messages that this route took, if their values were kept" },
    ...messages,
    partial: { help: "with --route: skips the messages whose values were not kept" },
    id: { value: "ID", help: "the id of the new execution. Default: a new one" },
    ...file,
  },
  run: async ([id], { file: path, ...asked }, context) => {
    const started = await (await operationsWith(path, context)).replay(id, asked);
    context.show(started, () =>
      oneLine(`${started.id}: replays ${count(started.messages)} messages of ${id}`),
    );
    return EXIT.fine;
  },
});

const giveUp = kit.ask({
  words: ["ID"],
  summary: "gives up messages and open sources of an execution; they count as dropped",
  options: {
    reason: { ...reason, needed: '--reason is required, such as --reason "the customer has gone"' },
    stranded: { help: "the messages and sources that its pipeline cannot handle any more" },
    all: { help: "everything that is left: the execution completes" },
    ...queues,
    source: { value: "SOURCE", many: true, help: "this source, may be repeated", gives: "sources" },
    ...messages,
  },
  ask: async (on, [id], given) => {
    // The first request closes the sources that are named. The queues may have more.
    const { sources: _, ...rest } = given;
    const all = { id, messages: 0, sources: 0 };
    for (let some = await on.giveUp(id, given); ; some = await on.giveUp(id, rest)) {
      all.messages += some.messages;
      all.sources += some.sources;
      if (!some.more) return all;
    }
  },
  text: ({ id, ...gone }) =>
    oneLine(`${id}: gave up ${count(gone.messages)} messages and ${count(gone.sources)} sources`),
  isYes: (gone) => gone.messages + gone.sources > 0,
});

const move = kit.command({
  words: ["ID"],
  summary: "moves messages to another route of the pipeline; by default all that no route takes",
  options: {
    to: {
      value: "ROUTE",
      help: "the route that takes them now",
      needed: "--to is required, the name of a route",
    },
    ...queues,
    ...messages,
    reason,
    ...file,
  },
  run: async ([id], { to, file: path, ...given }, context) => {
    const on = await operationsWith(path, context);
    let moved = 0;
    for (let more = true; more; ) {
      const some = await on.move(id, { ...given, to });
      moved += some.messages;
      more = some.more;
    }
    context.show({ id, messages: moved }, () => oneLine(`${id}: moved ${count(moved)} messages to ${to}`));
    return moved > 0 ? EXIT.fine : EXIT.no;
  },
});

export const CHANGE: PipelinesCommands = {
  wait,
  pause: each(
    "pauses executions: their workers get no more messages until they are resumed",
    "is paused",
    (on, id) => on.pause(id),
  ),
  resume: each("resumes paused executions", "is resumed", (on, id) => on.resume(id)),
  cancel: each("ends executions, and aborts the work in progress", "is cancelled", (on, id) => on.cancel(id)),
  move,
  "give-up": giveUp,
  replay,
};
