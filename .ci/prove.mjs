// The proofs at their full size, on all cores: `npm run prove -- [--schedules N] [spec files]`.

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
