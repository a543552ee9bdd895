// One SQLite file on its way through the versions of Node: node:sqlite where Node has it, libsql where it has not.

import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { install, NODES, node, once, project, root, run, version } from "./support.mjs";

const installed = once(async () => {
  const cwd = await project("sqlite-files");
  copyFileSync(join(root, ".ci/sqlite-file.mjs"), join(cwd, "sqlite-file.mjs"));
  return cwd;
});

async function visit(major) {
  const cwd = await installed();
  return (await run(await node(major), ["--no-warnings", "sqlite-file.mjs", "a.db"], { cwd })).trim();
}

function expectEqual(printed, expected) {
  if (printed !== expected) throw new Error(`it printed\n${printed}\nand not\n${expected}`);
}

export const checks = {
  "sqlite without node:sqlite and libsql names the package to install": async () => {
    expectEqual(await visit(20), "PackageMissingError: npm install libsql");
  },
  "a SQLite file moves between the versions of Node, and so between the drivers": async () => {
    await install(await installed(), `libsql@${version("libsql")}`);
    const visits = [...NODES, ...NODES.toReversed()];
    for (const [i, major] of visits.entries())
      expectEqual(await visit(major), `${i + 1} rows, the last of visit ${i + 1}`);
  },
};
