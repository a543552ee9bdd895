// An item in transit on a simulated network.

import type { Pid } from "../../process/pid.js";
import { formatReason } from "../../process/reason.js";
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

/** The content of a signal, for reports. */
export function contentOf(signal: WireSignal): unknown {
  switch (signal.type) {
    case "message":
    case "call":
      return signal.message;
    case "reply": {
      const { outcome } = signal;
      if ("exited" in outcome) return formatReason(outcome.exited);
      return outcome.ok ? outcome.value : outcome.error;
    }
    case "exit":
    case "down":
      return formatReason(signal.reason);
    default:
      return undefined;
  }
}
