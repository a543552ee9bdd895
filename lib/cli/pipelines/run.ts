// `signalbox pipelines run PIPELINE`: runs an execution in this program, shows how far it is, and stops cleanly when it is
// interrupted: an execution in a store goes on at the next start.

import { toJson } from "../../admin/json-view.js";
import type { AnyPipeline } from "../../pipeline/definition/pipeline.js";
import type { Queue } from "../../pipeline/definition/queue.js";
import {
  type GivenMessages,
  type PipelineHost,
  type PipelineRun,
  pipelineHost,
} from "../../pipeline/host.js";
import { openPipelineOperations } from "../../pipeline/open-operations.js";
import type { ExecutionSummary } from "../../pipeline/operations/operations.js";
import { oneLine } from "../../process/printable.js";
import type { StoreSource } from "../../store/index.js";
import { causeOfStart } from "../../supervisor/cause-of-start.js";
import { System } from "../../system.js";
import { type Given, Misuse, type OptionSpecs } from "../shell/arguments.js";
import { EXIT } from "../shell/exit.js";
import { jsonText } from "../shell/json-text.js";
import { count } from "../shell/style.js";
import { json, jsonGiven, length } from "../shell/values.js";
import { endText } from "./change.js";
import { type CommandContext, type Interruption, kit, type PipelinesCommands } from "./context.js";
import { pipelineOf } from "./files.js";
import { progressLine } from "./progress.js";

const OPTIONS = {
  id: { value: "ID", help: "the id of the execution, which continues if it exists. Default: a new one" },
  new: { help: "starts another execution, even if one of this pipeline was interrupted" },
  input: json("the input of the sources"),
  message: {
    value: "QUEUE=JSON",
    many: true,
    help: "a message to begin with; may be repeated for the same queue",
    read: messageGiven,
  },
  drain: {
    ...length('how long workers may finish their messages after an interruption. Default "5 s"'),
    gives: "drainMs",
  },
} as const satisfies OptionSpecs;

/** How often progress is shown. */
const EVERY_MS = 250;
const EVERY_LINE_MS = 1_000;

const run = kit.command({
  words: ["PIPELINE"],
  summary:
    "runs a pipeline, a file or a name of the module, until it has completed; continues an interrupted execution",
  options: OPTIONS,
  lines: true,
  run: async ([what], given, context) => {
    const interruption = context.host.interruption();
    try {
      return await runHere(what, given, context, interruption);
    } finally {
      context.host.draw(undefined);
      interruption.release();
    }
  },
});

async function runHere(
  what: string,
  given: Given<typeof OPTIONS>,
  context: CommandContext,
  interruption: Interruption,
): Promise<number> {
  const { host, store, code } = context;
  const { drainMs } = given;
  const pipeline = await pipelineOf(what, context, interruption.signal);
  const system = new System({ report: false });
  try {
    const source = store === undefined ? undefined : host.source(store);
    const definition = pipelineHost({
      pipelines: [pipeline],
      payloads: code.payloads,
      ...(source !== undefined && { store: source }),
      ...(drainMs !== undefined && { drainMs }),
    });
    const running = await system.start(definition).catch((error: unknown) => {
      throw causeOfStart(error);
    });
    let left: Left | undefined;
    try {
      const execution = await begin(running, pipeline, given, context);
      left = await followed(execution, context, interruption.signal);
      if (left === undefined) return await ended(execution, context);
    } finally {
      await running.stop();
    }
    if (source !== undefined) {
      const found = await leftIn(system, source, left.id);
      // Workers may have ended all that was left.
      if (found.ended !== undefined) return tellEnd(found, "", context);
      left = found;
    }
    tellLeft(left, what, context);
    return interruption.code;
  } finally {
    await system.stop();
  }
}

/** How far an execution was when it was left. */
type Left = Pick<ExecutionSummary, "id" | "done" | "pending">;

/** Reads the execution from the store after the host has stopped: workers have ended their work in flight. */
async function leftIn(system: System, source: StoreSource, id: string): Promise<ExecutionSummary> {
  const operations = await openPipelineOperations(system, source);
  try {
    return await operations.status(id);
  } finally {
    await operations.close();
  }
}

function tellLeft({ id, done, pending }: Left, what: string, context: CommandContext): void {
  const { store } = context;
  const again = store === undefined ? undefined : `signalbox pipelines run ${what} --store ${store}`;
  const fate =
    again === undefined
      ? "the pending messages are lost: --store keeps them"
      : `the next start continues: ${again}`;
  tell(
    context,
    { event: "interrupted", id, done, pending, ...(again !== undefined && { again }) },
    `interrupted: ${count(done)} done, ${count(pending)} pending; ${fate}`,
  );
}

