// The table of all metrics, as the guide has it.

import { HTTP_METRICS } from "../../lib/service/http/metrics.js";
import { POOL_METRICS } from "../../lib/service/pool/metrics.js";
import { PROTECTION_METRICS } from "../../lib/service/protection/metrics.js";
import { KERNEL_METRICS } from "../../lib/service/telemetry/catalogue.js";
import { HOST_METRICS } from "../../lib/service/telemetry/host-metrics.js";
import type { Instrument } from "../../lib/service/telemetry/instruments.js";
import { NODE_METRICS } from "../../lib/service/telemetry/node-metrics.js";
import { RUNTIME_METRICS } from "../../lib/service/telemetry/runtime.js";
import { headOf } from "../../lib/service/telemetry/series.js";

export const ALL_METRICS: readonly Instrument[] = [
  KERNEL_METRICS,
  HOST_METRICS,
  NODE_METRICS,
  POOL_METRICS,
  PROTECTION_METRICS,
  HTTP_METRICS,
  RUNTIME_METRICS,
].flatMap((table) => Object.values(table));

export function metricsTable(): string {
  const rows = ALL_METRICS.map((instrument) => {
    const { name, kind, labels, help } = headOf(instrument);
    return `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(", ")} | ${help} |`;
  });
  return ["| metric | kind | labels | what it says |", "|---|---|---|---|", ...rows].join("\n");
}
