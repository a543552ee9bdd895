// The retention of a host: removes flows that have ended, by age and by number, a little at a time.

import { type Background, isCurable } from "../../host/background/background.js";
import { type Retention, checkRetention as retentionOf } from "../../host/retention.js";
import type { Callbacks } from "../../process/behaviour.js";
import type { Pid } from "../../process/pid.js";
import { type Launch, launch, type Startable } from "../../process/start.js";
import { type Store, StoreClosedError } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import { flows } from "../journal/tables.js";
import type { RetentionOptions } from "../runtime/options.js";
import { ENDED_STATUSES, type FlowStatus } from "./operations.js";
import type { Removals } from "./removals.js";

/** Names the work of a retention in the background of its host. */
const RETENTION = "retention";

/** @throws OptionError */
export function checkRetention(options: RetentionOptions): Retention<FlowStatus> {
  return retentionOf(options, ENDED_STATUSES);
}

/** Removes what is to be removed now. Gives how many flows. */
export async function retain(
  store: Store,
  removals: Removals,
  { ages, most }: Retention<FlowStatus>,
  signal?: AbortSignal,
): Promise<number> {
  await removals.finish(signal);
  const now = await wholeClock(store);
  let removed = 0;
  for (const [status, age] of ages)
    removed += await removals.removeEnded(
      (row) => row.status === status,
      now - age + 1,
      Number.POSITIVE_INFINITY,
      signal,
    );
  if (most === Number.POSITIVE_INFINITY) return removed;
  const counts = await Promise.all(
    ENDED_STATUSES.map((status) => store.count(flows, { index: "status", prefix: [status] })),
  );
  const excess = counts.reduce((sum, one) => sum + one, 0) - most;
  return excess > 0 ? removed + (await removals.removeEnded(() => true, now + 1, excess, signal)) : removed;
}

/** The retention as a child of a host. When the store fails, it is tried again soon. */
export function retentionProcess(
  store: Store,
  removals: Removals,
  retention: Retention<FlowStatus>,
  background: Background,
): Startable<readonly [], Pid> {
  const behaviour: Callbacks<"look"> = {
    init: (ctx) => ctx.send(ctx.self, "look"),
    handle: async (ctx) => {
      let inMs = retention.everyMs;
      try {
        await retain(store, removals, retention, ctx.signal);
        background.worked(RETENTION);
      } catch (error) {
        if (isCurable(error)) inMs = background.failed(RETENTION, error);
        else if (!(error instanceof StoreClosedError)) throw error;
      }
      if (ctx.alive) ctx.sendAfter(ctx.self, "look", inMs);
    },
  };
  return {
    [launch]: (): Launch<Pid> => ({
      behaviour: behaviour as Callbacks<never>,
      options: { label: "flow retention" },
      ref: (pid) => pid,
    }),
  };
}
