// The spans of a system, kept as long as the program asks for them. What is spawned from now on is followed, so it is called as early as can be.

import type { Kernel } from "../../process/kernel.js";
import { spanKeeper } from "./span-keeper.js";
import { offerSpansOf, openStream } from "./telemetry.js";

/** Keeps the spans of a system until the returned call. */
export function holdSpans(kernel: Kernel): () => void {
  offerSpansOf(kernel);
  return spanKeeper(kernel, () => openStream(kernel)).hold();
}
