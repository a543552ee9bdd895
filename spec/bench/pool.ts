// Jobs in worker threads: what one costs beside its work, which is an addition.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { System } from "signalbox";
import { pool } from "signalbox/service";
import { type Figures, type Program, Stopwatch } from "./program.js";

export const THREADS = 2;
/** Callers, each of which sends its next job when the one before is answered. */
const CALLERS = 64;
/** The part of the jobs that comes first and is not timed: new threads have not compiled anything. */
const WARM_UP = 0.2;

/** The worker file, the same for all sides: piscina wants a path. */
const WORKER = "export default (n) => n + 1;\n";

interface Adder {
  default(n: number): number;
}

/** Adds up the answers of `count` jobs. */
async function callAll(count: number, send: (n: number) => Promise<number>): Promise<number> {
  let next = 0;
  let sum = 0;
  const caller = async (): Promise<void> => {
    while (next < count) {
      const answer = await send(++next);
      sum += answer;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return sum;
}

interface Opened {
  send(n: number): Promise<number>;
  end(): Promise<unknown>;
}

/** A program of `count` jobs, on a pool that is open and warm when they are timed. */
export function jobsOn(count: number, open: (file: string) => Promise<Opened>): Program {
  return {
    operations: count,
    expected: count + (count * (count + 1)) / 2,
    run: async () => {
      const folder = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
      const file = join(folder, "worker.mjs");
      writeFileSync(file, WORKER);
      const { send, end } = await open(file);
      await callAll(Math.ceil(count * WARM_UP), send);
      const watch = new Stopwatch();
      const counted = await callAll(count, send);
      const { wallMs, cpuMs } = watch.read();
      const figures: Figures = {
        perSecond: (count * 1_000) / wallMs,
        perCpuSecond: (count * 1_000) / cpuMs,
      };
      return {
        counted,
        figures,
        end: async () => {
          await end();
          rmSync(folder, { recursive: true });
        },
      };
    },
  };
}

export function poolJob(count: number): Program {
  return jobsOn(count, async (file) => {
    const system = new System({ report: false });
    const adding = await system.start(pool<Adder>(pathToFileURL(file), { size: THREADS }));
    return { send: (n) => adding.run(n), end: () => system.stop() };
  });
}
