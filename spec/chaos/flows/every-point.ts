// Kills a host at each point that it passes: once at the first, once at the second, and so on.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findingsOf, isClean } from "../../flow/programs/record.js";
import type { StorePlace } from "../stores.js";
import { readDeeds } from "./deeds.js";
import { type KillReport, KillRun, lineOf } from "./kills.js";
import { bookingsOf } from "./stores.js";

export interface EveryPointOptions {
  readonly seed: number;
  readonly child: readonly string[];
  /** Flows of the plan. Default 3. */
  readonly flows?: number;
  /** Kills only at each point whose number this divides. Default 1. */
  readonly step?: number;
  progress?(point: number): void;
}

/** Runs the same flows on a new store for each point. Ends with the first point that they do not reach. */
export async function everyPoint(options: EveryPointOptions): Promise<KillReport> {
  const { seed, child, flows: flowsPerKill = 3, step = 1 } = options;
  let flows = 0;
  let point = 0;
  for (let kills = 0; ; kills++) {
    point += step;
    const folder = mkdtempSync(join(tmpdir(), "signalbox-kills-"));
    const place: StorePlace = { type: "sqlite", path: join(folder, "flows.db") };
    const run = new KillRun(
      { kills: 1, seed, child, flowsPerKill, store: place, bookings: bookingsOf },
      folder,
      place,
    );
    const reached = await run.killOnceAt(point);
    flows += run.programs.size;
    const findings = findingsOf(run.programs, readDeeds(run.record), await bookingsOf(place));
    const clean = isClean(findings);
    if (clean) rmSync(folder, { recursive: true });
    options.progress?.(point);
    const line = lineOf({ kills, stops: 0, restarts: 0 }, flows, findings);
    if (!clean || !reached) return { kills, flows, findings, clean, folder, line };
  }
}
