// The journal's entries: decisions, in the order in which the code sees them.

/** A value as it is stored: encoded by a codec. */
export type Stored = string | Uint8Array | null;

/** Something that the code asked for: a kind (step, sleep, receive, …) and a name. */
export interface Ask {
  /** A word of this library: needs no quoting. */
  readonly kind: string;
  /** The name, with `#2` and so on when it was used before. */
  readonly key: string;
  /** The immediate answer of a `version`. */
  readonly answer?: number;
}

/** The decision of an entry. */
export type Decision =
  /** An ask has its outcome. */
  | { readonly type: "done"; readonly key: string; readonly ok: boolean; readonly mail?: number }
  /** A wait has begun, and ends by itself at `due`. */
  | { readonly type: "begun"; readonly key: string; readonly due: number | undefined }
  /** An attempt of a step failed; the next one is due. */
  | {
      readonly type: "failed";
      readonly key: string;
      readonly attempt: number;
      readonly due: number;
    }
  /** The flow was cancelled: all asks without an outcome reject. */
  | { readonly type: "cancelled" };

/** One entry. */
export interface Entry {
  /** When it was recorded: milliseconds since 1970 by the store's clock. */
  readonly at: number;
  /** The asks that the code made since the entry before. */
  readonly asks: readonly Ask[];
  readonly decision: Decision;
  readonly value: Stored;
}

/** An entry's head: one line of JSON. */
export function encodeHead(at: number, asks: readonly Ask[], decision: Decision): string {
  if (decision.type === "cancelled") return `["c",${at},${packedAll(asks)}]`;
  const key = JSON.stringify(decision.key);
  const [ask] = asks;
  // Mostly the outcome is that of the only ask: each part of a text costs, and the same key need not be written twice.
  const isOfAsk = asks.length === 1 && ask?.key === decision.key && ask.answer === undefined;
  const asked = isOfAsk ? `[["${ask.kind}",${key}]]` : packedAll(asks);
  switch (decision.type) {
    case "done": {
      const tail = decision.mail === undefined ? "" : `,${decision.mail}`;
      return `["${decision.ok ? "d" : "e"}",${at},${asked},${key}${tail}]`;
    }
    case "begun":
      return `["b",${at},${asked},${key},${decision.due ?? "null"}]`;
    case "failed":
      return `["f",${at},${asked},${key},${decision.due},${decision.attempt}]`;
  }
}

const packedAll = (asks: readonly Ask[]): string => `[${asks.map(packed).join()}]`;

type PackedAsk = readonly [kind: string, key: string, answer?: number];
type PackedHead = readonly [string, number, readonly PackedAsk[], string, number | null, number];

function packed({ kind, key, answer }: Ask): string {
  const names = `"${kind}",${JSON.stringify(key)}`;
  return answer === undefined ? `[${names}]` : `[${names},${answer}]`;
}

/** @throws SyntaxError or TypeError when the text is no head */
export function decodeEntry(head: string, value: Stored): Entry {
  const [type, at, recorded, key, number, attempt] = JSON.parse(head) as PackedHead;
  const asks = recorded.map(([kind, of, answer]) => ({
    kind,
    key: of,
    ...(answer === undefined ? {} : { answer }),
  }));
  return { at, asks, decision: decisionOf(type, key, number, attempt), value };
}

function decisionOf(type: string, key: string, number: number | null, attempt: number): Decision {
  switch (type) {
    case "d":
    case "e":
      return { type: "done", key, ok: type === "d", ...(typeof number === "number" ? { mail: number } : {}) };
    case "b":
      return { type: "begun", key, due: number ?? undefined };
    case "f":
      return { type: "failed", key, due: number as number, attempt };
    case "c":
      return { type: "cancelled" };
    default:
      throw new TypeError(`there is no entry of type ${type}`);
  }
}
