// Flows of trivial steps: many at once, one alone, long ones, some after a crash, and many asleep.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { System } from "signalbox";
import { defineFlow, type FlowDefinition, type FlowHost, flowHost } from "signalbox/flow";
import { postgres, type StoreSource, sqlite } from "signalbox/store";
import { benchPostgres } from "./bench-postgres.js";
import { runAndKill } from "./killed.js";
import { NODE_FLAGS } from "./measure.js";
import { type Figures, type Program, type Run, Stopwatch } from "./program.js";
import { SIZES } from "./sizes.js";
import { sumOf, sumOfAll } from "./sums.js";

/** What a flow is given: where its numbers begin, and how many steps it has. */
export interface Sum {
  readonly from: number;
  readonly steps: number;
}

/** Adds up what its steps return. `before` is called in each step. */
export function summing(before?: (step: number) => Promise<void> | undefined): FlowDefinition<Sum, number> {
  return defineFlow("summing", async (flow, { from, steps }: Sum) => {
    let sum = 0;
    for (let i = 0; i < steps; i++)
      sum += await flow.step(`step-${i}`, () => {
        const waiting = before?.(i);
        return waiting === undefined ? from + i : waiting.then(() => from + i);
      });
    return sum;
  });
}

/** Sleeps for a month. */
export const sleeping: FlowDefinition<number, number> = defineFlow("sleeping", async (flow, n: number) => {
  await flow.sleep("30 days");
  return n;
});

/** A folder for a store, and its removal. */
export function folder(): { readonly file: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "signalbox-bench-"));
  return { file: join(path, "flows.db"), remove: () => rmSync(path, { recursive: true }) };
}

/** A host on a store. Made outside of the time. */
async function hostOn(store: StoreSource): Promise<{ readonly host: FlowHost; end(): Promise<void> }> {
  const system = new System({ report: false });
  const host = await system.start(flowHost({ store, flows: [summing(), sleeping] }));
  return { host, end: () => system.stop() };
}

const definition = summing();

/** All flows at once. Gives the sum of their results. */
async function runAll(host: FlowHost, flows: number, steps: number): Promise<number> {
  const starts = Array.from({ length: flows }, (_, from) => host.start(definition, { from, steps }));
  const results = (await Promise.all(starts)).map((run) => run.result());
  return (await Promise.all(results)).reduce((a, b) => a + b, 0);
}

function rates(operations: number, { wallMs, cpuMs }: ReturnType<Stopwatch["read"]>): Figures {
  return {
    perSecond: (operations * 1_000) / wallMs,
    perCpuSecond: (operations * 1_000) / cpuMs,
    ns: (wallMs * 1e6) / operations,
    cpuNs: (cpuMs * 1e6) / operations,
  };
}

/** On a new store: `work` is timed, from the start of the first flow to the last result. */
async function timed(
  open: () => Promise<{ readonly store: StoreSource; remove(): void }>,
  operations: number,
  work: (host: FlowHost) => Promise<number>,
): Promise<Run> {
  const { store, remove } = await open();
  const { host, end } = await hostOn(store);
  const watch = new Stopwatch();
  const counted = await work(host);
  const figures = rates(operations, watch.read());
  return {
    counted,
    figures,
    end: async () => {
      await end();
      remove();
    },
  };
}

/** SQLite with a sync at each commit. */
async function onSqlite(): Promise<{ readonly store: StoreSource; remove(): void }> {
  const { file, remove } = folder();
  return { store: sqlite(file), remove };
}

/** The server of this run of benchmarks. */
async function onPostgres(): Promise<{ readonly store: StoreSource; remove(): void }> {
  return { store: postgres(await benchPostgres("signalbox_steps")), remove: () => undefined };
}

/** Many flows at once. */
export function flowSteps(flows: number, steps: number, store: "sqlite" | "postgres"): Program {
  const operations = flows * steps;
  return {
    operations,
    expected: sumOfAll(flows, steps),
    run: () =>
      timed(store === "sqlite" ? onSqlite : onPostgres, operations, (host) => runAll(host, flows, steps)),
  };
}

/** One flow alone, one step after the other. */
export function lonelyStep(steps: number): Program {
  return {
    operations: steps,
    expected: sumOf(0, steps),
    run: () => timed(onSqlite, steps, (host) => runAll(host, 1, steps)),
  };
}

