// Every process of a cluster carries a mark in its environment, which its children inherit: the supervisor's workers and
// their components too, whatever group they are in. By the mark they are found and ended, also by the guard after a SIGKILL.

import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const MARK = "SIGNALBOX_STORM_CLUSTER";
/** Looks at the processes until none is left, so that one that starts another while it is looked at leaves none. */
const MOST_LOOKS = 100;

function read(pid, what) {
  try {
    return readFileSync(`/proc/${pid}/${what}`, "utf8");
  } catch {
    // It has ended, or it belongs to somebody else.
    return "";
  }
}

/** The processes with this mark: their ids, command lines, and parents. */
export function marked(mark) {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => read(pid, "environ").split("\0").includes(`${MARK}=${mark}`))
    .map((pid) => ({
      pid: Number(pid),
      command: read(pid, "cmdline").split("\0"),
      parent: Number(read(pid, "stat").split(") ")[1]?.split(" ")[1]),
    }));
}

/** Kills all processes with this mark. @returns the command lines of those that did not end */
export async function endAll(mark) {
  for (let look = 0; look < MOST_LOOKS; look++) {
    const left = marked(mark);
    if (left.length === 0) return [];
    for (const { pid } of left) kill(pid);
    await pause(20);
  }
  return marked(mark).map(({ command }) => command.join(" "));
}

/** Kills a process, if there still is one. */
export function kill(pid) {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if (error.code !== "ESRCH") throw error;
  }
}

/**
 * Starts a process that ends all processes with this mark as soon as ours is gone, however it went. It waits at the end of
 * a pipe, as it has no other way to notice a SIGKILL.
 */
export function guard(mark) {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), mark], {
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  child.unref();
  child.stdin.unref();
  child.on("error", () => undefined);
  return { end: () => child.stdin.end() };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.stdin.resume();
  process.stdin.on("end", () => void endAll(process.argv[2]));
}
