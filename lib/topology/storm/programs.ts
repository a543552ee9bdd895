// The programs of shell components. Their files go into the jar, under `resources`.

import { madeBy } from "../definition/made-by.js";
import type { Topology } from "../topology.js";
import { checkTopology } from "./options.js";

/** The program of a shell component. */
export interface ShellProgram {
  /** Name of the component. */
  readonly component: string;
  /** The program: a path, or a name to find in `PATH`. */
  readonly command: string;
  /** The arguments of the program. */
  readonly args: readonly string[];
}

/**
 * The programs that the shell components of a topology start, in the order of the components.
 *
 * @throws OptionError when the argument is no topology
 * @example
 * const lines = shellSpout({ command: "python3", args: ["lines.py"], streams: { lines: { text: field.text } } });
 * const print = bolt({ input: { text: field.text }, execute: ({ values }) => console.log(values.text) });
 * const printed = topology("printed").spout("lines", lines).bolt("print", print, { from: { "lines.lines": grouping.all() } }).build();
 * console.log(shellPrograms(printed)); // [{ component: "lines", command: "python3", args: ["lines.py"] }]
 */
export function shellPrograms(topology: Topology): readonly ShellProgram[] {
  return checkTopology(topology).components.flatMap(({ name, definition }) => {
    const made = madeBy(definition);
    return made?.by === "shell" ? [{ component: name, command: made.command, args: made.args }] : [];
  });
}
