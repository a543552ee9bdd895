// Opens the file of a store: finds a driver, starts the engine, and looks whether the file is a store that this release knows.

import { OptionError } from "../../process/errors.js";
import { PackageMissingError } from "../../process/package-missing.js";
import type { DriverHost } from "../driver.js";
import { StoreVersionError } from "../errors.js";
import { findDriver, LIBSQL } from "./drivers.js";
import { openHere, openThread } from "./engine-port.js";
import { StoreDamagedError } from "./errors.js";
import { storeError } from "./failures.js";
import { checkFile, checkWhole, createPrivate, readOwner, tellOwner } from "./files.js";
import type { Driver, Opened, Settings } from "./jobs.js";
import { APPLICATION_ID, FORMAT, formatSteps } from "./layout.js";
import type { SqliteSettings } from "./settings.js";
import { SqliteDriver } from "./sqlite-driver.js";

/** Opens a file that is not open in this process. */
export async function connectTo(
  label: string,
  path: string,
  settings: SqliteSettings,
  host: DriverHost,
  closed: () => void,
): Promise<SqliteDriver> {
  const driver = findDriver(settings.driver);
  if (driver === undefined)
    throw settings.driver === "node"
      ? new OptionError("driver", "node", "absent or libsql: this Node has no node:sqlite; Node 22.13 has")
      : new PackageMissingError("libsql", LIBSQL, "a SQLite store on this Node, which has no node:sqlite,");
  checkFile(path);
  checkWhole(path);
  createPrivate(path);
  const port = settings.thread ? openThread() : openHere();
  try {
    const opened = await port.ask({ type: "open", settings: engineSettings(path, settings, driver) });
    checkOwn(label, path, opened);
    tellOwner(path, host.environment.wallTime());
    const steps = formatSteps(opened.format);
    if (steps.length > 0) await port.ask({ type: "write", steps });
    const made = new SqliteDriver(label, path, port, host, settings, closed);
    await made.begin();
    return made;
  } catch (error) {
    await port.end();
    throw storeError(path, error, readOwner(path));
  }
}

/** The settings of the engine. */
export function engineSettings(path: string, settings: SqliteSettings, driver: Driver): Settings {
  return {
    path,
    driver,
    synchronous: settings.durability === "process-kill" ? "normal" : "full",
    cacheBytes: settings.cacheBytes,
    walBytes: settings.walBytes,
    autoCheckpointPages: settings.checkpointPages,
    preparedStatements: settings.preparedStatements,
    statements: settings.transactionStatements,
    resultRows: settings.resultRows,
    applicationId: APPLICATION_ID,
    format: FORMAT,
  };
}

/** @throws StoreVersionError, StoreDamagedError */
function checkOwn(label: string, path: string, { applicationId, format }: Opened): void {
  if (applicationId === APPLICATION_ID && format > FORMAT)
    throw new StoreVersionError(label, "the store's own tables", format, FORMAT);
  if (applicationId !== APPLICATION_ID && (applicationId !== 0 || format !== 0))
    throw new StoreDamagedError(
      path,
      `it is the database of another program (application id ${applicationId}, version ${format})`,
    );
}
