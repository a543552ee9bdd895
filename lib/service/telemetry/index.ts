export { telemetryChannel } from "./channels.js";
export type * from "./events.js";
export { METRICS_DEFAULTS, type MetricsOptions } from "./metrics.js";
export {
  TELEMETRY_DEFAULTS,
  type TelemetryOptions,
  type TelemetrySampling,
  type TelemetrySettings,
} from "./options.js";
export { type PrometheusMetrics, prometheus } from "./prometheus.js";
export { type TelemetryStream, telemetry } from "./telemetry.js";
