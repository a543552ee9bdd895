// The module that `--code` names: the definitions of flows that it exports, and `payloads`, the options of their values.

import type { AnyFlow } from "../../flow/definition/define.js";
import { definitionsOf, payloadsOf } from "../../flow/runtime/options.js";
import type { PayloadOptions } from "../../host/payload/payloads.js";
import type { Values } from "../../host/payload/values.js";
import { exportsOf, lacks, loadModule, payloadOptions, unusable } from "../shell/module.js";

/** The exports of a module that are about flows. */
export interface Code {
  readonly definitions: readonly AnyFlow[];
  /** As the module exports them. */
  readonly options: PayloadOptions;
  /** How its values are written and read. */
  readonly payloads: Values;
}

/** Loads a module. It must export flows, alone or in lists, or `payloads`. @throws Misuse */
export async function codeOf(module: string, load: (module: string) => Promise<object>): Promise<Code> {
  const exports = await loadModule(module, `flows … --code ${module}`, load);
  const definitions = exportsOf(exports, isFlow);
  if (definitions.length === 0 && exports.payloads === undefined)
    throw lacks(module, "no flow and no payloads", exports);
  const options: PayloadOptions = payloadOptions(module, exports);
  try {
    const payloads = payloadsOf(options, definitionsOf(definitions));
    return { definitions, options, payloads };
  } catch (error) {
    throw unusable(module, (error as Error).message);
  }
}

function isFlow(value: unknown): value is AnyFlow {
  const { name, version, body } = (value ?? {}) as Partial<AnyFlow>;
  return typeof name === "string" && typeof version === "number" && typeof body === "function";
}
