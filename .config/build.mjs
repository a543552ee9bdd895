// Bundles lib into dist, quietly. What is bundled how: rolldown.config.ts.

import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { loadConfig } from "rolldown/config";

const { output, ...input } = await loadConfig(
  fileURLToPath(new URL("rolldown.config.ts", import.meta.url)),
);
const bundle = await rolldown(input);
await bundle.write(output);
await bundle.close();
