// Files of pipelines: how a command finds a pipeline by its name or its file, and the commands that run nothing.

import type { AnyPipeline } from "../../pipeline/definition/pipeline.js";
import { pipelineToDot, pipelineToMermaid } from "../../pipeline/definition/routes-graph.js";
import { PipelineFileError } from "../../pipeline/yaml/errors.js";
import { jsonSchemaOf } from "../../pipeline/yaml/json-schema.js";
import { parsePipeline } from "../../pipeline/yaml/parse.js";
import { SignalboxError } from "../../process/errors.js";
import { printable } from "../../process/printable.js";
import { Misuse } from "../shell/arguments.js";
import { EXIT } from "../shell/exit.js";
import { indentedJson } from "../shell/json-text.js";
import { type CommandContext, kit, type PipelinesCommands } from "./context.js";

/** The pipeline of this name in the module of `--code`, or the one of this file. @throws Misuse, PipelineFileError */
export async function pipelineOf(
  what: string,
  context: CommandContext,
  signal?: AbortSignal,
): Promise<AnyPipeline> {
  const found = context.code.pipelines.find(({ name }) => name === what);
  return found ?? fileOf(what, context, signal);
}

async function fileOf(
  file: string,
  { host, code }: CommandContext,
  signal?: AbortSignal,
): Promise<AnyPipeline> {
  let text: string;
  try {
    text = host.read(file);
  } catch (error) {
    const names = code.pipelines.map(({ name }) => name).join(", ");
    const none =
      names === "" ? "and --code names no module with a pipeline" : `and the module has only ${names}`;
    throw new Misuse(`cannot read ${file}: ${(error as Error).message}; ${none}`);
  }
  const { registry } = code;
  const options = { registry, file, env: host.env, ...(signal !== undefined && { signal }) };
  return (await parsePipeline(text, options)) as AnyPipeline;
}

interface Verdict {
  readonly file: string;
  readonly ok: boolean;
  readonly pipeline?: string;
  readonly faults?: PipelineFileError["faults"];
  readonly error?: string;
}

const validate = kit.command({
  words: ["FILE…"],
  summary: "checks files of pipelines, and prints every fault with its line; exit code 1 if there is one",
  run: async (words, _given, context) => {
    const { host, json } = context;
    const interruption = host.interruption();
    const verdicts: Verdict[] = [];
    try {
      for (const file of words) verdicts.push(await verdictOn(file, context, interruption.signal));
    } finally {
      interruption.release();
    }
    if (json) host.print(indentedJson({ files: verdicts }));
    else for (const verdict of verdicts) tell(verdict, context);
    return verdicts.every(({ ok }) => ok) ? EXIT.fine : EXIT.no;
  },
});

async function verdictOn(file: string, context: CommandContext, signal: AbortSignal): Promise<Verdict> {
  try {
    const { name } = await pipelineOf(file, context, signal);
    return { file, ok: true, pipeline: name };
  } catch (error) {
    if (error instanceof PipelineFileError)
      return { file, ok: false, error: error.message, faults: error.faults };
    if (error instanceof SignalboxError && error.code.startsWith("ERR_PIPELINE_"))
      return { file, ok: false, error: error.message };
    throw error;
  }
}

function tell({ file, ok, pipeline, error }: Verdict, { host }: CommandContext): void {
  if (ok) host.print(printable(`${file}: ${pipeline} can run`));
  else host.complain(printable(`signalbox: ${error}`));
}

const schema = kit.command({
  summary: "prints the JSON Schema of files of pipelines, for editors",
  run: async (_words, _given, { host, code }) => {
    host.print(indentedJson(jsonSchemaOf(code.registry)));
    return EXIT.fine;
  },
});

const draw = kit.command({
  words: ["PIPELINE"],
  summary: "draws a pipeline, a file or a name of the module, as Mermaid",
  options: { dot: { help: "draws it as DOT" } },
  run: async ([what], { dot }, context) => {
    const pipeline = await pipelineOf(what, context);
    const text = dot ? pipelineToDot(pipeline) : pipelineToMermaid(pipeline);
    context.show({ [dot ? "dot" : "mermaid"]: text }, () => printable(text));
    return EXIT.fine;
  },
});

export const FILES: PipelinesCommands = { validate, schema, draw };
