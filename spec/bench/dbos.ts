// Flows on DBOS, on the same PostgreSQL server as ours. `dbos.js DATABASE FLOWS STEPS` starts flows, and prints `ready` when each of
// them has done the first half of its steps.

import { fileURLToPath } from "node:url";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { benchPostgres } from "./bench-postgres.js";
import { READY, runAndKill } from "./killed.js";
import { type Program, Stopwatch } from "./program.js";
import { SIZES } from "./sizes.js";
import { sumOfAll } from "./sums.js";

/** Connections. */
const POOL = 20;

/** How many flows wait in the middle, and whether they do. */
const half = { waits: false, reached: 0 };
const forever = new Promise<never>(() => undefined);

const summing: (input: number, steps: number) => Promise<number> = DBOS.registerWorkflow(
  async (input: number, steps: number) => {
    let sum = 0;
    for (let i = 0; i < steps; i++)
      sum += await DBOS.runStep(
        async () => {
          if (half.waits && i === steps / 2) {
            half.reached++;
            await forever;
          }
          return input + i;
        },
        { name: `step-${i}` },
      );
    return sum;
  },
  { name: "summing" },
);

async function launch(database: string): Promise<void> {
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: await benchPostgres(database),
    systemDatabasePoolSize: POOL,
    applicationVersion: "1",
    runAdminServer: false,
    logLevel: "error",
  });
  await DBOS.launch();
}

let launched: Promise<void> | undefined;
let runs = 0;

/** All flows at once. Gives the sum of their results. */
async function runAll(flows: number, steps: number): Promise<number> {
  const run = `${process.pid}-${runs++}`;
  const starts = Array.from({ length: flows }, (_, n) =>
    DBOS.startWorkflow(summing, { workflowID: `${run}-${n}` })(n, steps),
  );
  const sums = await Promise.all((await Promise.all(starts)).map((handle) => handle.getResult()));
  return sums.reduce((a, b) => a + b, 0);
}

/** A run takes many seconds: one is measured, after one of a fifth of the flows. */
const WARM_UP = 0.2;

/** Flows that run at once. DBOS is launched and warm before the time begins. */
export function flowSteps(flows: number, steps: number): Program {
  const operations = flows * steps;
  return {
    operations,
    expected: sumOfAll(flows, steps),
    once: true,
    run: async () => {
      launched ??= launch("dbos_steps");
      await launched;
      await runAll(Math.ceil(flows * WARM_UP), steps);
      const watch = new Stopwatch();
      const counted = await runAll(flows, steps);
      const { wallMs, cpuMs } = watch.read();
      return {
        counted,
        figures: { perSecond: (operations * 1_000) / wallMs, perCpuSecond: (operations * 1_000) / cpuMs },
      };
    },
  };
}

/** From the launch of DBOS, after the process before it was killed half-way, until all flows have ended. */
export function recovery(flows: number, steps: number, child: readonly string[]): Program {
  return {
    operations: flows,
    expected: sumOfAll(flows, steps),
    once: true,
    run: async () => {
      const database = `dbos_recovery_${process.pid}`;
      await benchPostgres(database);
      await runAndKill([...child, database, String(flows), String(steps)]);
      const watch = new Stopwatch();
      await launch(database);
      const results = Array.from({ length: flows }, (_, n) =>
        DBOS.retrieveWorkflow<number>(`half-${n}`).getResult(),
      );
      const sums = await Promise.all(results);
      const { wallMs } = watch.read();
      return {
        counted: sums.reduce((a, b) => a + b, 0),
        figures: { ms: wallMs },
        end: () => DBOS.shutdown(),
      };
    },
  };
}

const HERE = fileURLToPath(import.meta.url);
const { atOnce, steps } = SIZES.flows;

export const programs: Readonly<Record<string, Program>> = {
  "flow-steps-postgres": flowSteps(atOnce, steps),
  "flow-recovery-postgres": recovery(atOnce, steps, [HERE]),
};

if (process.argv[1] === HERE) {
  const [database = "", flows, steps] = process.argv.slice(2);
  await launch(database);
  half.waits = true;
  for (let n = 0; n < Number(flows); n++)
    await DBOS.startWorkflow(summing, { workflowID: `half-${n}` })(n, Number(steps));
  while (half.reached < Number(flows)) await new Promise((resolve) => setImmediate(resolve));
  process.stdout.write(READY);
}
