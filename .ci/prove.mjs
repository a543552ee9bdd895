// The proofs at their full size, on all cores: `npm run prove -- [--schedules N] [spec files]`. The whole of it, with 5,000 schedules or
// more, ends with `npm run guarantees`.

import { execFileSync } from "node:child_process";
import { parseArgs } from "node:util";
import { startVitest } from "vitest/node";

const { values, positionals } = parseArgs({
  options: { schedules: { type: "string", default: "10000" } },
  allowPositionals: true,
});
if (!/^[1-9]\d*$/.test(values.schedules)) {
  console.error(`--schedules is ${values.schedules}; it has to be a whole number above 0`);
  process.exit(1);
}
process.env.SCHEDULES = values.schedules;
const vitest = await startVitest("test", positionals, { config: ".config/vitest.config.ts", watch: false });
await vitest.close();

if (positionals.length === 0 && Number(values.schedules) >= 5_000) {
  const { SCHEDULES: _, ...env } = process.env;
  try {
    execFileSync("npm", ["run", "-s", "guarantees"], { stdio: "inherit", env });
  } catch {
    process.exitCode = 1;
  }
}
