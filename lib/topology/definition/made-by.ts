// How a component was made, as plain data: another host runs a shell component without us, and cannot run a component that has its work
// done on a node of ours. The key is the same in every copy of the library.

import type { Definition } from "./component.js";

/** The options of a shell component, as its author gave them or with their defaults. */
export interface ShellForm {
  readonly by: "shell";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly conf: Readonly<Record<string, unknown>>;
  readonly startTimeoutMs: number;
  readonly timeoutMs: number;
  readonly graceMs: number;
  readonly maxMessage: number;
  readonly heartbeatMs: number;
  readonly maxHeld: number;
  /** Whether a function gets the metrics of the program. */
  readonly hasMetrics: boolean;
}

/** The part of the library that made a component. A component that `spout()` or `bolt()` made has none. */
export type MadeBy =
  | ShellForm
  /** By the builder, for a bolt whose option `on` names threads or nodes. */
  | { readonly by: "placed"; readonly program: string }
  /** By `spoutFrom`. */
  | { readonly by: "iterable" }
  | { readonly by: "batch" }
  /** By `windowBolt`. */
  | { readonly by: "window"; readonly hasEventTime: boolean };

/** The key under which a definition has it. */
const MADE_BY: unique symbol = Symbol.for("signalbox.made-by") as never;

/** The definition, marked with how it was made. */
export function marked<D extends Definition>(definition: D, madeBy: MadeBy): D {
  return Object.freeze({ ...definition, [MADE_BY]: Object.freeze(madeBy) }) as unknown as D;
}

/** How a component was made; undefined for one that `spout()` or `bolt()` made. */
export function madeBy(definition: Definition): MadeBy | undefined {
  return (definition as { readonly [MADE_BY]?: MadeBy })[MADE_BY];
}
