// The one rule for what tells processes apart in metrics and spans: names that the code of the service gives to definitions, children
// and registries. Never keys, pids or payloads, of which there are without end, and which outsiders choose.

import type { Pid } from "../../process/pid.js";
import { Via } from "../../process/via.js";
import { MAX_LABELS, OTHER } from "./options.js";

/** The label of a process that has none. */
const UNLABELLED = "process";

/** Stands for a registered name that no process has. The caller may have made the name up, so it is no label. */
export const UNREGISTERED = "unregistered";

/**
 * The name of an address for metrics: the label of its process, or, if no process holds the key, the name of the registry.
 *
 * @param address - the pid of the process if there is one; otherwise, what was asked for
 */
export function nameOf(address: Pid<never> | string): string {
  if (typeof address === "string") return UNREGISTERED;
  if (address instanceof Via) return address.family ?? UNREGISTERED;
  return address.label ?? UNLABELLED;
}

/** The names that one system has seen. */
export class Labels {
  readonly #known = new Set<string>();
  /** Processes that are not called by their label. */
  #defined: WeakMap<Pid<never>, string> | undefined = undefined;

  /** Names a process by its definition, since its label may be a key. */
  define(pid: Pid, definition: string): void {
    this.#defined ??= new WeakMap();
    this.#defined.set(pid, definition);
  }

  /** {@link nameOf} an address. Of very many names, those that come last are `other`. */
  of(address: Pid<never> | string): string {
    const defined = typeof address === "string" ? undefined : this.#defined?.get(address);
    return this.name(defined ?? nameOf(address));
  }

  /** The same for a name that the code of the service has given. */
  name(name: string): string {
    if (this.#known.has(name)) return name;
    if (this.#known.size >= MAX_LABELS) return OTHER;
    this.#known.add(name);
    return name;
  }
}
