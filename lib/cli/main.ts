#!/usr/bin/env node
// The program `signalbox`.

import { createRequire } from "node:module";
import { EXIT } from "./shell/exit.js";
import { signalbox } from "./signalbox.js";

/** A reader that has seen enough, such as `head`, is no failure. Output that is lost for another reason is one. */
function unwritten(error: Error & { code?: string }): never {
  if (error.code === "EPIPE") process.exit();
  console.error(`signalbox: the output could not be written: ${error.message}`);
  process.exit(EXIT.misuse);
}
process.stdout.on("error", unwritten);

const { version } = createRequire(import.meta.url)("../../package.json") as { readonly version: string };
const code = await signalbox(process.argv.slice(2), {
  print: (text) => console.log(text),
  complain: (text) => console.error(text),
  version,
  subcommands: {
    flows: async () => (await import("./flows/program.js")).flowsProgram,
    pipelines: async () => (await import("./pipelines/program.js")).pipelinesProgram,
    replay: async () => (await import("./replay/program.js")).replayProgram,
  },
});
// A module that a command has loaded may hold timers or connections open. What was printed goes out first.
process.stdout.write("", (error) => (error ? unwritten(error) : process.exit(code)));
