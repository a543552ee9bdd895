// A model of names: it compares the answers of the system with the history. A name belongs to the process that registered it
// last, unless that process has released the name or ended since. The model has no table of names that could be wrong.

/** Something asked of the names, or seen. */
export type NameDeed =
  | { readonly deed: "take"; readonly who: number; readonly name: string; readonly refused: boolean }
  | { readonly deed: "give back"; readonly who: number }
  /** `found` is undefined when no process has the name. */
  | { readonly deed: "look"; readonly name: string; readonly found: number | undefined }
  | { readonly deed: "end"; readonly who: number }
  /** The process is notified of an end. */
  | { readonly deed: "hear"; readonly who: number; readonly of: number };

/** Interesting states, for `sim.sometimes`. */
export const NAME_STATES = [
  "a name is refused, since another has it",
  "a second name is refused",
  "a name goes to another when it is given back",
  "a name goes to another when its holder ends",
  "an end is heard of while the name is free",
  "an end is heard of when the name has a new holder",
] as const;

export type NameState = (typeof NAME_STATES)[number];

export interface NameFinding {
  readonly complaint: string | undefined;
  readonly states: ReadonlySet<NameState>;
}

/** Judges what happened to names, in order. */
export function judgeNames(history: readonly NameDeed[]): NameFinding {
  const states = new Set<NameState>();
  for (const index of history.keys()) {
    const complaint = complaintOf(history, index, states);
    if (complaint !== undefined) return { complaint: `deed ${index + 1}: ${complaint}`, states };
  }
  return { complaint: undefined, states };
}

function complaintOf(
  history: readonly NameDeed[],
  index: number,
  states: Set<NameState>,
): string | undefined {
  const deed = history[index] as NameDeed;
  switch (deed.deed) {
    case "take": {
      const { who, name, refused } = deed;
      const holder = holderOf(history, index, name);
      const had = nameOf(history, index, who);
      if (refused) {
        if (holder !== undefined && holder !== who) states.add("a name is refused, since another has it");
        if (holder === undefined && had !== undefined) states.add("a second name is refused");
        return holder === undefined && had === undefined
          ? `${who} is refused ${name}, though it is free`
          : undefined;
      }
      if (holder !== undefined) return `${who} gets ${name}, which ${holder} has`;
      if (had !== undefined) return `${who} gets ${name} beside ${had}`;
      const last = lastHolder(history, index, name);
      if (last !== undefined && last.who !== who)
        states.add(
          last.ended
            ? "a name goes to another when its holder ends"
            : "a name goes to another when it is given back",
        );
      return undefined;
    }
    case "look": {
      const holder = holderOf(history, index, deed.name);
      if (deed.found === holder) return undefined;
      return `${deed.name} is ${deed.found ?? "nobody"}, and should be ${holder ?? "nobody"}`;
    }
    case "hear": {
      const end = history.findIndex((one) => one.deed === "end" && one.who === deed.of);
      if (end < 0 || end > index) return `${deed.who} hears of the end of ${deed.of}, which has not ended`;
      const name = nameOf(history, end, deed.of);
      if (name === undefined) return undefined;
      const holder = holderOf(history, index, name);
      states.add(
        holder === undefined
          ? "an end is heard of while the name is free"
          : "an end is heard of when the name has a new holder",
      );
      return undefined;
    }
    default:
      return undefined;
  }
}

/** Who took a name last, before `index`, and whether that one has ended or given it back since. */
function lastHolder(
  history: readonly NameDeed[],
  index: number,
  name: string,
): { readonly who: number; readonly ended: boolean; readonly gaveBack: boolean } | undefined {
  const ended = new Set<number>();
  const gaveBack = new Set<number>();
  for (let i = index - 1; i >= 0; i--) {
    const deed = history[i] as NameDeed;
    if (deed.deed === "end") ended.add(deed.who);
    else if (deed.deed === "give back") gaveBack.add(deed.who);
    else if (deed.deed === "take" && deed.name === name && !deed.refused)
      return { who: deed.who, ended: ended.has(deed.who), gaveBack: gaveBack.has(deed.who) };
  }
  return undefined;
}

function holderOf(history: readonly NameDeed[], index: number, name: string): number | undefined {
  const last = lastHolder(history, index, name);
  return last === undefined || last.ended || last.gaveBack ? undefined : last.who;
}

/** The name that a process had just before `index`. */
function nameOf(history: readonly NameDeed[], index: number, who: number): string | undefined {
  for (let i = index - 1; i >= 0; i--) {
    const deed = history[i] as NameDeed;
    if (deed.deed === "give back" && deed.who === who) return undefined;
    if (deed.deed === "take" && deed.who === who && !deed.refused) return deed.name;
  }
  return undefined;
}
