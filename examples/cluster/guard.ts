// Runs a program, and ends it when standard input ends: that is when the process that started this one is gone, whatever ended it.

import { spawn } from "node:child_process";

const [program = "", ...args] = process.argv.slice(2);
const child = spawn(program, args, { stdio: ["ignore", "ignore", "inherit"] });
child.once("error", (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
child.once("exit", (code) => process.exit(code ?? 1));
process.stdin.resume().once("close", () => child.kill("SIGKILL"));
