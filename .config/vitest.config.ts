import { readdirSync, readFileSync } from "node:fs";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { TallyReporter } from "./tally.js";

const root = new URL("../", import.meta.url);
/** Set by `npm run prove`, which runs the proofs alone; see spec/support/proof.ts. */
const proving = process.env["SCHEDULES"] !== undefined;
/** Proofs are the specs that ask how much they are to do. */
const PROOFS = readdirSync(new URL("spec", root), { recursive: true, encoding: "utf8" })
  .map((name) => `spec/${name.replaceAll("\\", "/")}`)
  .filter((path) => path.endsWith(".spec.ts"))
  .filter((path) => readFileSync(new URL(path, root), "utf8").includes("support/proof.js"));

/** Proofs that another run has: `.ci/run` runs them once, at the size of `npm run prove`. */
const ELSEWHERE = process.env["PROOFS"] === "apart" ? PROOFS : [];

/** Specs that look at what their host process does. They share a process with each other, and with no other spec. */
const HOST = [
  "spec/process/{after-exit,alarms,async-context,calls,crash-reports,ends,events,failure,opentelemetry,origin,report,scheduler,sender-context,system}.spec.ts",
  "spec/host/evidence/witness.spec.ts",
  "spec/testing/{devices,exploration,kit,simulator}/*.spec.ts",
  "spec/topology/sender-context.spec.ts",
];
/**
 * One prints promises: any AsyncLocalStorage in its process would add properties to them. The second waits until no process of
 * the thread runs or waits for the host, and other specs leave promises behind that never settle. The third has running code
 * stopped, which Node survives only where nobody uses its asynchronous hooks. The fourth watches every use of a kernel's state in its
 * process, and a late timer of another spec's system is one.
 */
const ALONE = [
  "spec/process/{blame,hooks-at-rest}.spec.ts",
  "spec/testing/exploration/endless.spec.ts",
  "spec/testing/strategies/undeclared.spec.ts",
];

/** The proofs that take longest, the longest first: one that begins last keeps a single core busy when all others have ended. */
const LONG = [
  "flow/simulated",
  "docs/chapters",
  "chaos/nodes/kills",
  "testing/proofs/programs-world",
  "testing/proofs/dispatch-small",
  "flow/interruptions",
  "chaos/pipelines/kills",
  "chaos/pipelines/poison-shared",
  "chaos/pipelines/poison",
  "chaos/flows/poison-postgres",
  "chaos/flows/poison",
  "flow/hospital/troubled",
  "pipeline/troubled",
  "pipeline/simulated",
  "pipeline/poison",
  "pipeline/shared",
  "chaos/flows/kills",
  "chaos/flows/kills-postgres",
  "chaos/pipelines/kills-shared",
  "chaos/answers/answers-postgres",
  "chaos/answers/answers",
  "testing/proofs/topology",
  "testing/proofs/supervisors",
  "testing/proofs/dispatch-ends",
  "testing/proofs/programs-services",
  "testing/exploration/planted",
  "testing/proofs/calls",
  "testing/proofs/dispatch",
].map((name) => `spec/${name}.spec.ts`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONG.findIndex((path) => moduleId.endsWith(`/${path}`));
      return at < 0 ? LONG.length : at;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

const config: ViteUserConfig = defineConfig({
  root: root.pathname,
  resolve: {
    alias: [
      { find: /^signalbox$/, replacement: new URL("../lib/index.ts", import.meta.url).pathname },
      { find: /^signalbox\/nodes$/, replacement: new URL("../lib/node/index.ts", import.meta.url).pathname },
      { find: /^signalbox\/storm$/, replacement: new URL("../lib/topology/storm/index.ts", import.meta.url).pathname },
      { find: /^signalbox\/(\w+)$/, replacement: new URL("../lib/$1/index.ts", import.meta.url).pathname },
    ],
  },
  test: {
    pool: "forks",
    // All cores: left to itself, the runner keeps one of them free, which is half of two.
    maxWorkers: "100%",
    // Ends what hangs, and measures nothing: limits count steps, so that a busy machine fails no test.
    testTimeout: proving ? 0 : 600_000,
    hookTimeout: 600_000,
    // The counts for the closing line of .ci/run.
    reporters:
      process.env["CI"] === "true"
        ? ["default", new TallyReporter(`.build/${proving ? "prove" : "vitest"}.json`)]
        : ["default"],
    isolate: false,
    // Set by `npm run slow`.
    ...(process.env["CPU_TIMES"] !== undefined && {
      runner: new URL(".config/cpu-times.ts", root).pathname,
    }),
    // The page of the observer, of which specs serve the files.
    globalSetup: [new URL(".config/observer-page.mjs", root).pathname],
    // Set by `npm run guarantees`.
    setupFiles: process.env["EXECUTED"] === undefined ? [] : ["spec/support/executed.ts"],
    experimental: { fsModuleCache: true, fsModuleCachePath: new URL(".build/modules", root).pathname },
    ...(proving && { sequence: { sequencer: LongestFirst } }),
    projects: proving
      ? [{ extends: true, test: { name: "proofs", include: PROOFS } }]
      : [
          {
            extends: true,
            test: { name: "shared", include: ["spec/**/*.spec.ts"], exclude: [...HOST, ...ALONE, ...ELSEWHERE] },
          },
          { extends: true, test: { name: "host", include: HOST, exclude: [...ALONE, ...ELSEWHERE] } },
          { extends: true, test: { name: "alone", include: ALONE, exclude: ELSEWHERE, isolate: true } },
        ],
  },
});
export default config;
