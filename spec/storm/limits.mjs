// Commands with an end: a group of processes of its own, killed as a whole at its limit. A download that hangs may have
// children that hold its output, and a JVM may stand still before it looks at its own limit.

import { spawn } from "node:child_process";

function killGroup(child) {
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch (error) {
    // All of its processes ended in the meantime.
    if (error.code !== "ESRCH") throw error;
  }
}

/**
 * Runs a command until it ends or its limit is reached.
 * @param stdio of the command: pipes by default, so that its output is in the result
 * @returns its exit code (null if it was killed), its output, and whether the limit ended it; an error of starting it is thrown
 */
export function within(limitMs, command, args, { stdio = ["ignore", "pipe", "pipe"], ...options } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { ...options, stdio, detached: true });
    let stdout = "";
    let stderr = "";
    let late = false;
    child.stdout?.setEncoding("utf8").on("data", (text) => {
      stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text) => {
      stderr += text;
    });
    const limit = setTimeout(() => {
      late = true;
      killGroup(child);
    }, limitMs);
    child.on("error", (error) => {
      clearTimeout(limit);
      reject(error);
    });
    child.on("close", (code) => {
      clearTimeout(limit);
      resolve({ code, stdout, stderr, late });
    });
  });
}
