// The declarations of the library: a program that is compiled beside them is checked against what users see, and the compiler does not
// check the sources of the library again.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isolatedDeclarationSync } from "rolldown/experimental";

const LIB = fileURLToPath(new URL("../../lib", import.meta.url));
/** The page of the observer is bundled into one text: no program imports its files. */
const PAGE = join("observer", "client/");

/** Writes them, and returns the `paths` by which a compiler finds them. @param folder - absolute */
export function declared(folder: string): Readonly<Record<string, readonly string[]>> {
  for (const name of readdirSync(LIB, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".ts") || name.startsWith(PAGE)) continue;
    const { code, errors } = isolatedDeclarationSync(name, readFileSync(join(LIB, name), "utf8"), {});
    if (errors.length > 0) throw new Error(`${name} has no declarations: ${errors[0]?.message}`);
    const file = join(folder, name.replace(/\.ts$/, ".d.ts"));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, code);
  }
  return {
    signalbox: [join(folder, "index.d.ts")],
    "signalbox/nodes": [join(folder, "node/index.d.ts")],
    "signalbox/storm": [join(folder, "topology/storm/index.d.ts")],
    "signalbox/*": [join(folder, "*/index.d.ts")],
  };
}
