// The text of a frame: a line of fields, and for data a body behind it.
//
//     S from to least most frames size capabilities      hello: the sender's counter and, if known, the receiver's
//     D from to seq ack frames size count \n [texts]     data: a JSON array of signals
//     P from to seq ack frames size last \n slice        a part of one large text
//     B from to ack frames size asks at echo held        heartbeat, apart from data
//     E from to reason                                   bye: the epoch has ended
//     V least most                                       the versions of the other side do not fit
//
// `from` and `to` are the counters of the two ends. Together they are the epoch. Frames come from other hosts, so each field is
// checked: a text of any other form ends the epoch.

/** A range of versions of the protocol. */
export interface VersionRange {
  readonly least: number;
  readonly most: number;
}

/** Why a session ends an epoch. The reason travels to the other side. */
export const BYE_REASONS = [
  "gap",
  "timeout",
  "stalled",
  "undecodable",
  "slept",
  "overflow",
  "unanswered",
  "stale",
  "left",
] as const;

export type ByeReason = (typeof BYE_REASONS)[number];

/** The credit of a sender: the number of the last frame that it may send, and the sum of the sizes of its frames. Both only grow. */
export interface Credit {
  readonly frames: number;
  readonly size: number;
}

/** The counters of the two ends: the epoch, as the sender of a frame sees it. */
export interface Ends {
  readonly from: number;
  /** 0 in a hello whose sender does not know the counter of the other side yet. */
  readonly to: number;
}

/** The acknowledgement and the credit that a frame carries for the sender at the other side. */
interface Receipt extends Ends {
  /** The last frame that arrived. */
  readonly ack: number;
  readonly credit: Credit;
}

export interface HelloFrame extends Ends {
  readonly type: "hello";
  readonly versions: VersionRange;
  /** The credit to begin with. */
  readonly credit: Credit;
  readonly capabilities: readonly string[];
}

export interface DataFrame extends Receipt {
  readonly type: "data";
  readonly seq: number;
  /** How many signals the body has. */
  readonly count: number;
  /** A JSON array of the texts of signals. */
  readonly body: string;
}

export interface PartFrame extends Receipt {
  readonly type: "part";
  readonly seq: number;
  readonly isLast: boolean;
  readonly body: string;
}

export interface BeatFrame extends Receipt {
  readonly type: "beat";
  /** The sender has frames that are not acknowledged. */
  readonly asks: boolean;
  /** The sender's clock, in microseconds. */
  readonly at: number;
  /** `at` of the last heartbeat that arrived, and the microseconds since then; 0 and 0 before the first. */
  readonly echo: number;
  readonly held: number;
}

export interface ByeFrame extends Ends {
  readonly type: "bye";
  readonly reason: ByeReason;
}

export interface VersionsFrame {
  readonly type: "versions";
  readonly versions: VersionRange;
}

export type Frame = HelloFrame | DataFrame | PartFrame | BeatFrame | ByeFrame | VersionsFrame;

/** The text of a frame. */
export function encodeFrame(frame: Frame): string {
  switch (frame.type) {
    case "hello": {
      const { from, to, versions, credit, capabilities } = frame;
      return `S ${from} ${to} ${versions.least} ${versions.most} ${credit.frames} ${credit.size} ${capabilities.join(",")}`;
    }
    case "data":
      return `D ${frame.from} ${frame.to} ${frame.seq} ${receipt(frame)} ${frame.count}\n${frame.body}`;
    case "part":
      return `P ${frame.from} ${frame.to} ${frame.seq} ${receipt(frame)} ${frame.isLast ? 1 : 0}\n${frame.body}`;
    case "beat":
      return `B ${frame.from} ${frame.to} ${receipt(frame)} ${frame.asks ? 1 : 0} ${frame.at} ${frame.echo} ${frame.held}`;
    case "bye":
      return `E ${frame.from} ${frame.to} ${frame.reason}`;
    case "versions":
      return `V ${frame.versions.least} ${frame.versions.most}`;
    default:
      return frame satisfies never;
  }
}

const EPOCH = /^[SDPBE] (\d{1,16}) (\d{1,16})(?= |$)/;

/** The beginning of a frame that says to which epoch it belongs: a carrier may name a frame by it. `-`: it belongs to none. */
export function tagOf(frame: string): string {
  return EPOCH.exec(frame)?.[0] ?? "-";
}

/** The epoch of a frame or of its tag. Undefined: it belongs to none. */
export function endsOf(frame: string): Ends | undefined {
  const [, from, to] = EPOCH.exec(frame) ?? [];
  return from === undefined ? undefined : { from: Number(from), to: Number(to) };
}

