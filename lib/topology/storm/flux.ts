// The types of a Flux definition, as far as we write them, and its text. Flux reads YAML, and JSON is YAML, with exceptions that the text
// avoids.

import { OptionError } from "../../process/errors.js";
import { checkJson } from "./options.js";

/** A call that Flux makes on an object that it has created. */
export interface FluxCall {
  /** Name of the method. */
  readonly name: string;
  /** Its arguments, by position. */
  readonly args: readonly unknown[];
}

/** An object that Flux creates, and that others refer to by `{ ref: id }`. */
export interface FluxBean {
  /** The name by which others refer to the object. */
  readonly id: string;
  /** Its Java class, or the class that has the `factory`. */
  readonly className: string;
  /** The arguments of its constructor; left out for a constructor without arguments. */
  readonly constructorArgs?: readonly unknown[];
  /** A static method that returns the object, in place of a constructor. */
  readonly factory?: string;
  /** The arguments of the `factory`. */
  readonly factoryArgs?: readonly unknown[];
  /** Calls on the object, in order. */
  readonly configMethods?: readonly FluxCall[];
}

/** A spout or a bolt. */
export interface FluxComponent {
  /** Name of the component. */
  readonly id: string;
  /** Storm's wrapper around a program: `FluxShellSpout` or `FluxShellBolt`. */
  readonly className: string;
  /** The number of executors, which are threads of a worker. */
  readonly parallelism: number;
  /** The number of tasks. Each is a program of its own. */
  readonly numTasks: number;
  /** The command that starts the program, as the one argument. */
  readonly constructorArgs: readonly unknown[];
  /** Its streams, its environment and its configuration. */
  readonly configMethods: readonly FluxCall[];
}

/** How Storm chooses the task that gets a tuple. */
export interface FluxGrouping {
  /** The grouping, by Flux's name. */
  readonly type: "SHUFFLE" | "FIELDS" | "ALL" | "GLOBAL" | "DIRECT" | "LOCAL_OR_SHUFFLE" | "NONE" | "CUSTOM";
  /** Name of the stream. */
  readonly streamId: string;
  /** The fields of `FIELDS`. */
  readonly args?: readonly string[];
  /** The class of `CUSTOM`. */
  readonly customClass?: Omit<FluxBean, "id">;
}

/** A subscription. */
export interface FluxStream {
  /** A name for people: `from.stream -> to`. */
  readonly name: string;
  /** The component that emits the stream. */
  readonly from: string;
  /** The bolt that reads it. */
  readonly to: string;
  /** The stream, and how the task is chosen. */
  readonly grouping: FluxGrouping;
}

/** A topology as Flux reads it. */
export interface FluxDefinition {
  /** Name of the topology in the cluster. */
  readonly name: string;
  /** The keys of Storm's configuration. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Objects that spouts, bolts and groupings refer to. */
  readonly components: readonly FluxBean[];
  /** The spouts, in the order of the topology. */
  readonly spouts: readonly FluxComponent[];
  /** The bolts, in the order of the topology. */
  readonly bolts: readonly FluxComponent[];
  /** The subscriptions, in the order of the topology. */
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
