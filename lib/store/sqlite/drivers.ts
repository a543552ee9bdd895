// Chooses the driver that opens a SQLite file: node:sqlite where Node has it, else the package libsql.

import { node } from "../../process/node-modules.js";
import type { Driver } from "./jobs.js";

/** The versions of libsql that this release was tested with. */
export const LIBSQL = "^0.5.29";

/** The driver to use, or undefined: Node has none and the package is not installed. */
export function findDriver(wanted: "node" | "libsql" | undefined): Driver | undefined {
  if (wanted !== "libsql" && hasNodeSqlite()) return { kind: "node" };
  if (wanted === "node") return undefined;
  const path = pathOf("libsql");
  return path === undefined ? undefined : { kind: "libsql", path };
}

/** Whether Node has node:sqlite: from 22.13 on without a flag. Node 22 warns of it when it is loaded, so it is not. */
function hasNodeSqlite(): boolean {
  return node.module.isBuiltin("node:sqlite");
}

/** The main file of a package, found from this file or from the program's folder. Nothing here is seen by a bundler. */
function pathOf(name: string): string | undefined {
  const { createRequire } = node.module;
  for (const from of [import.meta.url, `${node.process.cwd()}/package.json`]) {
    try {
      return createRequire(from).resolve(name);
    } catch {
      // Look from the next.
    }
  }
  return undefined;
}
