// What keeps programs of tests from outliving them.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { childProgram } from "./child-program.js";

it("a program of a test ends with its standard input, as when the process that started it is killed", async () => {
  const program = await childProgram(new URL("programs/idle.ts", import.meta.url));
  const child = spawn(process.execPath, program.args, { stdio: ["pipe", "pipe", "inherit"] });
  await once(child.stdout, "data");
  child.stdin.end();
  expect(await once(child, "exit")).toEqual([null, "SIGKILL"]);
  program.remove();
});