function receipt({ ack, credit }: Receipt): string {
  return `${ack} ${credit.frames} ${credit.size}`;
}

/** Longest line of fields: a hello with its capabilities. */
const LONGEST_LINE = 1_024;

const LINE = /^[SDPBEV](?: [\w,.-]*)+$/;
const CAPABILITIES = /^(?:[a-z][\w.-]*(?:,[a-z][\w.-]*)*)?$/;

/** How many fields a line of each kind has behind its letter, and whether a body follows. */
const SHAPES: ReadonlyMap<string, { readonly fields: number; readonly hasBody: boolean }> = new Map([
  ["S", { fields: 7, hasBody: false }],
  ["D", { fields: 7, hasBody: true }],
  ["P", { fields: 7, hasBody: true }],
  ["B", { fields: 9, hasBody: false }],
  ["E", { fields: 3, hasBody: false }],
  ["V", { fields: 2, hasBody: false }],
]);

/** The frame of a text, or undefined when it is none, whatever it is. The body of data stays a text, which the codec reads. */
export function decodeFrame(text: unknown): Frame | undefined {
  if (typeof text !== "string") return undefined;
  const end = text.indexOf("\n");
  const line = end < 0 ? text : text.slice(0, Math.min(end, LONGEST_LINE + 1));
  if (line.length > LONGEST_LINE || !LINE.test(line)) return undefined;
  const [kind = "", ...words] = line.split(" ");
  const shape = SHAPES.get(kind);
  if (shape === undefined || words.length !== shape.fields || end >= 0 !== shape.hasBody) return undefined;
  const fields = new Fields(words);
  const frame = frameOf(kind, fields, end < 0 ? "" : text.slice(end + 1));
  return fields.areValid ? frame : undefined;
}

function frameOf(kind: string, fields: Fields, body: string): Frame | undefined {
  switch (kind) {
    case "S":
      return helloOf(fields);
    case "D": {
      if (!body.startsWith("[") || !body.endsWith("]")) return undefined;
      const seq = { ...fields.ends(1), seq: fields.number(2, 1), ...fields.receipt(3) };
      return { type: "data", ...seq, count: fields.number(6, 1), body };
    }
    case "P": {
      const seq = { ...fields.ends(1), seq: fields.number(2, 1), ...fields.receipt(3) };
      return { type: "part", ...seq, isLast: fields.flag(6), body };
    }
    case "B": {
      const beat = { ...fields.ends(1), ...fields.receipt(2), asks: fields.flag(5) };
      return { type: "beat", ...beat, at: fields.number(6), echo: fields.number(7), held: fields.number(8) };
    }
    case "E": {
      const reason = BYE_REASONS.find((one) => one === fields.word(2));
      return reason && { type: "bye", ...fields.ends(0), reason };
    }
    default:
      return { type: "versions", versions: fields.versions(0) };
  }
}

function helloOf(fields: Fields): HelloFrame | undefined {
  const names = fields.word(6);
  if (!CAPABILITIES.test(names)) return undefined;
  return {
    type: "hello",
    ...fields.ends(0),
    versions: fields.versions(2),
    credit: fields.credit(4),
    capabilities: names === "" ? [] : names.split(","),
  };
}

/** The fields of one line. */
class Fields {
  readonly #words: readonly string[];
  /** All fields that were read are what they must be. */
  areValid = true;

  constructor(words: readonly string[]) {
    this.#words = words;
  }

  word(index: number): string {
    return this.#words[index] as string;
  }

  /** A whole number in its one decimal form. */
  number(index: number, least = 0, most = Number.MAX_SAFE_INTEGER): number {
    const word = this.word(index);
    const number = Number(word);
    if (String(number) !== word || !Number.isSafeInteger(number) || number < least || number > most)
      this.areValid = false;
    return number;
  }

  flag(index: number): boolean {
    return this.number(index, 0, 1) === 1;
  }

  ends(leastTo: number): Ends {
    return { from: this.number(0, 1), to: this.number(1, leastTo) };
  }

  credit(index: number): Credit {
    return { frames: this.number(index), size: this.number(index + 1) };
  }

  receipt(index: number): { readonly ack: number; readonly credit: Credit } {
    return { ack: this.number(index), credit: this.credit(index + 1) };
  }

  versions(index: number): VersionRange {
    const least = this.number(index, 1);
    return { least, most: this.number(index + 1, least) };
  }
}
