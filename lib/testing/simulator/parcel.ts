// Something on its way over a simulated network.

import type { WireSignal } from "../../process/remote.js";

/** Something on its way. */
export class Parcel {
  readonly kind: WireSignal["type"] | "reply";
  /** For reports. */
  readonly content: unknown;
  /** What happens where it arrives. */
  readonly arrive: () => void;
  constructor(kind: Parcel["kind"], content: unknown, arrive: () => void) {
    this.kind = kind;
    this.content = content;
    this.arrive = arrive;
  }
}
