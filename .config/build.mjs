// Bundles lib into dist, or into the folder that is given, quietly. What is bundled how: rolldown.config.ts.

import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { loadConfig } from "rolldown/config";
import { makePage } from "./observer-page.mjs";

await makePage();
const { output, ...input } = await loadConfig(
  fileURLToPath(new URL("rolldown.config.ts", import.meta.url)),
);
const bundle = await rolldown(input);
const [dir = output.dir] = process.argv.slice(2);
await bundle.write({ ...output, dir });
await bundle.close();
