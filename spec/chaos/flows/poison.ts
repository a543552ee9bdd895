// What the host of poison-child.ts and the test that starts it agree on.

/** How a bad flow ends its program. */
export const POISON_KINDS = ["exit", "uncaught", "memory", "spin", "stack", "abort"] as const;
export type PoisonKind = (typeof POISON_KINDS)[number];

export function isPoison(kind: string): kind is PoisonKind {
  return (POISON_KINDS as readonly string[]).includes(kind);
}

/** The id of the bad flow, and the number of good ones. */
export const POISON = "poison";
export const GOOD = 100;
/** The steps of good flows take as long as this at least, and at most. */
export const SHORTEST_MS = 100;
export const LONGEST_MS = 60_000;

/** From 0.1 s to 60 s, most of them short. */
export function stepMsOf(i: number): number {
  return SHORTEST_MS * (LONGEST_MS / SHORTEST_MS) ** (i / (GOOD - 1));
}

/** What the host prints: all flows are started; who is in hospital. */
export const READY = "READY";
export const HURT = "HURT ";
