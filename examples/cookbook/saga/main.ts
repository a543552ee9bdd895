// The demonstration of the recipe: the process of a trip is killed while the hotel books, then there is no car, and then the hotel does
// not answer when its room is given back.

import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { System } from "signalbox";
import { flowHost, openFlowOperations } from "signalbox/flow";
import { sqlite } from "signalbox/store";
import { type Agencies, SoldOutError, tripFlow } from "./trip.js";

/** Agencies with a memory outside of the process that is killed: a line for each key. */
function agenciesAt(file: string, hotel: { isClosed: boolean }): Agencies {
  /** Does the work of a key once. Gives whether it was new. */
  const once = (key: string, what: string): boolean => {
    const isNew = !readFileSync(file, "utf8").includes(`${key}\n`);
    if (isNew) appendFileSync(file, `${key}\n`);
    console.log(`  ${what}${isNew ? "" : ": done before"}`);
    return isNew;
  };
  return {
    async book(kind, { to }, key) {
      if (kind === "car") throw new SoldOutError(`no car in ${to}`);
      const isNew = once(key, `${kind} booked`);
      if (kind === "hotel" && isNew) process.kill(process.pid, "SIGKILL"); // booked, and the answer is lost
      return `${kind}-1`;
    },
    async cancel(kind, booking, key) {
      if (kind === "hotel" && hotel.isClosed) throw new Error("the hotel does not answer");
      once(key, `${booking} cancelled`);
    },
  };
}

/** The service: goes on with the trip, or starts it. */
async function travel(folder: string): Promise<void> {
  const hotel = { isClosed: true };
  const store = sqlite(join(folder, "trips.db"));
  const trip = tripFlow(agenciesAt(join(folder, "agencies.txt"), hotel), {
    retry: { attempts: 2, backoff: { minMs: 1, maxMs: 1 } },
  });
  await using system = new System({ name: "travel", report: false });
  const kept = new Promise((resolve) => {
    system.events.on("hospital", (report) => {
      if (report.type !== "observed") return;
      console.log(`  ${report.flow} waits for a person: ${report.record.symptom.message}`);
      resolve(report);
    });
  });
  const flows = await system.start(flowHost({ store, flows: [trip] }));
  const run = await flows.start(trip, { id: "7", to: "Lisbon" }, { id: "trip-7" });

  await kept;
  console.log("the hotel is open again");
  hotel.isClosed = false;
  await using operations = await openFlowOperations(system, store);
  await operations.retry("trip-7", { from: "undo book hotel" });
  console.log(" ", await run.result());
}

const folder = process.env.TRIP_FOLDER;
if (folder !== undefined) await travel(folder);
else {
  const fresh = mkdtempSync(join(tmpdir(), "trip-"));
  appendFileSync(join(fresh, "agencies.txt"), "");
  for (const run of ["first", "second"]) {
    console.log(`the ${run} process`);
    const { signal } = spawnSync(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url)], {
      env: { ...process.env, TRIP_FOLDER: fresh },
      stdio: "inherit",
    });
    if (signal !== null) console.log(`  ended by ${signal}`);
  }
  rmSync(fresh, { recursive: true });
}
