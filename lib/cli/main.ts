#!/usr/bin/env node
// The program `signalbox`.

import { createRequire } from "node:module";
import { complain, print, runAndExit } from "./shell/output.js";
import { signalbox } from "./signalbox.js";

const { version } = createRequire(import.meta.url)("../../package.json") as { readonly version: string };
await runAndExit(() =>
  signalbox(process.argv.slice(2), {
    print,
    complain,
    version,
    subcommands: {
      flows: async () => (await import("./flows/program.js")).flowsProgram,
      pipelines: async () => (await import("./pipelines/program.js")).pipelinesProgram,
      queues: async () => (await import("./queues/program.js")).queuesProgram,
      system: async () => (await import("./system/program.js")).systemProgram,
      observe: async () => (await import("./observe/program.js")).observeProgram,
      top: async () => (await import("./top/program.js")).topProgram,
      storm: async () => (await import("./storm/program.js")).stormProgram,
      replay: async () => (await import("./replay/program.js")).replayProgram,
    },
  }),
);
