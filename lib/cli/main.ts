#!/usr/bin/env node
// The program `signalbox`.

import { signalbox } from "./signalbox.js";

// A reader that has seen enough, such as `head`, is no failure.
process.stdout.on("error", (error: Error & { code?: string }) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

const code = await signalbox(process.argv.slice(2), {
  print: (text) => console.log(text),
  complain: (text) => console.error(text),
  subcommands: {
    flows: async () => (await import("./flows/program.js")).flowsProgram,
    pipelines: async () => (await import("./pipelines/program.js")).pipelinesProgram,
    replay: async () => (await import("./replay/program.js")).replayProgram,
  },
});
// A module that a command has loaded may hold timers or connections open. What was printed goes out first.
process.stdout.write("", () => process.exit(code));
