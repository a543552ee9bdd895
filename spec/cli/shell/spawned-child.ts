// A command that waits for a program: `spawned-child.js SCRIPT`. It prints how the program ended, and how many listeners for the signal
// it has left.

import { spawned } from "../../../lib/cli/shell/spawned.js";

const before = process.listenerCount("SIGTERM");
const end = await spawned("/bin/sh", ["-c", process.argv[2] as string], { limitMs: 1_000_000 });
console.log(JSON.stringify({ ...end, listeners: process.listenerCount("SIGTERM") - before }));
