// The real Flux reads our definitions, as a submit does, and Nimbus's checks look at each topology that it builds. The definitions are the
// golden files of spec/topology/storm; beside each is what a model of Flux makes of it, which the property tests of definitions rely on.

import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { within } from "./limits.mjs";

export const FLUX_JARS = ["flux-core-2.8.3.jar", "flux-wrappers-2.8.3.jar"];

const golden = fileURLToPath(new URL("../topology/storm/golden/", import.meta.url));
const source = fileURLToPath(new URL("src/main/java/signalbox/FluxDryRun.java", import.meta.url));

export async function fluxDryRun(work, { classpath, limitMs }, print) {
  const classes = join(work, "flux-classes");
  mkdirSync(classes, { recursive: true });
  const compiler = ["--release", "17", "-proc:none", "-nowarn", "-cp", classpath, "-d", classes, source];
  const compiled = await within(limitMs, "javac", compiler);
  if (compiled.code !== 0) throw new Error(`javac: ${compiled.stderr}`);

  const names = readdirSync(golden)
    .filter((name) => name.endsWith(".json") && !name.endsWith(".built.json"))
    .sort();
  const { code, stdout, stderr, late } = await within(limitMs, "java", [
    // A definition means the same wherever it is read.
    ...["-Dfile.encoding=US-ASCII", "-cp", [classes, classpath].join(delimiter), "signalbox.FluxDryRun"],
    ...names.map((name) => join(golden, name)),
  ]);
  for (const name of names) {
    const line = stdout.split("\n").find((one) => one.startsWith(`built ${name} `));
    const model = JSON.parse(readFileSync(join(golden, name.replace(".json", ".built.json")), "utf8"));
    const built = line === undefined ? undefined : JSON.parse(line.slice(`built ${name} `.length));
    const ended = late
      ? `did not end within ${limitMs} ms`
      : `ended with ${code}: ${stderr.trim().slice(-600)}`;
    const complaint =
      built === undefined ? `Flux did not build it; java ${ended}` : "Flux has built another topology";
    print({
      name: `the definition ${name}`,
      text: `${Object.keys(model.components).length} components, read by Flux`,
      complaints: isDeepStrictEqual(built, model) ? [] : [complaint],
    });
  }
}
