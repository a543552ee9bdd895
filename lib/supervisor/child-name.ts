// The names of dynamic children. A template gives each child a name by a function of its arguments, or all of them the same one.

import { OptionError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { text } from "../process/options.js";
import { type Claim, nameVia, type SoleName, type Via } from "../process/via.js";

/** The name of one child, as its supervisor keeps it over restarts. */
export interface ChildName {
  /** The name under which each process of the child is spawned. */
  readonly claim: string | Claim;
  /** The name that tells the child from all others. Undefined when several processes may have the same name. */
  readonly sole: SoleName | undefined;
}

/** The `name` of a template. */
export type TemplateName<A extends readonly unknown[] = readonly never[]> =
  | string
  | Claim
  | ((...args: A) => string | Claim);

/** @throws OptionError */
export function checkTemplateName(path: string, name: unknown): void {
  if (typeof name !== "function") checkName(path, name, "a text, the claim of a registry, or a function");
}

/** A name, and the address of its holder. @throws OptionError, and the errors of the function */
export function childName(
  kernel: Kernel,
  path: string,
  template: TemplateName,
  args: readonly unknown[],
): ChildName & { readonly via: Via | undefined } {
  const claim = typeof template === "function" ? template(...(args as readonly never[])) : template;
  checkName(path, claim, "a function that gives a text or the claim of a registry");
  const via = typeof claim === "string" ? nameVia(kernel, claim) : claim.via?.();
  return { claim, sole: via?.sole, via };
}

function checkName(path: string, name: unknown, expected: string): void {
  if (typeof name === "string") text(path, name);
  else if (typeof (name as Claim | null | undefined)?.claim !== "function")
    throw new OptionError(path, name, expected);
}

/** Children by name. */
export class ByName<T> {
  readonly #places = new Map<object, Map<unknown, T>>();

  get({ place, key }: SoleName): T | undefined {
    return this.#places.get(place)?.get(key);
  }

  set({ place, key }: SoleName, child: T): void {
    const keys = this.#places.get(place) ?? new Map<unknown, T>();
    this.#places.set(place, keys.set(key, child));
  }

  delete({ place, key }: SoleName): void {
    const keys = this.#places.get(place);
    keys?.delete(key);
    if (keys?.size === 0) this.#places.delete(place);
  }

  get size(): number {
    let size = 0;
    for (const keys of this.#places.values()) size += keys.size;
    return size;
  }
}
