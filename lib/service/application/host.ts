// The host of a service: its signals, its stray errors, its exit code and its end. The only file of this room that reaches Node.

import { node } from "../../process/node-modules.js";
import { shared } from "../../process/origin.js";

/**
 * The host of a service. `run` uses the Node process. Tests pass an object of their own, or `host: false`.
 */
export interface Host {
  /** Calls `listener` at each signal of this name. Returns the function that ends this. */
  onSignal(signal: string, listener: () => void): () => void;
  /**
   * Calls `listener` for errors that belong to no process: uncaught exceptions and unhandled rejections, as `origin` says. Returns
   * the function that ends this.
   */
  onError(listener: (error: unknown, origin: string) => void): () => void;
  /** Keeps the host running although nothing else does. Returns the function that ends this. */
  keepAlive(): () => void;
  /** Calls `fn` after so many milliseconds, unless the host ends before. Returns the function that cancels. */
  after(delayMs: number, fn: () => void): () => void;
  /** Resolves when all output written so far has left the program. */
  flush(): Promise<void>;
  /** Sets the exit code with which the host will end. */
  setExitCode(code: number): void;
  /** Ends the host at once. */
  exit(code: number): void;
}

/** The longest time that a timer of Node waits, in milliseconds. */
const LONGEST_MS = 2_147_483_647;

/** The stream has taken all that was written to it, or will take no more. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    // A reader that is gone is no reason to fail: the output has nowhere to go.
    stream.on("error", () => resolve());
    stream.write("", () => resolve());
  });
}

/** The Node process. */
export const nodeHost: Host = {
  onSignal: (signal, listener) => {
    const { process } = node;
    process.on(signal as NodeJS.Signals, listener);
    return () => void process.off(signal as NodeJS.Signals, listener);
  },
  // Unhandled rejections come here too, after signalbox has claimed those of processes. If the host has a listener of its own for
  // `unhandledRejection`, that listener gets them instead.
  onError: (listener) => {
    const { process } = node;
    process.on("uncaughtException", listener);
    return () => void process.off("uncaughtException", listener);
  },
  keepAlive: () => {
    const timer = node.timers.setInterval(() => undefined, LONGEST_MS);
    return () => node.timers.clearInterval(timer);
  },
  after: (delayMs, fn) => {
    if (delayMs === Number.POSITIVE_INFINITY) return () => undefined;
    const timer = node.timers.setTimeout(fn, Math.min(delayMs, LONGEST_MS)).unref();
    return () => node.timers.clearTimeout(timer);
  },
  flush: async () => {
    const { stdout, stderr } = node.process;
    await Promise.all([written(stdout), written(stderr)]);
  },
  setExitCode: (code) => {
    node.process.exitCode = code;
  },
  exit: (code) => node.process.exit(code),
};

/** Whether a signal of this name exists and a program may listen to it. SIGKILL and SIGSTOP never arrive. */
export function isSignal(name: string): boolean {
  return name in node.os.constants.signals && name !== "SIGKILL" && name !== "SIGSTOP";
}

/** A service that lives on a host, as the other services on that host see it. */
export interface Fellow {
  readonly name: string;
  /** Another service on this host has failed. */
  fellowFailed(name: string): void;
}

/** The services on one host. */
export interface Lodgers {
  readonly living: Set<Fellow>;
  /** The exit code of the first service that failed. */
  exitCode: number;
  /** Whether one of them ended for a reason that ends the host. */
  endsHost: boolean;
}

const byHost = shared("services", () => new WeakMap<Host, Lodgers>());

/** The services on a host, of all copies of the library. */
export function lodgersOf(host: Host): Lodgers {
  let lodgers = byHost.get(host);
  if (lodgers === undefined) {
    lodgers = { living: new Set(), exitCode: 0, endsHost: false };
    byHost.set(host, lodgers);
  }
  return lodgers;
}
