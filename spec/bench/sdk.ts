// What OpenTelemetry's SDK does without signalbox: the spans alone.

import type { Program } from "./program.js";
import { SIZES } from "./sizes.js";
import { twoSpans } from "./traced.js";

export const programs: Readonly<Record<string, Program>> = { "call-traced": twoSpans(SIZES.callTraced) };
