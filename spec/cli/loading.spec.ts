// A subcommand loads what it needs: `flows` no simulator, `replay` no store and no flow.

import { expect, test } from "vitest";
import { filesImportedBy, lib } from "../house/modules.js";

const byPath = new Map(lib.map((source) => [source.path, source]));

/** All modules that a module loads, directly or not; `import()` is not followed, types are. */
function loadedBy(path: string): Set<string> {
  const all = new Set<string>();
  const open = [path];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (all.has(next)) continue;
    all.add(next);
    const source = byPath.get(next.replace(/\.js$/, ".ts"));
    if (source === undefined) continue;
    const lazy = new Set([...source.text.matchAll(/import\("([^"]+)"\)/g)].map(([, name]) => name));
    open.push(
      ...filesImportedBy(source)
        .filter((file) => ![...lazy].some((name) => file.endsWith((name as string).replace(/^[./]+/, ""))))
        .map((file) => file.replace(/\.js$/, ".ts")),
    );
  }
  return all;
}

test.each([
  ["lib/cli/main.ts", /^lib\/(testing|flow|pipeline|store|topology)\//],
  ["lib/cli/storm/program.ts", /^lib\/(testing|flow|pipeline|store)\//],
  ["lib/cli/flows/program.ts", /^lib\/(testing|pipeline)\//],
  ["lib/cli/pipelines/program.ts", /^lib\/testing\//],
  ["lib/cli/top/program.ts", /^lib\/(testing|flow|pipeline|observer)\//],
  ["lib/cli/observe/program.ts", /^lib\/testing\//],
  ["lib/cli/replay/program.ts", /^lib\/(flow|store)\//],
])("%s loads none of %s", (path, others) => {
  const loaded = [...loadedBy(path)];
  expect(loaded.length).toBeGreaterThan(3);
  expect(loaded.filter((one) => others.test(one))).toEqual([]);
});
