// Notes of telemetry on messages, in their field `tap`: when a message was sent, and which span sent it. Only the library's own
// classes are read here: a message of the user is never touched.

import { Cast } from "../../behaviour/handle/methods.js";
import { isSpecial } from "../../process/entries.js";
import type { Request } from "../../process/request.js";
import type { CallTap } from "../../process/taps.js";
import type { MessageBegin } from "./events.js";

/** The facts about a message before it is handled. */
export interface Mark extends Pick<MessageBegin, "kind" | "name" | "cause"> {
  /** When it was sent. */
  readonly sentAt: number;
  /** It is timed for the metrics or followed by the keeper of spans, and emits no event. */
  readonly isPrivate?: boolean;
  /** What the keeper of spans has decided of the span that sent it. Undefined: nothing. */
  readonly verdict?: "kept" | "refused" | undefined;
}

/** The content of a `tap`: a mark, or something that leads to one. */
export interface Marker {
  readonly isMarker: true;
  readonly mark: Mark | undefined;
}

/** A mark of its own. */
export class PlainMark implements Marker {
  readonly isMarker = true;
  readonly mark: Mark;

  constructor(
    kind: Mark["kind"],
    name: string | undefined,
    cause: number | undefined,
    sentAt: number,
    isPrivate: boolean,
    verdict: Mark["verdict"],
  ) {
    this.mark = { kind, name, cause, sentAt, isPrivate, verdict };
  }
}

/** The mark of a call that has come from another node. */
export class ArrivedCall implements Marker, CallTap {
  readonly isMarker = true;
  readonly mark: Mark;

  constructor(mark: Mark) {
    this.mark = mark;
  }

  /** Its end belongs to the node of its caller. */
  ended(): void {}
}

/** The mark of an entry of a mailbox, if it has one. A cast has its own. */
export function markOf(entry: unknown): Mark | undefined {
  const marked = isSpecial(entry) ? (entry as { readonly tap?: unknown }) : castOf(entry);
  return (marked?.tap as Partial<Marker> | undefined)?.mark;
}

/** The method of a call. The requests of behaviours have one; `ctx.call` has none. */
export function methodOf(request: Request): string | undefined {
  const { method } = request as { readonly method?: unknown };
  return typeof method === "string" ? method : undefined;
}

/** `instanceof` for any message of the user: a Proxy may throw at it. */
export function castOf(message: unknown): Cast | undefined {
  try {
    return message instanceof Cast ? message : undefined;
  } catch {
    return undefined;
  }
}
