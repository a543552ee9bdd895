/**
 * Components in other programs, and ours under other hosts, by the multilang protocol of Apache Storm.
 *
 *     codec.ts, messages.ts, requests.ts, fields.ts   the wire: frames, what either side says, tuples as arrays
 *     shell-bolt.ts, shell-spout.ts                   a program in any language as a component of our topologies
 *     shell.ts, keeper.ts, child.ts, watcher.ts       its life: as long as its task's, and its host's
 *     run-component.ts                                a component of ours as a program under another host
 *     wire-bolt.ts, wire-spout.ts, stdio.ts           what it does there, and how it is reached
 */

export {
  ComponentFailedError,
  MultilangError,
  type MultilangProblem,
  ShellError,
  type ShellProblem,
} from "./errors.js";
export { type ComponentSource, type RunComponentOptions, runComponent } from "./run-component.js";
export { shellBolt } from "./shell-bolt.js";
export { SHELL_DEFAULTS, type ShellBoltOptions, type ShellOptions } from "./shell-options.js";
export { shellSpout } from "./shell-spout.js";
export type { InputStream, OutputStream } from "./stdio.js";
