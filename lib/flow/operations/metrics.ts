// Counts and delays of all flows of a store.

import type { Store } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import { flows } from "../journal/tables.js";
import { FLOW_STATUSES, type FlowMetrics, type FlowStatus } from "./operations.js";

export async function readMetrics(store: Store): Promise<FlowMetrics> {
  const now = await wholeClock(store);
  const [counted, [pending], [due], [nudged]] = await Promise.all([
    Promise.all(FLOW_STATUSES.map((status) => store.count(flows, { index: "status", prefix: [status] }))),
    store.scan(flows, { index: "status", prefix: ["pending"], limit: 1 }),
    // 0 stands for "at once", and says nothing of since when.
    store.scan(flows, { index: "due", from: 1, limit: 1 }),
    store.scan(flows, { index: "due", prefix: [0], limit: 1 }),
  ]);
  const counts = Object.fromEntries(
    FLOW_STATUSES.map((status, i) => [status, counted[i] as number]),
  ) as Record<FlowStatus, number>;
  const late = [due?.due ?? now, nudged?.updated ?? now].map((since) => now - since);
  return {
    counts,
    ...(pending !== undefined && { oldestPendingMs: Math.max(0, now - pending.created) }),
    lagMs: Math.max(0, ...late),
    inHospital: counts.hospitalized,
  };
}
