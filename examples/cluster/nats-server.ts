// NATS for the time of a run: the nats-server of this machine, on loopback, at a port that is free. Nothing is kept on the disk.

import { spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const GUARD = fileURLToPath(new URL("./guard.js", import.meta.url));
const NAME = process.platform === "win32" ? "nats-server.exe" : "nats-server";

/** The folders of PATH, and the one where Debian has servers, which the PATH of a user lacks. */
const FOLDERS = [...(process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== ""), "/usr/sbin"];

export const HOW_TO_INSTALL = `There is no nats-server on this machine: it is not on the PATH. Install it, and run this again:

  Debian, Ubuntu   sudo apt-get install nats-server
  macOS            brew install nats-server
  Go               go install github.com/nats-io/nats-server/v2@latest
`;

export interface NatsServer extends AsyncDisposable {
  /** Where it is, for clients. */
  readonly address: string;
  readonly pid: number;
  /** Rejects when the server ends by itself. */
  readonly failed: Promise<never>;
}

/** The path of the program. Undefined: it is in none of the folders. */
export function findServer(folders: readonly string[] = FOLDERS): string | undefined {
  return folders.map((folder) => join(folder, NAME)).find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Starts the server. Resolves when it takes connections. @throws Error when it does not start */
export async function startServer(program: string): Promise<NatsServer> {
  // Port -1: one that is free, which its log names. Ctrl-C reaches the tower alone, so that the server ends last.
  const args = [GUARD, program, "--addr", "127.0.0.1", "--port", "-1"];
  const guard = spawn(process.execPath, args, { detached: true, stdio: ["pipe", "ignore", "pipe"] });
  guard.stdin.on("error", () => undefined);
  const ended = new Promise<void>((resolve) => guard.once("close", () => resolve()));
  let log = "";
  const failed = ended.then(() => Promise.reject(new Error(`nats-server ended:\n${log.slice(-2_000)}`)));
  failed.catch(() => undefined);
  const listening = new Promise<{ readonly address: string; readonly pid: number }>((resolve) => {
    guard.stderr.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-20_000);
      const [, pid, address] = /\[(\d+)\].*Listening for client connections on (\S+)/.exec(log) ?? [];
      if (address !== undefined && log.includes("Server is ready")) resolve({ address, pid: Number(pid) });
    });
  });
  return {
    ...(await Promise.race([listening, failed])),
    failed,
    /** The guard ends the server by its process id, and then itself. */
    [Symbol.asyncDispose]: async () => {
      guard.stdin.end();
      await ended;
    },
  };
}
