// The lives of a program with a bad flow or message, one after the other.

import { setTimeout as pause } from "node:timers/promises";
import type { Child } from "../../support/child-program.js";
import { READY } from "./deeds.js";

/** A supervisor kills a program that does not answer for so long. */
export const PROBE_MS = 4_000;

/**
 * Waits for the end of a life, and gives what it printed: until the program ends itself, or prints `until`, or is killed so many milliseconds
 * after it was ready.
 */
export async function lived(child: Child, forMs: number, until?: string): Promise<string> {
  const patience = new AbortController();
  const late = child.prints(READY).then(() => pause(forMs, undefined, { signal: patience.signal }));
  await Promise.race([
    child.ended,
    late.catch(() => child.ended),
    ...(until === undefined ? [] : [child.prints(until).catch(() => child.ended)]),
  ]);
  patience.abort();
  child.signal("SIGKILL");
  return (await child.ended).stdout;
}
