// A system whose history is kept, on a clock of its own.

import { System, type SystemOptions } from "signalbox";
import { type TestClock, testClock } from "signalbox/testing";
import { expect, onTestFinished } from "vitest";
import { keptFor } from "../../../lib/admin/history/kept.js";
import type { Incident } from "../../../lib/admin/history/operations.js";
import { KernelOperations } from "../../../lib/admin/system/kernel-operations.js";

export interface Shop {
  readonly clock: TestClock;
  readonly system: System;
  readonly on: KernelOperations;
  /** The incidents, the oldest first. */
  all(kind?: string): Promise<readonly Incident[]>;
  /** The only incident of a kind. */
  one(kind: string): Promise<Incident>;
}

export async function shop(options: SystemOptions = {}): Promise<Shop> {
  const clock = testClock();
  const system = new System({ name: "shop", environment: clock.environment, report: false, ...options });
  onTestFinished(() => clock.until(system.stop({ timeoutMs: 0 })));
  const on = new KernelOperations(system.kernel);
  keptFor(system.kernel).hold();
  const all = async (kind?: string): Promise<readonly Incident[]> =>
    [...(await on.recent({ limit: 500, ...(kind !== undefined && { kind }) }))].reverse();
  const one = async (kind: string): Promise<Incident> => {
    const found = await all(kind);
    expect(found).toHaveLength(1);
    return found[0] as Incident;
  };
  return { clock, system, on, all, one };
}
