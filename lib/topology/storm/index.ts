/**
 * signalbox/storm: a topology for a cluster of Apache Storm. Flux, a tool that comes with Storm, builds a topology from a
 * definition; this entry writes the definition, and finds what Storm has no form for. No file is read or written here: the command
 * `signalbox storm` does that.
 *
 *     findings     what cannot be exported, and what behaves differently under Storm, by name and place
 *     …-rules      where findings come from: one file for each part of a topology
 *     definition   the Flux definition: configuration, components, subscriptions; `flux` has its types and its text
 *     programs     the programs of shell components, whose files go into the jar
 *
 * @example
 * const lines = spoutFrom([{ text: "to be or not" }], { fields: { text: field.text } });
 * const print = bolt({ input: { text: field.text }, execute: ({ values }) => console.log(values.text) });
 * const printed = topology("printed")
 *   .spout("lines", lines)
 *   .bolt("print", print, { tasks: 2, from: { "lines.items": grouping.shuffle() } })
 *   .build();
 * for (const { place, text } of stormFindings(printed)) console.log(`${place}: ${text}`);
 * console.log(fluxText(fluxDefinition(printed, { workers: 2 })));
 */

export { fluxDefinition } from "./definition.js";
export { StormExportError } from "./errors.js";
export type { StormFinding } from "./finding.js";
export { stormFindings } from "./findings.js";
export {
  type FluxBean,
  type FluxCall,
  type FluxComponent,
  type FluxDefinition,
  type FluxGrouping,
  type FluxStream,
  fluxText,
} from "./flux.js";
export type { StormOptions } from "./options.js";
export { type ShellProgram, shellPrograms } from "./programs.js";
