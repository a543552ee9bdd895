// An item in transit on a simulated network.

import type { Pid } from "../../process/pid.js";
import type { WireSignal } from "../../process/wire-signal.js";

/** The processes at both ends of a packet. Without `from` it comes from the running code. */
export interface Ends {
  readonly from?: Pid | undefined;
  readonly to?: Pid | undefined;
}

/** An item in transit on a simulated network. */
export class Packet {
  readonly kind: WireSignal["type"] | "end of the connection";
  /** For reports. */
  readonly content: unknown;
  /** Called at the receiver. */
  readonly arrive: () => void;
  /** For reports. */
  readonly ends: () => Ends;
  constructor(kind: Packet["kind"], content: unknown, arrive: () => void, ends: () => Ends = () => ({})) {
    this.kind = kind;
    this.content = content;
    this.arrive = arrive;
    this.ends = ends;
  }
}
