// Which spec files cost most: `npm run slow -- [spec files]` runs them and prints their CPU seconds, the heaviest first. Other programs on the
// machine make a run longer, and hardly change these figures. A file that is the first one of its process also loads what others use.

import { readFileSync, rmSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { startVitest } from "vitest/node";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const FILE = ".build/cpu-times.jsonl";
const SHOWN = 40;

rmSync(FILE, { force: true });
process.env.CPU_TIMES = FILE;
const vitest = await startVitest("test", process.argv.slice(2), {
  config: ".config/vitest.config.ts",
  watch: false,
});
await vitest.close();

const seconds = (value) => value.toFixed(1).padStart(9);
const row = (name, { load, tests, children }) =>
  `${seconds(load)}${seconds(tests)}${seconds(children)}  ${name}`;
const sum = ({ load, tests, children }) => load + tests + children;
const found = readFileSync(FILE, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line))
  .sort((a, b) => sum(b) - sum(a));
const all = found.reduce(
  (total, one) => ({
    load: total.load + one.load,
    tests: total.tests + one.tests,
    children: total.children + one.children,
  }),
  { load: 0, tests: 0, children: 0 },
);
console.log("     load    tests children  CPU seconds");
for (const one of found.slice(0, SHOWN)) console.log(row(relative(".", one.file), one));
console.log(row(`all ${found.length} files`, all));
