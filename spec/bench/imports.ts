// What the import of a library costs: the processor time of a Node process that does nothing else.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Program } from "./program.js";

/** The program of the child: how many names the package exports, and what the child has cost so far. */
const program = (specifier: string): string =>
  `const names = Object.keys(await import(${JSON.stringify(specifier)})).length;
   const { user, system } = process.cpuUsage();
   console.log(JSON.stringify({ names, cpuMs: (user + system) / 1_000 }));`;

/** @param specifier - a package, as this file would import it */
export function importOf(specifier: string): Program {
  return {
    operations: 1,
    expected: 1,
    run: async () => {
      const printed = execFileSync(process.execPath, ["--input-type=module", "--eval", program(specifier)], {
        cwd: fileURLToPath(new URL(".", import.meta.url)),
        encoding: "utf8",
      });
      const { names, cpuMs } = JSON.parse(printed) as { names: number; cpuMs: number };
      return { counted: names > 0 ? 1 : 0, figures: { cpuMs } };
    },
  };
}