/** Flows of so many steps, one after the other, until there were `all` steps: what a step costs in a flow of that length. */
export function longFlows(steps: number, all: number): Program {
  const flows = all / steps;
  return {
    operations: all,
    expected: sumOfAll(flows, steps),
    run: () =>
      timed(onSqlite, all, async (host) => {
        let sum = 0;
        for (let from = 0; from < flows; from++)
          sum += await (await host.start(definition, { from, steps })).result();
        return sum;
      }),
  };
}

/** What the benchmarks' own child is given to do: see flow-child.ts. */
export type ChildArgs = (role: "half" | "sleep" | "weigh", ...args: readonly string[]) => readonly string[];

/** Half of the steps of all flows are done when the host is killed: from the start of the next host until all flows have ended. */
export function recovery(
  flows: number,
  steps: number,
  store: "sqlite" | "postgres",
  child: ChildArgs,
): Program {
  return {
    operations: flows,
    expected: sumOfAll(flows, steps),
    once: true,
    run: async () => {
      const { file, remove } = folder();
      const place = store === "sqlite" ? file : await benchPostgres(`signalbox_recovery_${process.pid}`);
      await runAndKill(child("half", place, String(flows), String(steps)));
      const watch = new Stopwatch();
      const { host, end } = await hostOn(sourceAt(place));
      const results = Array.from({ length: flows }, (_, from) => host.get<number>(`half-${from}`).result());
      const counted = (await Promise.all(results)).reduce((a, b) => a + b, 0);
      return {
        counted,
        figures: { ms: watch.read().wallMs },
        end: async () => {
          await end();
          remove();
        },
      };
    },
  };
}

/** The store at a path, or at an address. */
export function sourceAt(place: string): StoreSource {
  return place.startsWith("postgresql:") ? postgres(place) : sqlite(place);
}

/** What a host weighs, and how long it takes to start, beside one that has no flows. Each in a process of its own. */
export function sleepers(flows: number, child: ChildArgs, run: (args: readonly string[]) => string): Program {
  return {
    operations: flows,
    expected: flows,
    once: true,
    run: async () => {
      const { file, remove } = folder();
      const none = folder();
      await runAndKill(child("sleep", file, String(flows)));
      await runAndKill(child("sleep", none.file, "0"));
      const weigh = (path: string, asleep: number): Weighed =>
        JSON.parse(run(child("weigh", path, String(asleep)))) as Weighed;
      const empty = weigh(none.file, 0);
      const full = weigh(file, flows);
      remove();
      none.remove();
      return {
        counted: full.flows - empty.flows,
        figures: { bytes: full.bytes - empty.bytes, ms: full.ms - empty.ms },
      };
    },
  };
}

/** What `weigh` prints. */
export interface Weighed {
  readonly flows: number;
  readonly bytes: number;
  readonly ms: number;
}

/** The resident memory of this process. */
export function residentBytes(): number {
  globalThis.gc?.();
  const status = readFileSync("/proc/self/status", "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}

/** Runs flow-child.ts, which is compiled beside this file. */
const child: ChildArgs = (...args) => [fileURLToPath(new URL("flow-child.js", import.meta.url)), ...args];

const runChild = (args: readonly string[]): string =>
  execFileSync(process.execPath, [...NODE_FLAGS, ...args], { encoding: "utf8" });

const { atOnce, steps, lonely, sleepers: asleep, long, longAll } = SIZES.flows;

/** In full size. */
export const programs: Readonly<Record<string, Program>> = {
  "flow-steps": flowSteps(atOnce, steps, "sqlite"),
  "flow-steps-postgres": flowSteps(atOnce, steps, "postgres"),
  "flow-lonely-step": lonelyStep(lonely),
  "flow-recovery": recovery(atOnce, steps, "sqlite", child),
  "flow-recovery-postgres": recovery(atOnce, steps, "postgres", child),
  "flow-sleepers": sleepers(asleep, child, runChild),
  "flow-sleepers-start": sleepers(asleep, child, runChild),
  ...Object.fromEntries(long.map((length) => [`flow-long-${length}`, longFlows(length, longAll)])),
};
