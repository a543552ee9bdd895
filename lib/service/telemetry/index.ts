export { telemetryChannel } from "./channels.js";
export type * from "./events.js";
export type { MetricsFormat } from "./exposition.js";
export { METRICS_DEFAULTS, type MetricsOptions } from "./metrics.js";
export {
  TELEMETRY_DEFAULTS,
  type TelemetryOptions,
  type TelemetrySampling,
  type TelemetrySettings,
} from "./options.js";
export type {
  CounterMetric,
  GaugeMetric,
  HistogramMetric,
  LabelArguments,
  OwnGaugeOptions,
  OwnHistogramOptions,
  OwnMetricOptions,
} from "./own-metrics.js";
export { type PrometheusMetrics, prometheus, type ScrapeRequest, type ScrapeResponse } from "./prometheus.js";
export { type TelemetryStream, telemetry } from "./telemetry.js";
