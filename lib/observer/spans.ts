// A child that keeps the spans of its system, while an observer is asked to.

import type { Callbacks } from "../process/behaviour.js";
import type { Pid } from "../process/pid.js";
import { type Launch, launch, type Startable } from "../process/start.js";
import { holdSpans } from "../service/telemetry/held-spans.js";

/** It has started when spans are kept. */
export function spansKept(): Startable<readonly [], Pid> {
  return {
    [launch]: (): Launch<Pid> => ({ behaviour: KEEPER, options: { label: "spans" }, ref: (pid) => pid }),
  };
}

const KEEPER: Callbacks<never> = { isHelper: true, init: holdSpans, handle: () => undefined };
