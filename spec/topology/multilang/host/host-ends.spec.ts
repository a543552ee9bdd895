// Programs that hang end with their host, however the host ends, and with their task. The tests kill real processes and
// wait until these are gone, so that `npm run prove` runs them and `npm test` does not.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { field } from "../../../../lib/topology/definition/field.js";
import { shellBolt } from "../../../../lib/topology/multilang/host/shell-bolt.js";
import type { ShellBoltOptions } from "../../../../lib/topology/multilang/host/shell-options.js";
import { proving } from "../../../support/proof.js";
import { python } from "../../../support/python.js";
import { TaskHost } from "./task-host.js";

const canRun = python && process.platform !== "win32";
const dist = process.env.SIGNALBOX_DIST ?? fileURLToPath(new URL("../../../../dist/", import.meta.url));
const built = existsSync(join(dist, "topology/index.js"));
/** Where a process can be known by its environment. */
const proc = existsSync("/proc/self/environ");

const at = (name: string): string => fileURLToPath(new URL(`../components/${name}`, import.meta.url));
const stubborn = (...args: readonly string[]) => ["python3", "-B", "-S", "-E", at("stubborn.py"), ...args];

// A place of its own for what the children leave behind, so that it can be looked at.
const temporary = mkdtempSync(join(tmpdir(), "signalbox-ends-"));
const before = process.env.TMPDIR;
beforeAll(() => {
  process.env.TMPDIR = temporary;
});
afterAll(() => {
  if (before === undefined) delete process.env.TMPDIR;
  else process.env.TMPDIR = before;
  rmSync(temporary, { recursive: true });
});

/** What a test that fails would leave behind: none of it ends by itself. */
const strays: number[] = [];
afterEach(() => {
  for (const pid of strays.splice(0)) if (isAlive(pid)) process.kill(pid, "SIGKILL");
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // One that has ended and was not waited for, as its parent ended too, is there for a while.
  return !proc || !/^State:\s+[ZX]/m.test(textOf(`/proc/${pid}/status`));
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "State: X";
  }
}

/** Resolves when it is so: nobody tells when a process ends that is no child of this one. */
async function eventually(isSo: () => boolean): Promise<void> {
  while (!isSo()) await pause(20);
}

/** Process ids of the reapers that a host has started. */
function reapersOf(host: number | undefined): number[] {
  return spawnSync("ps", ["-A", "-o", "pid=,ppid=,args="], { encoding: "utf8" })
    .stdout.split("\n")
    .filter((line) => line.includes("signalbox-reaper") && Number(line.trim().split(/\s+/)[1]) === host)
    .map((line) => Number.parseInt(line, 10));
}

