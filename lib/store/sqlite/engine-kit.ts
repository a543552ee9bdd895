// The parts of Node that the engine needs: drivers, files, hashes.

import { node, optionalModule } from "../../process/node-modules.js";
import type { EngineKit } from "./engine.js";

/**
 * The parts of Node that the engine uses. The source of this function, too, travels as text.
 *
 * @param load - gives a module of Node, or the package at a path
 */
export function makeKit(load: (name: string) => unknown): Omit<EngineKit, "Connection" | "machine"> {
  const fs = load("node:fs") as typeof import("node:fs");
  const path = load("node:path") as typeof import("node:path");
  const crypto = load("node:crypto") as typeof import("node:crypto");
  const sync = (name: string, flags: string): void => {
    const descriptor = fs.openSync(name, flags);
    try {
      fs.fsyncSync(descriptor);
    } finally {
      fs.closeSync(descriptor);
    }
  };
  const syncFolderOf = (name: string): void => {
    try {
      sync(path.dirname(name), "r");
    } catch (error) {
      // Windows opens no folders.
      if (!["EISDIR", "EPERM", "EACCES"].includes((error as { code?: string }).code ?? "")) throw error;
    }
  };
  return {
    openDatabase: (driver, file) => {
      if (driver.kind === "libsql") {
        const Database = load(driver.path) as new (path: string) => ReturnType<EngineKit["openDatabase"]>;
        return new Database(file);
      }
      const { DatabaseSync } = load("node:sqlite") as {
        DatabaseSync: new (path: string) => ReturnType<EngineKit["openDatabase"]>;
      };
      return new DatabaseSync(file);
    },
    hash: (parts) => {
      const hash = crypto.createHash("sha256");
      for (const part of parts) hash.update(part).update("\n");
      return hash.digest("base64");
    },
    identityOf: (name) => {
      const stat = fs.statSync(name, { throwIfNoEntry: false });
      return stat === undefined ? undefined : `${stat.dev} ${stat.ino}`;
    },
    sizeOf: (name) => fs.statSync(name, { throwIfNoEntry: false })?.size ?? 0,
    syncFolderOf,
    publish: (from, to) => {
      sync(from, "r+");
      fs.linkSync(from, to);
      fs.rmSync(from);
      syncFolderOf(to);
    },
    remove: (name) => fs.rmSync(name, { force: true }),
    reserve: (name) => {
      const descriptor = fs.openSync(name, "wx", 0o600);
      fs.fchmodSync(descriptor, 0o600);
      fs.closeSync(descriptor);
    },
  };
}

/** A module of Node, or the package at a path, for an engine in this thread. */
export function loadHere(name: string): unknown {
  return name.startsWith("node:")
    ? optionalModule(name as Parameters<typeof optionalModule>[0])
    : node.module.createRequire(name)(name);
}

/** Resolves after what waits in the event loop has had its turn. */
export function turnOver(): Promise<void> {
  return new Promise((resolve) => {
    node.timers.setImmediate(resolve);
  });
}
