// One end of a link between two nodes, as a pure machine. Signals of both ends may cross, so an end that unlinks waits for the other's
// acknowledgement. Then the two always agree, once nothing is under way: both are linked, or neither is (the link protocol of
// Erlang's distribution, since OTP 23.3).
//
//     none ── link, linked ──> active ── unlink ──> inactive ── acknowledged ──> none
//                               │  ^                    │
//            unlinked, exited ──┘  └─────── link ───────┘   (linked, unlinked: nothing changes)
//
// An acknowledgement must reach the other end before whatever this end sends next: signals of a pair keep their order.

import type { ExitReason } from "./reason.js";

/** `none`, `active`, or inactive: the number of an unlink that the other end has not acknowledged. */
export type LinkEnd = "none" | "active" | number;

export type LinkEvent =
  /** This process links, or ends its link. The number must be new. */
  | { readonly type: "link" }
  | { readonly type: "unlink"; readonly id: number }
  /** The other process has linked, has ended its link, or has acknowledged that this one ended it. */
  | { readonly type: "linked" }
  | { readonly type: "unlinked"; readonly id: number }
  | { readonly type: "acknowledged"; readonly id: number }
  /** The other process has exited, or the connection is lost: `noconnection`. */
  | { readonly type: "exited"; readonly reason: ExitReason };

/** A signal for the other end. `exit`: the exit signal takes effect on this process. */
export type LinkEffect =
  | { readonly type: "link" }
  | { readonly type: "unlink" | "acknowledge"; readonly id: number }
  | { readonly type: "exit"; readonly reason: ExitReason };

const NONE: readonly LinkEffect[] = [];
const LINK: readonly LinkEffect[] = [{ type: "link" }];

/** One transition. */
export function decide(end: LinkEnd, event: LinkEvent): readonly [LinkEnd, readonly LinkEffect[]] {
  switch (event.type) {
    case "link":
      return end === "active" ? [end, NONE] : ["active", LINK];
    case "unlink":
      return end === "active" ? [event.id, [{ type: "unlink", id: event.id }]] : [end, NONE];
    case "linked":
      // The other end sent this before it saw our unlink: it will see that, and neither is linked.
      return end === "none" ? ["active", NONE] : [end, NONE];
    case "unlinked":
      return [end === "active" ? "none" : end, [{ type: "acknowledge", id: event.id }]];
    case "acknowledged":
      return [end === event.id ? "none" : end, NONE];
    case "exited":
      return ["none", end === "active" ? [{ type: "exit", reason: event.reason }] : NONE];
    default:
      return event satisfies never;
  }
}
