// Programs that a command starts: their outputs and ends, and that nothing of them is left at a limit or a signal.

import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { spawned } from "../../../lib/cli/shell/spawned.js";
import { childProgram } from "../../support/child-program.js";
import { folderWith } from "../storm/support.js";

const FOREVER = 1_000_000;
const run = (script: string, limitMs = FOREVER) => spawned("/bin/sh", ["-c", script], { limitMs });

test("both outputs are kept, and the exit code", async () => {
  expect(await run("echo out; exit 3")).toEqual({ code: 3, stdout: "out\n", output: "out\n" });
  const both = await run("echo bad >&2; echo out");
  expect(both).toMatchObject({ code: 0, stdout: "out\n" });
  expect(both.output.split("\n").sort()).toEqual(["", "bad", "out"]);
});

test("a program that cannot be started says why", async () => {
  const end = await spawned("/gone/storm", [], { limitMs: FOREVER });
  expect(end).toMatchObject({
    code: undefined,
    problem: expect.stringMatching(/^could not be started: .*ENOENT/),
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    // A dead process whose parent has not looked at it has no name any more.
    return !/^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

/** A script that starts another program and waits for it; `trap` may keep it from ending by SIGTERM. */
function waiting(trap = ""): { script: string; pids(): number[] } {
  const at = folderWith();
  return {
    script: `${trap} sleep 1000 & echo $$ $! > ${at("new")}; mv ${at("new")} ${at("pids")}; wait; sleep 1000`,
    pids: () =>
      existsSync(at("pids")) ? readFileSync(at("pids"), "utf8").trim().split(" ").map(Number) : [],
  };
}

test.each([
  ["SIGTERM", ""],
  ["SIGKILL, when it does not listen", "trap '' TERM;"],
])("at its limit a program ends with all that it started: by %s [N1470]", async (_how, trap) => {
  const { script, pids } = waiting(trap);
  const limits: (() => void)[] = [];
  const later = (_ms: number, fn: () => void): (() => void) => {
    limits.push(fn);
    return () => undefined;
  };
  const over = spawned("/bin/sh", ["-c", script], { limitMs: 7, after: later });
  await expect.poll(() => pids().length, { timeout: FOREVER }).toBe(2);
  limits[0]?.();
  // The grace is over.
  if (trap !== "") limits[1]?.();
  expect(await over).toMatchObject({ code: undefined, problem: "did not end within 7 ms" });
  await expect.poll(() => pids().filter(isAlive), { timeout: FOREVER }).toEqual([]);
});

test("a signal to the command ends the program with all that it started [N1470]", async () => {
  const { script, pids } = waiting();
  const program = await childProgram(new URL("spawned-child.ts", import.meta.url));
  try {
    const command = program.start(script);
    await expect.poll(() => pids().length, { timeout: FOREVER }).toBe(2);
    command.signal("SIGTERM");
    const { stdout, code } = await command.ended;
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({
      ...{ code: 0, problem: "was interrupted", interrupted: 143, listeners: 0 },
    });
    await expect.poll(() => pids().filter(isAlive), { timeout: FOREVER }).toEqual([]);
  } finally {
    program.remove();
  }
});

test("what a program leaves behind ends with it", async () => {
  const at = folderWith();
  const { code } = await run(`sleep 1000 & echo $! > ${at("pid")}`);
  expect(code).toBe(0);
  const pid = Number(readFileSync(at("pid"), "utf8"));
  await expect.poll(() => isAlive(pid), { timeout: FOREVER }).toBe(false);
});
