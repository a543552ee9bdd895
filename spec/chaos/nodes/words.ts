// What the ledger of a kill test and its nodes say to each other.

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
  | { readonly type: "links"; readonly ends: readonly LinkEnd[] };

export interface Ended {
  readonly n: number;
  readonly reply?: number | undefined;
  readonly code?: string | undefined;
}

/** The work: what a consumer replies. */
export function answerTo(n: number): number {
  return (n * 7 + 3) % 1_000_003;
}
