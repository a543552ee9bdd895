// `signalbox pipelines check --code MODULE`: whether the executions of a store can end with new code.

import { labelOf, type Versioned, Versions } from "../../host/versions.js";
import { type MissingPart, missingParts, missingText, partsOf } from "../../pipeline/definition/missing.js";
import type { AnyPipeline } from "../../pipeline/definition/pipeline.js";
import { REPLAY_SOURCE } from "../../pipeline/ledger/tables.js";
import type { ExecutionDetails } from "../../pipeline/operations/operations.js";
import { oneLine } from "../../process/printable.js";
import { Misuse } from "../shell/arguments.js";
import { printList } from "../shell/document.js";
import { EXIT } from "../shell/exit.js";
import { type CommandContext, kit, type PipelinesCommands } from "./context.js";

/** The findings of the check of an execution. */
interface CheckedExecution {
  readonly id: string;
  readonly pipeline: string;
  /** The version of the pipeline with which it began. Absent: 1. */
  readonly version?: number;
  /** The parts that it needs and that the code does not have. Empty: it can end. */
  readonly missing: readonly MissingPart[];
}

const check = kit.command({
  summary:
    "checks that every execution in flight can end with new code, before you deploy it; exit code 1 if one cannot",
  run: async (_words, _given, context) => {
    const { code, host, json, style } = context;
    if (code.pipelines.length === 0)
      throw new Misuse("--code is required, a module that exports pipelines, such as --code ./pipelines.js");
    const count = { checked: 0, problems: 0 };
    const found = checked(context, count);
    if (json) await printList(host, "executions", found, () => count);
    else
      for await (const { id, pipeline, version, missing } of found)
        if (missing.length > 0)
          host.print(style.bad(oneLine(`${id} (${labelOf(pipeline, version)}): ${missingText(missing)}`)));
    if (!json) host.print(`${count.checked} executions in flight, ${count.problems} cannot end`);
    return count.problems === 0 ? EXIT.fine : EXIT.no;
  },
});

async function* checked(
  context: CommandContext,
  count: { checked: number; problems: number },
): AsyncGenerator<CheckedExecution, void, undefined> {
  const operations = await context.operations();
  const known = new Versions<Versioned & { readonly definition: AnyPipeline }>();
  for (const definition of context.code.pipelines) known.add(versionedOf(definition));
  for await (const { id, pipeline, version } of operations.executions({ status: ["running", "paused"] })) {
    const found = known.running(pipeline, version ?? 1);
    const none = known.has(pipeline) ? "no version" : "no pipeline";
    const parts = found === undefined ? none : partsOf(found.definition);
    const missing = missingParts(workOf(await operations.inspect(id)), parts);
    count.checked++;
    if (missing.length > 0) count.problems++;
    yield { id, pipeline, ...(version !== undefined && { version }), missing };
  }
}

function versionedOf(definition: AnyPipeline): Versioned & { readonly definition: AnyPipeline } {
  const { name, version, options } = definition;
  return { name, version, compatibleWith: options.compatibleWith ?? [], definition };
}

function workOf({
  pipeline,
  version = 1,
  queues,
  sources,
}: ExecutionDetails): Parameters<typeof missingParts>[0] {
  return {
    pipeline,
    version,
    queues: queues.filter(({ ready, delayed }) => ready + delayed > 0).map(({ queue }) => queue),
    sources: sources.filter(({ name, open }) => open && name !== REPLAY_SOURCE).map(({ name }) => name),
  };
}

export const CHECK: PipelinesCommands = { check };
