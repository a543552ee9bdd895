// The published files: one for each entry, and one for each floor that entries share. A floor in two files would be two
// copies of the floor: two kernels in one process, and neither knows the pids of the other.

import { defineConfig, type RolldownOptions } from "rolldown";
import { ENTRIES } from "./entries.mjs";

const lib = new URL("../lib/", import.meta.url).pathname;

/** The floors that several entries use, lowest first: a chunk also takes what its modules import and no chunk before it has. */
const SHARED = ["store/", "flow/", "service/"];

/**
 * The floors below the entry `signalbox` are one file, as each file more costs an import 2 ms of processor time. A bundler takes from
 * the file what a program uses, so nothing in these floors may run when it is loaded.
 */
const CORE = /^(?:(?:process|graph|behaviour|supervisor|dispatch)\/|system\.ts)/;

/** Rooms whose driver is loaded when somebody opens a store of that kind; the files named here are not part of the driver. */
const LAZY = [
  ["store-sqlite", new RegExp(`^${lib}store/sqlite/(?!(?:errors|files|settings|sqlite)\\.)`)],
  [
    "store-postgres",
    new RegExp(`^${lib}store/postgres/(?!(?:connection|errors|index|postgres|settings)\\.)`),
  ],
] as const;
const isLazy = (id: string): boolean => LAZY.some(([, files]) => files.test(id));

const config: RolldownOptions = defineConfig({
  input: {
    ...Object.fromEntries(ENTRIES.map((name) => [name, `${lib}${name}.ts`])),
    "cli/main": `${lib}cli/main.ts`,
  },
  platform: "neutral",
  external: /^[^./]/,
  tsconfig: new URL("../tsconfig.json", import.meta.url).pathname,
  // A warning of the bundler is an error: nobody reads the output of a build that succeeds.
  onLog: (level, log) => {
    if (level === "warn") throw new Error(log.message);
  },
  resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
  output: {
    dir: new URL("../dist/", import.meta.url).pathname,
    cleanDir: true,
    sourcemap: true,
    // The sources are in the package, beside the bundle.
    sourcemapExcludeSources: true,
    comments: { annotation: true, legal: true, jsdoc: false },
    chunkFileNames: "chunks/[name].js",
    codeSplitting: {
      groups: [
        {
          name: "core",
          test: (id: string) => id.startsWith(lib) && CORE.test(id.slice(lib.length)),
          priority: SHARED.length + 1,
        },
        ...SHARED.map((floor, i) => ({
          name: floor.replace("/", ""),
          test: (id: string) => id.startsWith(`${lib}${floor}`) && !isLazy(id),
          priority: SHARED.length - i,
        })),
        ...LAZY.map(([name, test]) => ({ name, test, priority: 0 })),
      ],
    },
  },
});
export default config;
