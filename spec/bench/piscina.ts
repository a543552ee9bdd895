// The jobs of pool.ts on piscina.

import { Piscina } from "piscina";
import { jobsOn, THREADS } from "./pool.js";
import type { Program } from "./program.js";
import { SIZES } from "./sizes.js";

export function poolJob(count: number): Program {
  return jobsOn(count, async (filename) => {
    const pool = new Piscina({
      filename,
      minThreads: THREADS,
      maxThreads: THREADS,
      idleTimeout: Number.POSITIVE_INFINITY,
    });
    return { send: (n) => pool.run(n) as Promise<number>, end: () => pool.destroy() };
  });
}

export const programs: Readonly<Record<string, Program>> = {
  "pool-job": poolJob(SIZES.poolJob),
};
