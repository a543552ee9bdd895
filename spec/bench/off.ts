// The programs of telemetry.ts without telemetry.

export { unobserved as programs } from "./telemetry.js";
