// One SQLite file on its way through the versions of Node: node:sqlite where Node has it, libsql where it has not.

import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder, install, NODES, nodeBin, packed, root, run, version } from "./support.mjs";

let project;
function installed() {
  if (project === undefined) {
    project = folder("sqlite-files");
    writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
    install(project, packed().path);
    copyFileSync(join(root, ".ci/sqlite-file.mjs"), join(project, "sqlite-file.mjs"));
  }
  return project;
}

function visit(major) {
  const node = join(nodeBin(major) ?? join(process.execPath, ".."), "node");
  return run(node, ["--no-warnings", "sqlite-file.mjs", "a.db"], { cwd: installed() }).trim();
}

function expectEqual(printed, expected) {
  if (printed !== expected) throw new Error(`it printed\n${printed}\nand not\n${expected}`);
}

export const checks = {
  "sqlite without node:sqlite and libsql names the package to install": () => {
    expectEqual(visit(20), "PackageMissingError: npm install libsql");
  },
  "a SQLite file moves between the versions of Node, and so between the drivers": () => {
    install(installed(), `libsql@${version("libsql")}`);
    const visits = [...NODES, ...NODES.toReversed()];
    for (const [i, major] of visits.entries())
      expectEqual(visit(major), `${i + 1} rows, the last of visit ${i + 1}`);
  },
};
