// The codec between nodes: signals as text and back, in frames of a hundred.

import { type Pid, remoteNodes, System, type WireSignal } from "../../lib/index.js";
import { SignalCodec } from "../../lib/node/codec/signal-codec.js";
import type { Program } from "./program.js";

/** Signals in a frame. */
export const FRAME = 100;
/** Different messages, which are made before the time begins. */
export const SAMPLE = 1_000;

/** A small order, as most messages are. */
export const order = (n: number): object => ({ type: "order", id: n, item: "book", count: 3 });

/** Plain messages. */
export function codecPlain(count: number): Program {
  return carried(
    count,
    (n) => order(n),
    (message, n) => (message as { id: number }).id === n,
  );
}

/** Messages with a pid. */
export function codecPid(count: number): Program {
  return carried(
    count,
    (n, from) => ({ ...order(n), from }),
    (message, n, from) => (message as { id: number }).id === n && (message as { from: Pid }).from === from,
  );
}

/** Errors with a cause. */
export function codecError(count: number): Program {
  return carried(
    count,
    (n) => new RangeError(`no order ${n}`, { cause: new TypeError("no number") }),
    (message, n) =>
      message instanceof RangeError &&
      message.message === `no order ${n}` &&
      message.cause instanceof TypeError &&
      message.stack?.includes("codec") === true,
  );
}

/** @param isRight - whether a message arrived whole; looked at for the first of each frame, which is cheap */
function carried(
  count: number,
  make: (n: number, from: Pid) => unknown,
  isRight: (message: unknown, n: number, from: Pid) => boolean,
): Program {
  return {
    operations: count,
    expected: count + Math.ceil(count / FRAME),
    run: async () => {
      const transport = remoteNodes({ send: () => true });
      const here = new System({ name: "here", transport, report: false });
      const there = new System({ name: "there", transport, report: false });
      const encoder = new SignalCodec(here.kernel, there.node);
      const decoder = new SignalCodec(there.kernel, here.node);
      const clerk = here.spawn({ handle: () => undefined }, { label: "clerk" });
      const known = there.pidAt(here.address(clerk));
      const to = { node: there.node, id: 1 };
      const given = Array.from({ length: SAMPLE }, (_, n) => make(n, clerk));
      let counted = 0;
      for (let n = 0; n < count; n += FRAME) {
        const texts: string[] = [];
        for (let i = n; i < Math.min(count, n + FRAME); i++)
          texts.push(encoder.encode({ type: "message", to, message: given[i % SAMPLE] }));
        const signals = decoder.decodeAll(`[${texts.join()}]`);
        counted += signals.length;
        const [first] = signals as [WireSignal & { readonly type: "message" }];
        if (isRight(first.message, n % SAMPLE, known)) counted++;
      }
      return { counted, end: async () => void (await Promise.all([here.stop(), there.stop()])) };
    },
  };
}
