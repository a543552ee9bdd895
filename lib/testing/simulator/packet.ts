// An item in transit on a simulated network.

import type { Pid } from "../../process/pid.js";
import { formatReason } from "../../process/reason.js";
import type { WireSignal } from "../../process/wire-signal.js";

/** The processes at both ends of a packet. Without `from` it comes from the running code. */
export interface Ends {
  readonly from?: Pid | undefined;
  readonly to?: Pid | undefined;
}

/** What a packet is: a signal, a frame of a session, or a notice of the network. */
export type PacketKind =
  | WireSignal["type"]
  | "end of the connection"
  | "signals"
  | "part of a large signal"
  | "hello"
  | "heartbeat"
  | "end of the session"
  | "end of the pause"
  | "join";

/** An item in transit on a simulated network. */
export class Packet {
  readonly kind: PacketKind;
  /** For reports. */
  readonly content: unknown;
  /** Called at the receiver. */
  readonly arrive: () => void;
  /** For reports. */
  readonly ends: () => Ends;
  /** Whether its arrival is no step: no process learns of it. Asked when it could arrive. */
  readonly isQuiet: () => boolean;

  constructor(
    kind: PacketKind,
    content: unknown,
    arrive: () => void,
    ends: () => Ends = () => ({}),
    isQuiet: () => boolean = () => false,
  ) {
    this.kind = kind;
    this.content = content;
    this.arrive = arrive;
    this.ends = ends;
    this.isQuiet = isQuiet;
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
