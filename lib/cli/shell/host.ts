// What the command uses of Node. The only file of this floor that reaches it, besides the program itself.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect as netConnect, type Socket } from "node:net";
import { dirname, resolve } from "node:path";
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
