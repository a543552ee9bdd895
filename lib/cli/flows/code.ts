// The module that `--code` names: the definitions of flows that it exports, and `payloads`, the options of their values.

import type { AnyFlow } from "../../flow/definition/define.js";
import type { PayloadOptions } from "../../flow/payload/payloads.js";
import { Definitions } from "../../flow/runtime/options.js";
import { payloadsOf } from "../../flow/runtime/payloads.js";
import type { Payloads } from "../../flow/runtime/port.js";
import { Misuse } from "../shell/arguments.js";
import { notLoaded } from "../shell/not-loaded.js";

/** What a module says about flows. */
export interface Code {
  readonly definitions: readonly AnyFlow[];
  /** As the module exports them. */
  readonly options: PayloadOptions;
  /** How its values are written and read. */
  readonly payloads: Payloads;
}

/** Loads a module. It must export flows, alone or in lists, or `payloads`. @throws Misuse */
export async function codeOf(module: string, load: (module: string) => Promise<object>): Promise<Code> {
  let exports: { readonly payloads?: PayloadOptions };
  try {
    exports = await load(module);
  } catch (error) {
    throw new Misuse(notLoaded(module, error, `flows … --code ${module}`));
  }
  const values: readonly unknown[] = Object.values(exports).flat();
  const definitions = [...new Set(values.filter(isFlow))];
  const { payloads: options } = exports;
  if (definitions.length === 0 && options === undefined)
    throw new Misuse(
      `${module} exports no flow and no payloads, only: ${Object.keys(exports).join(", ") || "nothing"}`,
    );
  if (options !== undefined && (typeof options !== "object" || options === null))
    throw new Misuse(`${module} cannot be used: payloads must be an object of options`);
  try {
    const payloads = payloadsOf(options ?? {}, new Definitions(definitions).errors);
    return { definitions, options: options ?? {}, payloads };
  } catch (error) {
    throw new Misuse(`${module} cannot be used: ${(error as Error).message}`);
  }
}

function isFlow(value: unknown): value is AnyFlow {
  const { name, version, body } = (value ?? {}) as Partial<AnyFlow>;
  return typeof name === "string" && typeof version === "number" && typeof body === "function";
}
