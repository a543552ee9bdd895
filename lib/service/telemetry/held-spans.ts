// The spans of a system, kept as long as a process of the program lives. What is spawned from then on is followed.

import type { Context } from "../../process/context.js";
import type { Process } from "../../process/process.js";
import { offerSpansOf, spansOf } from "./telemetry.js";

/** Keeps the spans of a process's system until the process ends. They are kept when the promise resolves. */
export async function holdSpans({ self, signal }: Pick<Context<never>, "self" | "signal">): Promise<void> {
  const { kernel } = self.process as Process;
  offerSpansOf(kernel);
  const keeper = await spansOf(kernel);
  if (!signal.aborted) signal.addEventListener("abort", keeper.hold());
}
