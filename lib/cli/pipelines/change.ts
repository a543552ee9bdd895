// Commands that change the course of executions, and the wait for an end.

import type { ExecutionSummary, PipelineOperations } from "../../pipeline/operations/operations.js";
import { RateMeter } from "../../pipeline/runtime/progress.js";
import { oneLine } from "../../process/printable.js";
import { Refusal } from "../shell/answer.js";
import { Misuse } from "../shell/arguments.js";
import { forEach } from "../shell/each.js";
import { EXIT } from "../shell/exit.js";
import { count } from "../shell/style.js";
import { lengthGiven } from "../shell/values.js";
import { codeOfError, exitOf } from "./answer.js";
import { type CommandContext, defineCommand, type PipelinesCommand } from "./context.js";
import { pipelineOf } from "./files.js";
import { progressLine } from "./progress.js";

/** A command that does the same with each of the executions that it is given, and says which of them it could not do it with. */
function each(
  summary: string,
  done: string,
  act: (on: PipelineOperations, id: string) => Promise<boolean>,
): PipelinesCommand {
  return defineCommand({
    words: ["ID…"],
    summary,
    options: {},
    run: async ({ words }, { host, json, operations }) => {
      const on = await operations();
      return forEach(words, { host, json, done, exitOf }, async (id) => {
        if (!(await act(on, id))) throw new Refusal(`the execution ${JSON.stringify(id)} has ended`);
      });
    },
  });
}

/** How often a wait looks how far the execution is. */
const LOOK_MS = 1_000;

const wait = defineCommand({
  words: ["ID"],
  summary: "waits for the end of an execution; exit code 1 if it did not complete",
  options: {
    timeout: { value: "LENGTH", help: 'how long to wait, such as "5 min". Default: as long as it takes' },
  },
  run: async ({ words: [id], options: { timeout } }, context) => {
    const timeoutMs = timeout === undefined ? Number.POSITIVE_INFINITY : lengthGiven("timeout", timeout);
    const found = await awaited(await context.operations(), id as string, timeoutMs, context);
    context.show(found, () => endText(found, context));
    return found.status === "completed" ? EXIT.fine : EXIT.no;
  },
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

const replay = defineCommand({
  words: ["ID"],
  summary: "repeats messages of an execution in a new execution, and prints its id",
  options: {
    dead: { help: "its dead letters, or those of --route: they move to the new execution" },
    again: { help: "also dead letters that were replayed before" },
    route: { value: "ROUTE", help: "all messages that this route took, if their values were kept" },
    message: { value: "MESSAGE", many: true, help: "this message, may be repeated" },
    partial: { help: "with --route: skips the messages whose values were not kept" },
    id: { value: "ID", help: "the id of the new execution. Default: a new one" },
    file: { value: "FILE", help: "the file of the pipeline, where no host has the store open" },
  },
  run: async ({ words: [id], options }, context) => {
    const { message, route, dead, again, partial, file } = options;
    const pipelines = file === undefined ? [] : [await pipelineOf(file, context)];
    const started = await (await context.operations(pipelines)).replay(id as string, {
      ...(message.length > 0 && { messages: message }),
      ...(dead && { dead }),
      ...(again && { again }),
      ...(partial && { partial }),
      ...(route !== undefined && { route }),
      ...(options.id !== undefined && { id: options.id }),
    });
    context.show(started, () =>
      oneLine(`${started.id}: replays ${count(started.messages)} messages of ${id}`),
    );
    return EXIT.fine;
  },
});

const giveUp = defineCommand({
  words: ["ID"],
  summary: "gives up messages and open sources of an execution; they count as dropped",
  options: {
    reason: { value: "TEXT", help: "the reason, for the record" },
    stranded: { help: "the messages and sources that its pipeline cannot handle any more" },
    all: { help: "everything that is left: the execution completes" },
    queue: { value: "QUEUE", many: true, help: "all messages of this queue, may be repeated" },
    source: { value: "SOURCE", many: true, help: "this source, may be repeated" },
    message: { value: "MESSAGE", many: true, help: "this message, may be repeated" },
  },
  run: async ({ words: [id], options }, context) => {
    const { reason, stranded, all, queue, source, message } = options;
    if (reason === undefined)
      throw new Misuse('--reason is required, such as --reason "the customer has gone"');
    const operations = await context.operations();
    const asked = {
      reason,
      ...(stranded && { stranded }),
      ...(all && { all }),
      ...(queue.length > 0 && { queues: queue }),
      ...(source.length > 0 && { sources: source }),
      ...(message.length > 0 && { messages: message }),
    };
    let { messages, sources, more } = await operations.giveUp(id as string, asked);
    while (more) {
      // Its sources are closed by now, and it has more in its queues.
      const { sources: _, ...rest } = asked;
      const some = await operations.giveUp(id as string, rest);
      messages += some.messages;
      sources += some.sources;
      more = some.more;
    }
    context.show({ id, messages, sources }, () =>
      oneLine(`${id}: gave up ${count(messages)} messages and ${count(sources)} sources`),
    );
    return messages + sources > 0 ? EXIT.fine : EXIT.no;
  },
});

const move = defineCommand({
  words: ["ID"],
  summary: "moves messages to another route of the pipeline; by default all that no route takes",
  options: {
    to: { value: "ROUTE", help: "the route that takes them now" },
    queue: { value: "QUEUE", many: true, help: "all messages of this queue, may be repeated" },
    message: { value: "MESSAGE", many: true, help: "this message, may be repeated" },
    reason: { value: "TEXT", help: "the reason, for the record" },
    file: { value: "FILE", help: "the file of the pipeline, where no host has the store open" },
  },
  run: async ({ words: [id], options }, context) => {
    const { to, queue, message, reason, file } = options;
    if (to === undefined) throw new Misuse("--to is required, the name of a route");
    const pipelines = file === undefined ? [] : [await pipelineOf(file, context)];
    const operations = await context.operations(pipelines);
    const asked = {
      to,
      ...(queue.length > 0 && { queues: queue }),
      ...(message.length > 0 && { messages: message }),
      ...(reason !== undefined && { reason }),
    };
    let { messages, more } = await operations.move(id as string, asked);
    while (more) {
      const some = await operations.move(id as string, asked);
      messages += some.messages;
      more = some.more;
    }
    context.show({ id, messages }, () => oneLine(`${id}: moved ${count(messages)} messages to ${to}`));
    return messages > 0 ? EXIT.fine : EXIT.no;
  },
});

export const CHANGE: Readonly<Record<string, PipelinesCommand>> = {
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
