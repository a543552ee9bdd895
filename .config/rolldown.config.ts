// The published files: one for each entry, and one for each floor that entries share. A floor in two files would be two
// copies of the floor: two kernels in one process, and neither knows the pids of the other.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { defineConfig, type Plugin, type RolldownOptions } from "rolldown";
import { ENTRIES } from "./entries.mjs";

const lib = new URL("../lib/", import.meta.url).pathname;

/** The floors that several entries use, lowest first: a chunk also takes what its modules import and no chunk before it has. */
const SHARED = ["admin/", "store/", "flow/", "service/"];

/**
 * The floors below the entry `signalbox` are one file, as each file more costs an import 2 ms of processor time. A bundler takes from
 * the file what a program uses, so nothing in these floors may run when it is loaded.
 */
const CORE = /^(?:(?:process|graph|behaviour|supervisor|dispatch)\/|system\.ts)/;

/**
 * Rooms whose driver is loaded when somebody opens a store of that kind, and the operations on a system, which are loaded when somebody looks; the
 * files named here are not part of them.
 */
const LAZY = [
  [
    "system-operations",
    new RegExp(
      `^${lib}admin/(?:history/(?!history-table\\.|kept)|traces/(?!(?:trace-operations|trace-peers|span-source|span-limits|span-tree)\\.)|` +
        "system/(?:kernel-operations|bottleneck|graph-rates|scale-topology|topology-graph|processes/))",
    ),
  ],
  ["store-sqlite", new RegExp(`^${lib}store/sqlite/(?!(?:errors|files|settings|sqlite)\\.)`)],
  [
    "store-postgres",
    new RegExp(`^${lib}store/postgres/(?!(?:connection|errors|index|postgres|settings)\\.)`),
  ],
] as const;
/** What a service knows of the options of a cluster. Without a file of their own they were in the service's, which nodes would load. */
const CLUSTER_OPTIONS = new RegExp(`^${lib}node/(?:cluster/cluster-option-names|session/limits)\\.`);
const isLazy = (id: string): boolean => LAZY.some(([, files]) => files.test(id));

/** Code of a package that is part of a published file: the map has no source for it, as the package signalbox does not hold that. */
function unmapped(code: string): { code: string; map: { mappings: string; names: string[]; sources: string[] } } {
  return { code, map: { mappings: "", names: [], sources: [] } };
}

/**
 * The emitter of events is part of the file. It is CommonJS, and to load one such module costs an import 6 ms of processor time, because
 * Node starts a second loader and a parser for it. A bundler leaves it out of programs that use no System.
 */
const EMITTER = createRequire(import.meta.url).resolve("eventemitter3");
const emitter: Plugin = {
  name: "eventemitter3",
  resolveId: { filter: { id: /^eventemitter3$/ }, handler: () => EMITTER },
  load: {
    filter: { id: EMITTER },
    handler: () =>
      unmapped(`/*! eventemitter3, MIT License, (c) 2014 Arnout Kazemier, https://github.com/primus/eventemitter3/blob/master/LICENSE */
       export const EventEmitter = /* @__PURE__ */ (() => {
         const module = {};
         ${readFileSync(EMITTER, "utf8")}
         return module.exports;
       })();`),
  },
};

/**
 * The ids are part of the file, too, in the form that asks for the global `crypto`: the other one imports `node:crypto`, which costs an
 * import 2 to 7 ms, whether or not a System comes to be.
 */
const IDS = createRequire(import.meta.url).resolve("nanoid").replace(/index\.js$/, "index.browser.js");
const ids: Plugin = {
  name: "nanoid",
  resolveId: { filter: { id: /^nanoid$/ }, handler: () => IDS },
  load: {
    filter: { id: /\/nanoid\// },
    handler: (id) =>
      unmapped(
        `/*! nanoid, MIT License, (c) 2017 Andrey Sitnik, https://github.com/ai/nanoid/blob/main/LICENSE */
         ${readFileSync(id, "utf8")}`,
      ),
  },
};

const config: RolldownOptions = defineConfig({
  input: {
    ...Object.fromEntries(ENTRIES.map((name) => [name, `${lib}${name}.ts`])),
    "cli/main": `${lib}cli/main.ts`,
  },
  platform: "neutral",
  external: /^(?!(?:eventemitter3|nanoid)$)[^./]/,
  plugins: [emitter, ids],
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
        { name: "cluster-options", test: CLUSTER_OPTIONS, priority: SHARED.length + 1 },
        ...LAZY.map(([name, test]) => ({ name, test, priority: 0 })),
      ],
    },
  },
});
export default config;
