// Awaits of the host's own code: what a System that is alive costs those who do not use it.

import type { Callbacks } from "signalbox";
import { type Figures, onSystem, type Program, Stopwatch } from "./program.js";

/** Awaits so many numbers, one after the other, and adds them up. */
export async function awaitAll(count: number): Promise<number> {
  let sum = 0;
  for (let value = count; value > 0; value--) sum += await value;
  return sum;
}

/** After this long a System has taken its promise hooks away, unless a process awaits the host. */
const QUIET_MS = 150;

const idle: Callbacks<never> = { handle: () => undefined };

/** The host awaits beside a System whose processes wait for messages: one of callbacks, and one of a function body. */
export function hostAwait(count: number): Program {
  let figures: Figures = {};
  const program = onSystem(count, (count * (count + 1)) / 2, (system, done) => {
    system.spawn(idle);
    system.spawn(async (ctx) => void (await ctx.receive()));
    setTimeout(async () => {
      const watch = new Stopwatch();
      const sum = await awaitAll(count);
      const { wallMs, cpuMs } = watch.read();
      figures = { perSecond: (count * 1_000) / wallMs, perCpuSecond: (count * 1_000) / cpuMs };
      done(sum);
    }, QUIET_MS);
  });
  return { ...program, run: async () => ({ ...(await program.run()), figures }) };
}
