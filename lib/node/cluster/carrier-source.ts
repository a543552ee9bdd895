// Where a carrier comes from: it is connected for one node.

import type { ProcessSystem } from "../../process/system.js";
import type { FrameCarrier } from "../session/carrier.js";

/** Makes the carrier of a node, such as the result of `nats`. */
export interface CarrierSource<C extends FrameCarrier = FrameCarrier> {
  /** What it is, for errors. */
  readonly label: string;
  /** Connects a system. Rejects when that cannot be done. */
  connect(system: ProcessSystem): Promise<C>;
}