async function begin(
  host: PipelineHost,
  pipeline: AnyPipeline,
  { new: isNew, message, ...options }: Given<typeof OPTIONS>,
  context: CommandContext,
): Promise<PipelineRun> {
  const interrupted = options.id === undefined && !isNew ? await unfinished(host, pipeline, context) : [];
  const [first] = interrupted;
  if (first !== undefined) {
    if ("input" in options || message !== undefined)
      throw new Misuse(
        `the execution ${first} was interrupted, and continues with its first input: leave out --input and --message, or pass --new`,
      );
    const execution = host.get(first);
    await execution.resume();
    tell(context, { event: "resumed", id: first, pipeline: pipeline.name }, `${first} goes on`);
    return execution;
  }
  const execution = await host.start(pipeline as never, {
    ...(options.id !== undefined && { id: options.id }),
    ...("input" in options && { input: options.input }),
    ...(message !== undefined && { messages: messagesOf(message) }),
  });
  const { id, attached } = execution;
  if (attached) await execution.resume();
  const event = attached ? "resumed" : "started";
  tell(context, { event, id, pipeline: pipeline.name }, `${id} ${attached ? "goes on" : "has started"}`);
  return execution;
}

/** Executions of the pipeline that have not ended, the oldest first. Without a store there are none. */
async function unfinished(
  host: PipelineHost,
  { name }: AnyPipeline,
  { store }: CommandContext,
): Promise<readonly string[]> {
  if (store === undefined) return [];
  const { executions } = await host.operations.list({
    pipeline: name,
    status: ["running", "paused"],
    order: "oldest",
  });
  return executions.map(({ id }) => id);
}

interface FirstMessage {
  readonly queue: string;
  readonly value: unknown;
}

function messageGiven(text: string): FirstMessage {
  const at = text.indexOf("=");
  if (at <= 0)
    throw new Misuse(`--message must be QUEUE=JSON, such as lines='"a b"'; got ${text.slice(0, 80)}`);
  return { queue: text.slice(0, at), value: jsonGiven("--message", text.slice(at + 1)) };
}

/** @throws Misuse */
function messagesOf(all: readonly FirstMessage[]): GivenMessages<unknown> {
  const [{ queue }] = all as readonly [FirstMessage];
  if (all.some((one) => one.queue !== queue))
    throw new Misuse("all messages go to one queue; use a source, or an execution for each queue");
  return { to: { name: queue } as Queue<unknown>, values: all.map(({ value }) => value) };
}

/** Shows how far an execution is, until it has ended or the user wants no more: then it returns how far it was. */
async function followed(
  execution: PipelineRun,
  { host, json }: CommandContext,
  signal: AbortSignal,
): Promise<Left | undefined> {
  try {
    for await (const progress of execution.follow({ everyMs: json ? EVERY_LINE_MS : EVERY_MS, signal }))
      if (json) host.print(jsonText({ event: "progress", id: execution.id, ...progress }));
      else host.draw(progressLine(progress, host.columns));
    return undefined;
  } catch (error) {
    if (!signal.aborted) throw error;
    return await execution.status();
  } finally {
    host.draw(undefined);
  }
}

async function ended(execution: PipelineRun, context: CommandContext): Promise<number> {
  const summary = await execution.status();
  const why = await execution.completed().then(
    () => undefined,
    (error: Error) => error.cause,
  );
  const cause = why instanceof Error ? why.message : why === undefined ? "" : String(why);
  return tellEnd(summary, cause, context);
}

/** @param cause - why it failed. Returns the exit code */
function tellEnd(summary: ExecutionSummary, cause: string, context: CommandContext): number {
  const letters =
    summary.dead > 0 && context.store !== undefined
      ? `\nthe dead letters: signalbox pipelines dead ${summary.id} --store ${context.store}`
      : "";
  tell(
    context,
    { event: "ended", ...summary, ...(cause !== "" && { error: cause }) },
    `${endText(summary, context)}${cause === "" ? "" : `: ${oneLine(cause)}`}${letters}`,
  );
  return summary.status === "completed" ? EXIT.fine : EXIT.no;
}

function tell({ host, json }: CommandContext, event: object, text: string): void {
  host.print(json ? jsonText(toJson(event)) : text);
}

export const RUN: PipelinesCommands = { run };
