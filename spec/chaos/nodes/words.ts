// What the ledger of a kill test and its nodes say to each other.

import type { System } from "signalbox";
import type { HeldName } from "./names.js";

/** The ledger orders dispatches, by their numbers, or asks for the links that a node has to others. */
export type Order =
  | { readonly type: "dispatch"; readonly from: number; readonly to: number }
  | { readonly type: "links" }
  | { readonly type: "leave" };

/** A link, as the node of one end knows it. */
export interface LinkEnd {
  readonly from: string;
  readonly to: string;
}

/** What a node says. */
export type Word =
  | { readonly type: "ready" }
  /** How a dispatch ended: with the reply, or with the code of an error. */
  | { readonly type: "ended"; readonly ends: readonly Ended[] }
  /** Also the names that it holds at that moment. */
  | { readonly type: "links"; readonly ends: readonly LinkEnd[]; readonly held: readonly HeldName[] }
  /** A write of the holder of a name. */
  | { readonly type: "wrote"; readonly held: HeldName };

export interface Ended {
  readonly n: number;
  readonly reply?: number | undefined;
  readonly code?: string | undefined;
}

/** The work: what a consumer replies. */
export function answerTo(n: number): number {
  return (n * 7 + 3) % 1_000_003;
}

/** The ends of links of a system whose other ends are on other nodes. */
export function linkEnds(system: System): LinkEnd[] {
  return system
    .processes()
    .flatMap((pid) =>
      (system.info(pid)?.links ?? [])
        .filter((other) => other.node.id !== system.node.id)
        .map((other) => ({ from: `${pid.node.id}.${pid.id}`, to: `${other.node.id}.${other.id}` })),
    );
}
