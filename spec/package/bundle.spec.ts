// The published bundle holds each module once, and a bundler leaves out the floors that a program does not use.

import { type OutputChunk, rolldown } from "rolldown";
import { describe, expect, it } from "vitest";
import config from "../../.config/rolldown.config.js";

const { output: outputOptions, ...input } = config;

async function published(): Promise<readonly OutputChunk[]> {
  const bundle = await rolldown(input);
  const { output } = await bundle.generate(Array.isArray(outputOptions) ? outputOptions[0] : outputOptions);
  return output.filter((file) => file.type === "chunk");
}

const chunks = await published();

const PACKAGES = /^node:/;

/** The code that a bundler makes for a program that imports these names from a published entry. */
async function bundleOf(names: string, entry: string, minify = false): Promise<string> {
  const files = new Map(chunks.map(({ fileName, code }) => [`/${fileName}`, code]));
  files.set("/user.js", `export { ${names} } from "/${entry}";`);
  const bundle = await rolldown({
    input: "/user.js",
    external: PACKAGES,
    plugins: [
      {
        name: "published",
        resolveId: (id, importer) =>
          id.startsWith("node:") ? null : new URL(id, `file://${importer ?? "/"}`).pathname,
        load: (id) => ({ code: files.get(id) ?? "", moduleSideEffects: false }),
      },
    ],
  });
  const { output } = await bundle.generate({ minify });
  return output[0].code;
}

/** The same made of the sources: a module of which the program uses nothing is left out whole. */
async function bundleOfSources(names: string): Promise<string> {
  const { resolve, tsconfig } = input;
  const index = new URL("../../lib/index.ts", import.meta.url).pathname;
  const bundle = await rolldown({
    input: "user",
    external: PACKAGES,
    ...(resolve === undefined ? {} : { resolve }),
    ...(tsconfig === undefined ? {} : { tsconfig }),
    plugins: [
      input.plugins,
      {
        name: "user",
        resolveId: (id) => (id === "user" ? id : null),
        load: (id) => (id === "user" ? `export { ${names} } from ${JSON.stringify(index)};` : null),
      },
    ],
  });
  const { output } = await bundle.generate({ minify: true });
  return output[0].code;
}

describe("the published bundle", () => {
  it("has every module once: entries share one kernel [P21]", () => {
    const places = new Map<string, string[]>();
    for (const { fileName, moduleIds } of chunks) {
      for (const id of moduleIds) places.set(id, [...(places.get(id) ?? []), fileName]);
    }
    expect(places.size).toBeGreaterThan(150);
    expect([...places].filter(([, files]) => files.length > 1)).toEqual([]);
    const kernel = [...places.keys()].filter((id) => id.endsWith("/lib/process/kernel.ts"));
    expect(kernel).toHaveLength(1);
  });

  it("leaves dispatch, supervisors and topologies out of a bundle that has a System alone", async () => {
    const code = await bundleOf("System", "index.js");
    expect(code).toMatch(/class Kernel\b|Kernel = class/);
    for (const name of ["ConsumerGroup", "Conversation", "Supervisor", "TopologyRef", "defineServer"]) {
      expect(code, name).not.toMatch(new RegExp(`class ${name}\\b|\\b${name} = class|function ${name}\\b`));
    }
  });

  it("runs nothing of the floors that share a file with the System: who takes it alone gets no part of them", async () => {
    const ofSources = await bundleOfSources("System");
    expect(ofSources.length).toBeGreaterThan(10_000);
    const published = await bundleOf("System", "index.js", true);
    expect(published.length / ofSources.length).toBeLessThan(1.003);
  });
});
