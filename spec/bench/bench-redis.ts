// The Redis server of a run of benchmarks: on loopback, in memory alone, so that its disk slows nobody.

import { spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

/** How the processes of a run find the socket of the server. */
const VARIABLE = "SIGNALBOX_BENCH_REDIS";

function program(): string | undefined {
  return [...(process.env.PATH ?? "").split(delimiter), "/usr/bin"]
    .map((folder) => join(folder, "redis-server"))
    .find((path) => {
      try {
        accessSync(path, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** Why there can be no server here. Undefined: there can. */
export const noRedis: string | undefined =
  program() === undefined
    ? "no redis-server on this machine (Debian: apt-get install redis-server)"
    : undefined;

/** Starts the server of this run, for this process and its children. Undefined where there is no Redis. */
export async function startBenchRedis(): Promise<AsyncDisposable | undefined> {
  const path = program();
  if (path === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), "signalbox-redis-"));
  const socket = join(folder, "redis.sock");
  const flags = ["--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--dir", folder];
  const child = spawn(path, flags, { stdio: ["ignore", "pipe", "inherit"] });
  const gone = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const kill = (): void => {
    child.kill("SIGKILL");
  };
  process.once("exit", kill);
  let log = "";
  await new Promise<void>((resolve, reject) => {
    child.stdout.on("data", (chunk: Buffer) => {
      // Read to the end of its life, or the pipe would fill and stop it.
      if (log.length < 100_000) log += chunk.toString();
      if (log.includes("eady to accept connections")) resolve();
    });
    child.once("error", reject);
    void gone.then(() => reject(new Error(`redis-server has ended:\n${log}`)));
  });
  process.env[VARIABLE] = socket;
  return {
    [Symbol.asyncDispose]: async () => {
      kill();
      await gone;
      process.off("exit", kill);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The socket of the run's server. */
export function benchRedis(): string {
  const socket = process.env[VARIABLE];
  if (socket === undefined) throw new Error("the run has no Redis server");
  return socket;
}
