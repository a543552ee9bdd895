// Two nodes whose signals pass through the codec, for its tests.

import { remoteNodes, System, type WireSignal } from "signalbox";
import { SignalCodec, type SignalCodecOptions } from "../../../lib/node/codec/signal-codec.js";

/** Two systems, and the codec of each for the other. */
export interface Nodes {
  readonly here: System;
  readonly there: System;
  readonly encoder: SignalCodec;
  readonly decoder: SignalCodec;
  /** The signal as `there` decodes it. */
  carried<S extends WireSignal>(signal: S): S;
  /** The value as a message has it that `there` decodes. */
  copyOf<T>(value: T): T;
}

export function nodes(options: SignalCodecOptions = {}): Nodes {
  const transport = remoteNodes({ send: () => true });
  const here = new System({ name: "here", transport, report: false });
  const there = new System({ name: "there", transport, report: false });
  const encoder = new SignalCodec(here.kernel, there.node, options);
  const decoder = new SignalCodec(there.kernel, here.node, options);
  const to = { node: there.node, id: 1 };
  const carried = <S extends WireSignal>(signal: S): S => decoder.decode(encoder.encode(signal)) as S;
  return {
    here,
    there,
    encoder,
    decoder,
    carried,
    copyOf: <T>(message: T) => carried({ type: "message" as const, to, message }).message as T,
  };
}
