// The time of the processor that processes have used, of all their threads, from Linux's /proc.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** What a tick of the clock in /proc is. */
const TICKS_A_SECOND = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));

/** The fields behind the name of the program, which may have spaces and brackets. */
function statOf(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

/** @throws when one of the processes has ended */
export function cpuSeconds(pids) {
  let ticks = 0;
  for (const pid of pids) {
    const [, , , , , , , , , , , user, system] = statOf(pid);
    ticks += Number(user) + Number(system);
  }
  return ticks / TICKS_A_SECOND;
}

/** These processes, and all that they have started. */
export function withDescendants(pids) {
  const children = new Map();
  for (const name of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const parent = Number(statOf(name)[1]);
      children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
    } catch {
      // It has ended meanwhile.
    }
  }
  const all = new Set(pids);
  for (const pid of all) for (const child of children.get(pid) ?? []) all.add(child);
  return [...all];
}
