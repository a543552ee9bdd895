/**
 * Programs in any language as components of our topologies, and our components in the topologies of another host, by
 * the multilang protocol of Apache Storm.
 *
 *     protocol/   frames, the messages of both sides, tuples as arrays of values
 *     host/       a program in any language runs as a spout or bolt of our topology: `shellBolt`, `shellSpout`; a bolt of ours runs in a
 *                 thread or on another node, by the option `on` of the builder
 *     program/    a spout or bolt of ours runs as a program under another host: `runComponent`, `boltProgram`
 */

export { ShellError, type ShellProblem } from "./host/errors.js";
export { shellBolt } from "./host/shell-bolt.js";
export { SHELL_DEFAULTS, type ShellBoltOptions, type ShellOptions } from "./host/shell-options.js";
export { shellSpout } from "./host/shell-spout.js";
export { boltProgram } from "./program/bolt-program.js";
export { ComponentFailedError } from "./program/errors.js";
export { type ComponentSource, type RunComponentOptions, runComponent } from "./program/run-component.js";
export type { InputStream, OutputStream } from "./program/stdio.js";
export { MultilangError, type MultilangProblem } from "./protocol/errors.js";
