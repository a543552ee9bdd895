// Samples of a program, as its operations would give them.

import type { Incident, Overview } from "../../../lib/admin/history/operations.js";
import type { TopProcess, TopProcesses } from "../../../lib/admin/system/processes/operations.js";
import type { Sample } from "../../../lib/cli/top/top-machine.js";

export const NOW: number = Date.UTC(2026, 10, 29, 22);

export function processOf(n: number, more: Partial<TopProcess> = {}): TopProcess {
  return {
    pid: `shop.${n}`,
    label: `clerk-${n}`,
    kind: "server",
    status: "waiting",
    mailboxDepth: n,
    handled: n,
    ...more,
  };
}

export function incidentOf(number: number, more: Partial<Incident> = {}): Incident {
  return {
    ...{ number, at: NOW - 12_000, lastAt: NOW - 12_000, kind: "restart", count: 1, path: "shop floor/till" },
    text: "Error: no paper",
    ...more,
  };
}

export function overviewOf(more: Partial<Overview> = {}): Overview {
  return {
    ...{ name: "shop", id: "shop-1", at: NOW, uptimeMs: 192_000, keepsSince: NOW - 60_000, processes: 1_204 },
    ...{
      handledPerS: 12_345,
      counts: { restart: { total: 3, minute: 1 } },
      turns: { late: 2, lastLateMs: 14 },
    },
    memory: { heapUsed: 34 << 20, heapTotal: 60 << 20, rss: 120 << 20 },
    ...{ deepest: [], breakers: [{ name: "bank", state: "open", since: NOW - 12_000 }], minute: [] },
    recent: [incidentOf(1)],
    ...more,
  };
}

export function sampleOf(processes: readonly TopProcess[], overview: Partial<Overview> = {}): Sample {
  const top: TopProcesses = {
    ...{ at: NOW, total: 1_204, matched: processes.length, walkMs: 3, processes },
  };
  return { overview: overviewOf(overview), top };
}
