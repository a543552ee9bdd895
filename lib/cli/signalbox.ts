// The command `signalbox`: finds the subcommand that its words name. A subcommand is loaded when it is asked for: `replay` loads
// no store and no flow, `flows` loads no simulator.

import { hint } from "./shell/arguments.js";
import { EXIT } from "./shell/exit.js";

/** Runs with the words and options behind its own name. Resolves with the exit code. */
export type Subcommand = (args: readonly string[]) => Promise<number>;

/** The surroundings of the command. */
export interface Shell {
  print(text: string): void;
  complain(text: string): void;
  /** Of the package. */
  readonly version: string;
  /** By name. */
  readonly subcommands: Readonly<Record<string, () => Promise<Subcommand>>>;
}

const OVERVIEW = `usage: signalbox replay FILE …    shows a failing schedule of the simulator, and runs it again
       signalbox flows COMMAND …  lists, inspects and changes durable flows
       signalbox pipelines COMMAND …  checks and runs pipelines, lists, inspects and changes their executions
       signalbox queues COMMAND …  lists durable queues, and their dead letters; retries, edits and drops these
       signalbox system COMMAND …  looks at a running program: processes, supervisors, topologies, groups of consumers
       signalbox observe …        opens a page that shows a running program, or a store
       signalbox top …            shows a running program on a screen: processes by mailbox, messages or busy time, and what went wrong
       signalbox storm COMMAND …  checks a topology for Apache Storm, exports it as a jar, and submits that to a cluster
       signalbox nodes …          lists the nodes that a running program knows, as system nodes does

  --help     shows this text, or that of a subcommand: signalbox flows --help
  --version  shows the version of signalbox

exit codes: 0 fine; 1 the answer is no; 2 wrong arguments, or something that cannot be used; others: see the subcommand`;

/** Short names, for commands that people look for by themselves. */
const SHORT: Readonly<Record<string, readonly string[]>> = { nodes: ["system", "nodes"] };

/** Runs the command. Returns its exit code. */
export async function signalbox(given: readonly string[], shell: Shell): Promise<number> {
  const [first = "", ...others] = given;
  const args = Object.hasOwn(SHORT, first) ? [...(SHORT[first] as readonly string[]), ...others] : given;
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h") {
    shell.print(OVERVIEW);
    return EXIT.fine;
  }
  const names = Object.keys(shell.subcommands);
  const found = Object.hasOwn(shell.subcommands, name) ? shell.subcommands[name] : undefined;
  // Behind a command of a subcommand it is an option: `flows list --version 2`.
  const isVersion = (word: string | undefined): boolean => word === "--version" || word === "-v";
  if (isVersion(name) || (found !== undefined && rest.length === 1 && isVersion(rest[0]))) {
    shell.print(shell.version);
    return EXIT.fine;
  }
  if (found !== undefined) return (await found())(rest);
  const problem = name.startsWith("-")
    ? "the subcommand comes before its options"
    : `there is no command ${name}`;
  shell.complain(
    `signalbox: ${problem}${hint(name, [...names, ...Object.keys(SHORT), "--help", "--version"])}\n${OVERVIEW}`,
  );
  return EXIT.misuse;
}
