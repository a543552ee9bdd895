// The codec between nodes beside others, on the same values: encoded and decoded in frames of a hundred. The others get what their interface
// offers for pids, and encode a frame at once, which is their best case; ours encodes each message as it is sent.

import { parse, stringify } from "devalue";
import { addExtension, Packr } from "msgpackr";
import { Pid, remoteNodes, System, type WireSignal } from "../../lib/index.js";
import { SignalCodec } from "../../lib/node/codec/signal-codec.js";
import { FRAME, order } from "./codec.js";
import { difference } from "./difference.js";
import type { Program } from "./program.js";

/** Carries a frame of messages: gives them as they come back. */
type Carry = (messages: readonly unknown[]) => readonly unknown[];

/** Two systems, one of which knows a process of the other. */
export interface TwoSystems {
  readonly here: System;
  readonly there: System;
  readonly clerk: Pid;
  /** The process as the other system knows it. */
  readonly known: Pid;
}

function twoSystems(): TwoSystems {
  const transport = remoteNodes({ send: () => true });
  const here = new System({ name: "here", transport, report: false });
  const there = new System({ name: "there", transport, report: false });
  const clerk = here.spawn({ handle: () => undefined }, { label: "clerk" }) as Pid;
  return { here, there, clerk, known: there.pidAt(here.address(clerk)) };
}

const asWord = ({ here }: TwoSystems, pid: Pid): string => {
  const { node, id } = here.address(pid);
  return JSON.stringify([node.name, node.id, id]);
};

const asPid = ({ there }: TwoSystems, word: string): Pid => {
  const [name, nodeId, id] = JSON.parse(word) as [string, string, number];
  return there.pidAt({ node: { name, id: nodeId }, id });
};

/** Extensions of msgpackr belong to all of the program: these are the systems that it knows pids of now. */
let packed: TwoSystems | undefined;
addExtension({
  Class: Pid as unknown as new () => Pid,
  type: 1,
  write: (pid: Pid) => asWord(packed as TwoSystems, pid),
  read: (word: string) => asPid(packed as TwoSystems, word),
});

/** Each codec, for two systems. */
export const CODECS = {
  signalbox: ({ here, there }: TwoSystems): Carry => {
    const encoder = new SignalCodec(here.kernel, there.node);
    const decoder = new SignalCodec(there.kernel, here.node);
    const to = { node: there.node, id: 1 };
    return (messages) => {
      const texts = messages.map((message) => encoder.encode({ type: "message", to, message }));
      const signals = decoder.decodeAll(`[${texts.join()}]`);
      return signals.map((signal) => (signal as WireSignal & { readonly type: "message" }).message);
    };
  },
  msgpackr: (systems: TwoSystems): Carry => {
    const packr = new Packr({ structuredClone: true });
    packed = systems;
    return (messages) => unwrap(packr.unpack(packr.pack(wrap(messages))));
  },
  devalue: (systems: TwoSystems): Carry => {
    const out = { Pid: (value: unknown) => value instanceof Pid && asWord(systems, value) };
    const back = { Pid: (word: string) => asPid(systems, word) };
    return (messages) => unwrap(parse(stringify(wrap(messages), out), back));
  },
  JSON: (): Carry => (messages) => unwrap(JSON.parse(JSON.stringify(wrap(messages)))),
} as const;

export type CodecName = keyof typeof CODECS;

/** A message as all of them carry it: a type, its receiver and its value. */
type Wrapped = readonly [type: number, to: number, message: unknown];

const wrap = (messages: readonly unknown[]): readonly Wrapped[] => messages.map((message) => [0, 1, message]);
const unwrap = (frame: unknown): unknown[] => (frame as readonly Wrapped[]).map(([, , message]) => message);

/** A kind of message. */
interface Kind {
  /** How many are carried in one run. */
  readonly count: number;
  make(n: number, clerk: Pid): unknown;
}

const rows = (n: number): object[] =>
  Array.from({ length: 100 }, (_, i) => ({ id: n + i, name: `row ${i}`, price: i / 4, tags: ["a", "b"] }));

export const KINDS: Readonly<Record<string, Kind>> = {
  "a small message": { count: 20_000, make: order },
  "100 rows": { count: 300, make: (n) => ({ rows: rows(n) }) },
  "a pid": { count: 10_000, make: (n, from) => ({ ...order(n), from }) },
  "an Error with a cause": {
    count: 1_000,
    make: (n) => {
      const cause = new TypeError("no number");
      return { n, error: Object.assign(new RangeError(`no order ${n}`, { cause }), { order: n }) };
    },
  },
  "undefined and -0": { count: 10_000, make: (n) => ({ n, none: undefined, zero: -0 }) },
  "a Date": { count: 10_000, make: (n) => ({ n, at: new Date(n) }) },
  "a bigint": { count: 10_000, make: (n) => ({ n, big: 2n ** 70n + BigInt(n) }) },
  "a Map": {
    count: 5_000,
    make: (n) => ({
      n,
      map: new Map<unknown, unknown>([
        ["a", n],
        [5, { n }],
      ]),
    }),
  },
  "a Set": { count: 5_000, make: (n) => ({ n, set: new Set(["a", "b", n]) }) },
  "1 KiB of bytes": { count: 5_000, make: (n) => ({ n, bytes: new Uint8Array(1_024).fill(n) }) },
  "a shared object": { count: 5_000, make: (n) => ((one) => ({ first: one, again: one }))(order(n)) },
  "a circle": {
    count: 5_000,
    make: (n) => {
      const one: Record<string, unknown> = { n };
      one.self = one;
      return one;
    },
  },
};

/** What a codec does to a kind of message: undefined when it comes back as it was. */
export function flawOf(codec: CodecName, kind: Kind): string | undefined {
  const systems = twoSystems();
  const { clerk, known } = systems;
  try {
    const carry = CODECS[codec](systems);
    const sent = Array.from({ length: FRAME }, (_, n) => kind.make(n, clerk));
    const came = carry(sent);
    const same = (a: object, b: unknown): boolean | undefined => (a === clerk ? b === known : undefined);
    return sent.map((one, i) => difference(one, came[i], same)).find((flaw) => flaw !== undefined);
  } catch (error) {
    return (error as Error).message.split("\n")[0];
  }
}

/** Carries messages of a kind. */
export function carrying(codec: CodecName, { count, make }: Kind): Program {
  return {
    operations: count,
    expected: count,
    run: async () => {
      const systems = twoSystems();
      const carry = CODECS[codec](systems);
      const frame = Array.from({ length: FRAME }, (_, n) => make(n, systems.clerk));
      let counted = 0;
      while (counted < count) counted += carry(frame).length;
      return {
        counted,
        end: async () => void (await Promise.all([systems.here.stop(), systems.there.stop()])),
      };
    },
  };
}

/** The name of a program of {@link programs}. */
export const nameOf = (codec: CodecName, kind: string): string => `${kind} by ${codec}`;

export const programs: Readonly<Record<string, Program>> = Object.fromEntries(
  Object.entries(KINDS).flatMap(([kind, of]) =>
    (Object.keys(CODECS) as CodecName[]).map((codec) => [nameOf(codec, kind), carrying(codec, of)]),
  ),
);
