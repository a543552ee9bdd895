// The fates of a dead letter, as a pure machine. Pipelines and durable queues carry out the same decisions on their own tables.
//
//     died ──▶ dead ──retry──▶ live again, as it was          ──died──▶ dead, its next turn
//                   ──edit───▶ live again, with another value ──died──▶ dead, its next turn
//                   ──replay─▶ copied, and dead no more ──replay again──▶ copied once more
//                   ──drop───▶ given up by a person
//
// Invariants:
//   a turn ends once     each time that a message was given up has one record of what became of it: of two callers, one is refused
//   a record first       a letter that leaves the dead state leaves a record, in the same commit
//   no copy unasked      a letter that was replayed is copied again only if the caller says so

/** The fate of a dead letter. */
export type Fate = "replayed" | "retried" | "edited" | "dropped";

/** All fates, in the order in which people read them. */
export const FATES: readonly Fate[] = ["replayed", "retried", "edited", "dropped"];

/** A message, as far as it was ever given up. */
export interface LetterState {
  /** How often it was given up. */
  readonly turn: number;
  readonly dead: boolean;
  /** The fate of its last turn. Undefined: none yet. */
  readonly fate: Fate | undefined;
}

export type LetterEvent =
  /** It is given up. */
  | { readonly type: "died" }
  | { readonly type: "retry" | "edit" | "drop" }
  /** @param again - also if it was replayed before */
  | { readonly type: "replay"; readonly again: boolean };

export type LetterEffect =
  /** The letter leaves the dead ones, and a record says what became of this turn. */
  | { readonly type: "record"; readonly turn: number; readonly fate: Fate }
  /** It is live again where it was given up, with all of its attempts. */
  | { readonly type: "put back" }
  /** A replay has a copy of it. */
  | { readonly type: "copy" }
  /** The record of this turn counts one copy more. */
  | { readonly type: "count"; readonly turn: number }
  /** Nothing changes. */
  | { readonly type: "refused"; readonly why: "not dead" | Fate };

export function decide(state: LetterState, event: LetterEvent): [LetterState, readonly LetterEffect[]] {
  const { turn, dead, fate } = state;
  const ends = (as: Fate, ...then: LetterEffect[]): [LetterState, LetterEffect[]] => [
    { turn, dead: false, fate: as },
    [{ type: "record", turn, fate: as }, ...then],
  ];
  if (event.type === "died") {
    if (dead) return [state, [{ type: "refused", why: "not dead" }]];
    return [{ turn: turn + 1, dead: true, fate: undefined }, []];
  }
  if (!dead) {
    if (event.type === "replay" && event.again && fate === "replayed")
      return [state, [{ type: "count", turn }, { type: "copy" }]];
    return [state, [{ type: "refused", why: fate ?? "not dead" }]];
  }
  switch (event.type) {
    case "retry":
      return ends("retried", { type: "put back" });
    case "edit":
      return ends("edited", { type: "put back" });
    case "drop":
      return ends("dropped");
    case "replay":
      return ends("replayed", { type: "copy" });
    default:
      return event satisfies never;
  }
}
