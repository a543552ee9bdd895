// What the command uses of Node. The only file of this floor that reaches it, besides the program itself.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect as netConnect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

export { parseArgs } from "node:util";
export type { Socket };

/** Connects to a Unix socket. Undefined: there is none, or nobody listens there any more. */
export function connect(path: string): Promise<Socket | undefined> {
  return new Promise((resolve, reject) => {
    const socket = netConnect(path);
    const failed = (error: Error & { code?: string }): void =>
      error.code === "ENOENT" || error.code === "ECONNREFUSED" ? resolve(undefined) : reject(error);
    socket.once("error", failed);
    socket.once("connect", () => {
      socket.off("error", failed);
      resolve(socket);
    });
  });
}

/** The files, modules and terminal of this host. */
export const files: {
  read(path: string): string;
  write(path: string, text: string): void;
  print(text: string): void;
  complain(text: string): void;
  load(module: string): Promise<object>;
} = {
  read: (path) => readFileSync(path, "utf8"),
  write: (path, text) => {
    mkdirSync(dirname(resolve(path)), { recursive: true });
    writeFileSync(path, text);
  },
  print: (text) => console.log(text),
  complain: (text) => console.error(text),
  load: (module) => import(module.startsWith("file:") ? module : pathToFileURL(resolve(module)).href),
};

/** What is known of the terminal and its user. */
export function terminal(): {
  readonly columns: number | undefined;
  readonly colours: boolean;
  readonly defaultStore: string | undefined;
  now(): number;
  moment(text: string): number | undefined;
  iso(moment: number): string;
  absolute(path: string): string;
} {
  const { env, stdout } = process;
  // https://no-color.org: any text that is not empty counts.
  const colours = stdout.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  return {
    columns: stdout.isTTY === true ? stdout.columns : undefined,
    colours,
    defaultStore: env.SIGNALBOX_STORE,
    now: () => Date.now(),
    moment: (text) => {
      const moment = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
      return Number.isNaN(moment) ? undefined : moment;
    },
    iso: (moment) => {
      const date = new Date(moment);
      return Number.isNaN(date.getTime()) ? String(moment) : date.toISOString();
    },
    absolute: (path) => resolve(path),
  };
}

/** Calls `fn` after so many milliseconds. Returns the call that cancels it. */
export function after(ms: number, fn: () => void): () => void {
  const timer = setTimeout(fn, ms);
  return () => clearTimeout(timer);
}

/** Signals by which people and machines end a command, and their numbers. */
const ENDS = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;

/** A folder that only this user may enter. It is removed with the program at the latest. */
export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "signalbox-"));
  const end = (signal: NodeJS.Signals): void => process.exit(128 + ENDS[signal as keyof typeof ENDS]);
  const clear = (): void => rmSync(path, { recursive: true, force: true });
  process.on("exit", clear);
  for (const signal of Object.keys(ENDS)) process.on(signal, end);
  const remove = (): void => {
    process.off("exit", clear);
    for (const signal of Object.keys(ENDS)) process.off(signal, end);
    clear();
  };
  return { path, remove };
}

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