/** Starts the host with this command as its bolt; resolves with the process ids of the bolt when that hangs. */
async function hostOf(command: readonly string[]): Promise<{ host: ChildProcess; pids: number[] }> {
  const host = spawn(process.execPath, [at("host.mjs"), dist, ...command], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  let said = "";
  host.stdout?.on("data", (text) => {
    said += text;
  });
  await eventually(() => said.includes("hanging") || host.exitCode !== null);
  const pids = /pids ([\d ]+)/.exec(said)?.[1]?.split(" ").map(Number) ?? [];
  strays.push(...pids, ...(host.pid === undefined ? [] : [host.pid]));
  return { host, pids };
}

describe.runIf(proving && python && built)("a host of programs that hang", () => {
  const ends: [string, (host: ChildProcess) => void][] = [
    ["is killed by SIGKILL", (host) => host.kill("SIGKILL")],
    ["is ended by SIGTERM", (host) => host.kill("SIGTERM")],
    ["exits without stopping its system", (host) => host.send("exit")],
  ];

  test.each(ends)("that %s takes them with it, and leaves no directory [M2]", async (_text, end) => {
    const { host, pids } = await hostOf(stubborn("itself"));
    expect([pids.length, pids.every(isAlive), readdirSync(temporary).length]).toEqual([2, true, 1]);
    end(host);
    await eventually(() => !pids.some(isAlive) && readdirSync(temporary).length === 0);
  });

  test("takes with it what a shell started for them", async () => {
    const line = `${stubborn("itself").join(" ")}; echo the shell does not end either`;
    const { host, pids } = await hostOf(["sh", "-c", line]);
    expect(pids.every(isAlive)).toBe(true);
    host.kill("SIGKILL");
    await eventually(() => !pids.some(isAlive) && readdirSync(temporary).length === 0);
  });

  test.skipIf(!proc)("finds one that has left its group, too", async () => {
    const { host, pids } = await hostOf(stubborn("session"));
    expect(pids.every(isAlive)).toBe(true);
    host.kill("SIGKILL");
    await eventually(() => !pids.some(isAlive) && readdirSync(temporary).length === 0);
  });

  test("leaves no reaper behind, and starts a new reaper when its own is killed", async () => {
    const { host, pids } = await hostOf(stubborn("itself"));
    const reapers = (): number[] => reapersOf(host.pid);
    const [first, ...others] = reapers();
    if (first === undefined) throw new Error("there is no reaper");
    expect(others).toEqual([]);
    process.kill(first, "SIGKILL");
    await eventually(() => reapers().some((pid) => pid !== first));
    const now = reapers();
    host.kill("SIGKILL");
    await eventually(() => ![...pids, ...now].some(isAlive));
  });
});

describe.runIf(proving && canRun)("a program that does not want to end", () => {
  const input = { text: field.text };
  const boltOf = ([command = "", ...args]: readonly string[], options: Partial<ShellBoltOptions> = {}) =>
    shellBolt({ command, args, input, graceMs: 100, heartbeatMs: Number.POSITIVE_INFINITY, ...options });
  const pidsOf = async (host: TaskHost): Promise<number[]> => {
    await host.started;
    await host.until(() => host.lines.some((line) => line.startsWith("info: pids ")));
    const pids = host.lines.flatMap(
      (line) => /^info: pids (.*)/.exec(line)?.[1]?.split(" ").map(Number) ?? [],
    );
    strays.push(...pids);
    return pids;
  };

  test("ends when its task is stopped, and so does what it started [M3]", async () => {
    const host = new TaskHost(boltOf(stubborn("itself")));
    const pids = await pidsOf(host);
    expect(pids.every(isAlive)).toBe(true);
    await host.system.stop();
    await eventually(() => !pids.some(isAlive));
    expect(readdirSync(temporary)).toEqual([]);
  });

  test("behind a shell ends with the shell, at once, and its task crashes", async () => {
    await using host = new TaskHost(
      boltOf(["sh", "-c", `echo pids $$ >&2; ${stubborn("itself").join(" ")}; :`]),
    );
    const pids = await pidsOf(host);
    await host.until(() => host.lines.some((line) => line.startsWith("warn: pids ")));
    const shell = /^warn: pids (\d+)/m.exec(host.lines.join("\n"))?.[1] ?? "none";
    process.kill(Number.parseInt(shell, 10), "SIGKILL");
    expect(await host.ended).toMatchObject({ error: { problem: "exited" } });
    await eventually(() => !pids.some(isAlive));
  });

  test.skipIf(!proc)("ends by the process id that it reported, when it has left its group [M4]", async () => {
    const host = new TaskHost(boltOf(stubborn("session")));
    const pids = await pidsOf(host);
    await host.system.stop();
    await eventually(() => !pids.some(isAlive));
  });

  test("cannot have another process ended by reporting that one's id [M4]", async () => {
    const other = spawn("sleep", ["3600"]);
    const host = new TaskHost(boltOf(stubborn("itself", String(other.pid))));
    const pids = await pidsOf(host);
    await host.system.stop();
    await eventually(() => !pids.some(isAlive));
    expect(isAlive(other.pid as number)).toBe(true);
    other.kill();
  });

  test("has a reaper however many programs have ended before; without programs there is no reaper", async () => {
    for (let i = 0; i < 15; i++) {
      const host = new TaskHost(boltOf(["sh", "-c", "exit 1"]));
      await host.ended;
      await host.system.stop();
    }
    const host = new TaskHost(boltOf(stubborn("itself")));
    await pidsOf(host);
    expect(reapersOf(process.pid)).toHaveLength(1);
    await host.system.stop();
    await eventually(() => reapersOf(process.pid).length === 0);
  });

  test("that cannot even be started leaves no directory", async () => {
    await using host = new TaskHost(boltOf(["sh", "a\0b"]));
    expect(await host.ended).toMatchObject({ error: { problem: "start" } });
    expect(readdirSync(temporary)).toEqual([]);
  });
});
