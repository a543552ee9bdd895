// The parts of Node that the command uses. Beside folders.ts, output.ts, screen.ts, spawned.ts and the program itself, the only file of this floor that
// reaches it.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect as netConnect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { complain, print } from "./output.js";

export { parseArgs } from "node:util";
export type { Socket };

/** Connects to a Unix socket. Undefined: there is none, or no host listens there any more. */
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
  print,
  complain,
  load: (module) => import(module.startsWith("file:") ? module : pathToFileURL(resolve(module)).href),
};

/** The facts about the terminal and its user. */
export function terminal(): {
  readonly columns: number | undefined;
  readonly colours: boolean;
  readonly defaultStore: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
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
    env,
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

/** The same, if the program is still there by then: it does not wait for this. */
export function afterIfThere(ms: number, fn: () => void): () => void {
  const timer = setTimeout(fn, ms).unref();
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

/** Draws a line over the one before; undefined clears it. Only on a terminal, and not among what is printed. */
export function draw(line: string | undefined): void {
  const { stderr } = process;
  if (stderr.isTTY === true && process.env.TERM !== "dumb") stderr.write(`\r\u001b[2K${line ?? ""}`);
}

/** The first signal aborts; the second one ends the program at once. */
export function interruption(): { readonly signal: AbortSignal; readonly code: number; release(): void } {
  const controller = new AbortController();
  let code = 0;
  const end = (signal: NodeJS.Signals): void => {
    const by = 128 + ENDS[signal as keyof typeof ENDS];
    if (controller.signal.aborted) process.exit(by);
    code = by;
    controller.abort(new Error(`interrupted by ${signal}`));
  };
  const names = Object.keys(ENDS);
  for (const signal of names) process.on(signal, end);
  return {
    signal: controller.signal,
    get code() {
      return code;
    },
    release: () => {
      for (const signal of names) process.off(signal, end);
    },
  };
}

export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}
