// Does the test of each guarantee execute the file that holds it? `npm run guarantees -- [spec files]` runs the specs that
// docs/semantics.md names, at the size of `npm test`, and compares what they executed with what the page says. See guaranteed.mjs.

import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startVitest } from "vitest/node";
import { guarantees, unheld } from "./guaranteed.mjs";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const EXECUTED = ".build/executed";
const asked = process.argv.slice(2);
const stated = guarantees(readFileSync("docs/semantics.md", "utf8")).filter(
  ({ spec }) => asked.length === 0 || asked.some((part) => spec.includes(part)),
);

rmSync(EXECUTED, { recursive: true, force: true });
process.env.EXECUTED = EXECUTED;
const specs = [...new Set(stated.map(({ spec }) => spec))];
const vitest = await startVitest("test", specs, { config: ".config/vitest.config.ts", watch: false });
await vitest.close();

/** A file of types alone executes nothing. */
const CODE = /^(?:export )?(?:default |async |abstract )*(?:function|class|const|let|enum)\b/m;
const files = new Set(
  readdirSync("lib", { recursive: true, encoding: "utf8" })
    .map((name) => `lib/${name.replaceAll("\\", "/")}`)
    .filter((path) => path.endsWith(".ts") && CODE.test(readFileSync(path, "utf8"))),
);
/** By the place where spec/support/executed.ts writes it. */
function executedBy(spec) {
  try {
    return JSON.parse(readFileSync(join(EXECUTED, `${spec.replaceAll("/", "+")}.json`), "utf8"));
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}
const wrong = unheld(stated, files, executedBy);
for (const line of wrong) console.log(`FAIL  ${line}`);
console.log(
  `${stated.length - wrong.length} guarantees are held by what their tests execute, ${wrong.length} are not`,
);
if (wrong.length > 0) process.exitCode = 1;
