// This process of the operating system, and moments, as messages for people have them.

import { optionalModule } from "./node-modules.js";

/** Such as `process 4711 on shop-2`. */
export function processName(): string {
  const pid = optionalModule("node:process")?.pid;
  const host = optionalModule("node:os")?.hostname();
  return pid === undefined || host === undefined ? "a process" : `process ${pid} on ${host}`;
}

/** Milliseconds since 1970 as `2026-03-01 08:30:00 UTC`. */
export function utcOf(ms: number): string {
  const utc = new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium", timeZone: "UTC" });
  return `${utc.format(ms)} UTC`;
}
