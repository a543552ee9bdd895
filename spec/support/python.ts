// Python, where the machine has it. A machine with Node alone skips the tests that need it.

import { spawnSync } from "node:child_process";

export const python: boolean = spawnSync("python3", ["--version"]).status === 0;
/** The end of the title of what needs it. */
export const needsPython: string = python ? "" : " (skipped: there is no python3 on this machine)";
