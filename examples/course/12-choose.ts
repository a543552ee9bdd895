// The answer to the exercise of docs/course/12-choose.md: the diagram as a function, and what it says of five pieces of work.

/** The answers to the questions about a piece of work. A missing answer is a no. */
export interface Work {
  readonly blocksThread?: boolean;
  readonly outlivesRestart?: boolean;
  readonly endless?: boolean;
  readonly anotherMayDoIt?: boolean;
  readonly severalSteps?: boolean;
  readonly commonEnd?: boolean;
}

export type Tool = "pool" | "task" | "dispatch" | "topology" | "queue" | "pipeline" | "flow";

/** The cheapest tool that keeps what the work must not lose. */
export function choose(work: Work): Tool {
  if (work.blocksThread) return "pool";
  if (work.outlivesRestart) {
    if (work.severalSteps) return "flow";
    return work.commonEnd ? "pipeline" : "queue";
  }
  if (work.endless) return "topology";
  return work.anotherMayDoIt ? "dispatch" : "task";
}

type Named = "resizePhoto" | "subscription" | "import" | "chat" | "carrier";

/** The five pieces of work of the exercise. */
export const WORKS: Readonly<Record<Named, Work>> = {
  /** A photo that is resized twice has the same pixels, so nothing need be kept but the photo itself. */
  resizePhoto: { blocksThread: true },
  /** A case with steps and long waits: a month is longer than any process lives. */
  subscription: { outlivesRestart: true, severalSteps: true },
  /** The report goes out when the last order is in: somebody must know that it was the last. */
  import: { outlivesRestart: true, commonEnd: true },
  /** The customer waits. When the clerk's process dies, another clerk may answer; when the shop dies, the page is gone. */
  chat: { anotherMayDoIt: true },
  /** One step for each parcel, and no end. */
  carrier: { outlivesRestart: true },
};
