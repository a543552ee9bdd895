// A store whose engine a test can reach: to take its space away, to break it, to count what it does.

import type { Store } from "signalbox/store";
import type { Durability } from "../../../lib/store/schema.js";
import { engineSettings } from "../../../lib/store/sqlite/connect.js";
import { findDriver } from "../../../lib/store/sqlite/drivers.js";
import { type EnginePort, openThread } from "../../../lib/store/sqlite/engine-port.js";
import { formatSteps } from "../../../lib/store/sqlite/layout.js";
import { SQLITE_DEFAULTS } from "../../../lib/store/sqlite/settings.js";
import { SqliteDriver } from "../../../lib/store/sqlite/sqlite-driver.js";
import { sharedSource } from "../../../lib/store/store-source.js";
import { storeContext, type TestContext } from "../../support/store-context.js";
import { shop } from "./support.js";

/** Opens a store over a port that `wrap` may change. */
export async function openWithPort(
  path: string,
  kind: "node" | "libsql",
  wrap: (port: EnginePort) => EnginePort = (port) => port,
  context: TestContext = storeContext(),
  durability: Durability = "process-kill",
): Promise<{ readonly store: Store; readonly port: EnginePort }> {
  const port = openThread();
  const settings = { ...SQLITE_DEFAULTS, durability, driver: kind };
  const driver = findDriver(kind);
  if (driver === undefined) throw new Error(`this Node has no ${kind}`);
  const opened = await port.ask({ type: "open", settings: engineSettings(path, settings, driver) });
  await port.ask({ type: "write", steps: formatSteps(opened.format) });
  const source = sharedSource({
    label: path,
    connect: async (host) => {
      const made = new SqliteDriver(path, path, wrap(port), host, settings, () => undefined);
      await made.begin();
      return made;
    },
  });
  return { store: await source.open([shop], context), port };
}
