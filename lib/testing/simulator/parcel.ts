// An item in transit on a simulated network.

import type { WireSignal } from "../../process/remote.js";

/** An item in transit on a simulated network. */
export class Parcel {
  readonly kind: WireSignal["type"] | "reply";
  /** For reports. */
  readonly content: unknown;
  /** Called at the receiver. */
  readonly arrive: () => void;
  constructor(kind: Parcel["kind"], content: unknown, arrive: () => void) {
    this.kind = kind;
    this.content = content;
    this.arrive = arrive;
  }
}
