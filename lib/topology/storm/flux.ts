// The types of a Flux definition, as far as we write them, and its text. Flux reads YAML, and JSON is YAML, with exceptions that the text
// avoids.

import { OptionError } from "../../process/errors.js";
import { checkJson } from "./options.js";

/** A call that Flux makes on an object that it has created. */
export interface FluxCall {
  readonly name: string;
  readonly args: readonly unknown[];
}

/** An object that Flux creates, and that others refer to by `{ ref: id }`. */
export interface FluxBean {
  readonly id: string;
  readonly className: string;
  readonly constructorArgs?: readonly unknown[];
  /** A static method that returns the object, in place of a constructor. */
  readonly factory?: string;
  readonly factoryArgs?: readonly unknown[];
  readonly configMethods?: readonly FluxCall[];
}

/** A spout or a bolt. */
export interface FluxComponent {
  readonly id: string;
  readonly className: string;
  /** The number of executors, which are threads of a worker. */
  readonly parallelism: number;
  /** The number of tasks. Each is a program of its own. */
  readonly numTasks: number;
  readonly constructorArgs: readonly unknown[];
  readonly configMethods: readonly FluxCall[];
}

/** How Storm chooses the task that gets a tuple. */
export interface FluxGrouping {
  readonly type: "SHUFFLE" | "FIELDS" | "ALL" | "GLOBAL" | "DIRECT" | "LOCAL_OR_SHUFFLE" | "NONE" | "CUSTOM";
  readonly streamId: string;
  /** The fields of `FIELDS`. */
  readonly args?: readonly string[];
  /** The class of `CUSTOM`. */
  readonly customClass?: Omit<FluxBean, "id">;
}

/** A subscription. */
export interface FluxStream {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly grouping: FluxGrouping;
}

/** A topology as Flux reads it. */
export interface FluxDefinition {
  readonly name: string;
  /** The keys of Storm's configuration. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Objects that spouts, bolts and groupings refer to. */
  readonly components: readonly FluxBean[];
  readonly spouts: readonly FluxComponent[];
  readonly bolts: readonly FluxComponent[];
  readonly streams: readonly FluxStream[];
}

/**
 * The text of a Flux definition: JSON that means the same as YAML, in whatever character set Java reads it. `$` is written as an escape,
 * because Flux takes `${…}` for a property, and fails without a file of properties.
 *
 * @throws OptionError when the definition cannot be written as JSON
 * @example
 * const lines = spoutFrom([{ text: "to be" }], { fields: { text: field.text } });
 * const print = bolt({ input: { text: field.text }, execute: ({ values }) => console.log(values.text) });
 * const printed = topology("printed").spout("lines", lines).bolt("print", print, { from: { "lines.items": grouping.all() } }).build();
 * const text = fluxText(fluxDefinition(printed));
 */
export function fluxText(definition: FluxDefinition): string {
  if (![definition?.spouts, definition?.bolts, definition?.streams].every(Array.isArray))
    throw new OptionError("definition", definition, "a Flux definition, as `fluxDefinition` returns it");
  checkJson("definition", definition);
  const text = JSON.stringify(definition, undefined, 2);
  return `${text.replace(/[$\u007f-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
}
