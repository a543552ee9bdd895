// Awaits of the host's own code: what a System that is alive costs those who do not use it.

import type { Callbacks } from "signalbox";
import { onSystem, type Program } from "./program.js";

/** Awaits so many numbers, one after the other, and adds them up. */
export async function awaitAll(count: number): Promise<number> {
  let sum = 0;
  for (let value = count; value > 0; value--) sum += await value;
  return sum;
}

/** The host awaits beside a System with a process that waits for messages. */
export function hostAwait(count: number): Program {
  return onSystem(count, (count * (count + 1)) / 2, (system, done) => {
    const idle: Callbacks<never> = { handle: () => undefined };
    system.spawn(idle);
    setImmediate(() => void awaitAll(count).then(done));
  });
}
