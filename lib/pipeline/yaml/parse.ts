// From a file to a pipeline: read it, check its shape, make its adapters and sources, check its graph. Every step adds its faults.

import { OptionError } from "../../process/errors.js";
import { hideAll } from "../../process/hide.js";
import { only } from "../../process/known-options.js";
import { text as textOption } from "../../process/options.js";
import { orAborted } from "../../process/or-aborted.js";
import { PackageMissingError } from "../../process/package-missing.js";
import { graphFaults } from "../definition/check.js";
import type { KeyedFault, Keys } from "../definition/fault.js";
import type { PipelineDefinition } from "../definition/pipeline.js";
import { foundText, shapeFaults } from "../definition/shape.js";
import { FileBuilder } from "./build.js";
import { type FileFault, PipelineFileError } from "./errors.js";
import { fileShape } from "./file-shape.js";
import { YAML_LIMITS } from "./limits.js";
import { memberAt, type OffsetFault, readYaml, type YamlFile, type YamlPackage } from "./read-yaml.js";
import { type PipelineRegistry, pipelineRegistry } from "./registry.js";
import type { Variables } from "./substitution.js";

/** How a file is read. */
export interface ParseOptions {
  /** The types that the file can name. Default: only the source type `messages`. */
  readonly registry?: PipelineRegistry;
  /** The name of the file in errors. Default `pipeline.yaml`. */
  readonly file?: string;
  /** The variables that `${NAME}` stands for, such as `process.env`. Default: none. Their values appear in no error. */
  readonly env?: Variables;
  /** Ends the wait for schemas that answer later: the promise rejects with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * Makes a pipeline of YAML. Needs the package yaml, an optional peer.
 *
 * @throws PipelineFileError with all faults of the file
 * @throws PackageMissingError
 * @throws OptionError
 * @throws the reason of `signal` when it aborts
 * @example
 * const shout = adapterType({ type: "shout", create: (_, { name }) => ({ name, process: (line: string) => line.toUpperCase() }) });
 * const text = "version: 1\nname: shouting\nroutes:\n  shout:\n    from: lines\n    adapters:\n      - type: shout\n";
 * const shouting = await parsePipeline(text, { registry: pipelineRegistry({ adapters: [shout] }), file: "shouting.yaml" });
 */
export async function parsePipeline(text: string, options: ParseOptions = {}): Promise<PipelineDefinition> {
  if (typeof text !== "string") throw new OptionError("text", text, "a text");
  only("", options, ["registry", "file", "env", "signal"]);
  const { registry = pipelineRegistry(), env = {}, file: name = "pipeline.yaml" } = options;
  textOption("file", name);
  if (!(registry.adapters instanceof Map && registry.sources instanceof Map))
    throw new OptionError("registry", registry, "made by pipelineRegistry()");
  if (typeof env !== "object" || env === null) throw new OptionError("env", "(hidden)", "an object of texts");
  const { signal } = options;
  if (signal !== undefined && !(signal instanceof AbortSignal))
    throw new OptionError("signal", signal, "an AbortSignal");
  const inTime = <T>(work: Promise<T>): Promise<T> => (signal === undefined ? work : orAborted(work, signal));
  const file = readYaml(await inTime(loadYaml()), text, env);
  const faults = [...file.faults];
  const add = (more: readonly KeyedFault[]): void => {
    for (const fault of more) {
      if (faults.length >= YAML_LIMITS.faults) return;
      if (!file.isFaulty(fault.keys))
        faults.push({ fault: discreet(file, fault), offset: file.offsetOf(fault.keys, fault.ofName) });
    }
  };
  const pipeline = await inTime(built(file, registry, add));
  if (faults.length > 0 || pipeline === undefined) throw new PipelineFileError(name, placed(text, faults));
  return pipeline();
}

async function built(
  file: YamlFile,
  registry: PipelineRegistry,
  add: (faults: readonly KeyedFault[]) => void,
): Promise<(() => PipelineDefinition) | undefined> {
  if (file.value === undefined) return undefined;
  const shown = (_: unknown, keys: Keys): string => foundText(file.writtenAt(keys));
  const wrong = shapeFaults(fileShape(registry), file.value, [], shown);
  add(wrong);
  const builder = new FileBuilder(file, registry, wrong);
  await builder.make();
  add(builder.faults);
  const plan = builder.plan();
  if (plan !== undefined) add(graphFaults(plan));
  return () => builder.pipeline();
}

/**
 * A fault without values of the environment. If a value came from a variable, `found` is the text that is written there; in all other
 * faults the values are hidden.
 */
function discreet(file: YamlFile, fault: KeyedFault): KeyedFault {
  if (file.secrets.length === 0) return fault;
  const written = file.writtenAt(fault.keys);
  const isVariable = typeof written === "string" && written !== memberAt(file.value, fault.keys);
  const found = isVariable ? foundText(written) : hideAll(fault.found, file.secrets);
  return { ...fault, found, suggestion: isVariable ? undefined : fault.suggestion };
}

/** Faults with lines and columns, in the order of the file. */
function placed(text: string, faults: readonly OffsetFault[]): FileFault[] {
  const sorted = [...faults].sort((a, b) => a.offset - b.offset);
  let line = 1;
  let start = 0;
  return sorted.map(({ fault: { path, found, allowed, suggestion }, offset }) => {
    for (let end = text.indexOf("\n", start); end >= 0 && end < offset; end = text.indexOf("\n", start)) {
      line++;
      start = end + 1;
    }
    return { line, column: offset - start + 1, path, found, allowed, suggestion };
  });
}

/** @internal Loads the parser. @throws PackageMissingError */
export async function loadYaml(
  load: () => Promise<YamlPackage> = () => import("yaml"),
): Promise<YamlPackage> {
  return load().catch((error: unknown) => {
    throw new PackageMissingError("yaml", "^2.9.0", "a pipeline of YAML", error);
  });
}
