// A node as a child of a supervisor: this process owns a process of the operating system. When that is killed, this one crashes, and its
// supervisor starts both again.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Context, defineServer, type ServerDefinition } from "signalbox";

const NODE = fileURLToPath(new URL("./node.js", import.meta.url));

/** Prints a line about what happens. */
export type Say = (line: string) => void;

interface Calls {
  /** Kills the node (kill -9). Replies with the id of its process. */
  kill(child: ChildProcess): number | undefined;
}

export const NodeProcess: ServerDefinition<
  [name: string, servers: string, say: Say],
  Calls,
  Record<never, never>
> = defineServer({
  label: "node",
  init: (ctx: Context<never>, name: string, servers: string, say: Say): ChildProcess => {
    // In a group of processes of its own, so that Ctrl-C reaches the tower alone, which stops its nodes in order.
    const options = { detached: true, stdio: ["pipe", "inherit", "inherit"] as ("pipe" | "inherit")[] };
    const child = spawn(process.execPath, [...process.execArgv, NODE, name, servers], options);
    const ended = ctx.wrap((how: unknown) => {
      throw new Error(`${name} ended: ${how}`);
    });
    child.once("error", ended);
    child.once("exit", (code, signal) => ended(signal ?? `exit code ${code}`));
    child.stdin?.on("error", () => undefined);
    // However this process ends, the node does not outlive it.
    ctx.signal.addEventListener("abort", () => child.kill("SIGKILL"));
    say(`${name} starts as process ${child.pid}`);
    return child;
  },
  calls: {
    kill: (child: ChildProcess): number | undefined => {
      child.kill("SIGKILL");
      return child.pid;
    },
  },
  /** The supervisor stops the node: it ends when its standard input does. */
  terminate: async (child: ChildProcess): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.stdin?.end();
    await ended;
  },
});
