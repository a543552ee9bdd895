// Which of the flows that a host finds in its store run at once, which run alone, and which do not run at all: pure.
//
// A flow may kill the process that runs it: endless recursion in native code, all memory, `process.exit`. The store counts how often
// a flow was taken while its journal did not grow, and counts before any code runs. All flows that ran beside the guilty one are
// counted with it. So a flow on its last chance is a suspect, and only one suspect runs at a time: if the process dies again, the
// count of that flow alone reaches the limit. A suspect that waits for its turn is not taken, and so not counted.

export interface TriageConfig {
  /** After so many takes without progress a flow does not run any more, 1 or more. */
  readonly maxCrashes: number;
  /** How many suspects wait in memory for their turn; the store keeps the others. */
  readonly maxSuspects: number;
}

export interface TriageState {
  readonly config: TriageConfig;
  /** The suspect that runs. */
  readonly suspect: string | undefined;
  /** Suspects that wait, in the order in which they were found. */
  readonly waiting: readonly string[];
  /** Suspects were left in the store because too many wait. */
  readonly hasMore: boolean;
}

export type TriageEvent =
  /** The store has a flow that nobody runs, and that was taken so often without progress. */
  | { readonly type: "found"; readonly flow: string; readonly crashes: number }
  /** A flow made progress, left memory, ended, or has run for a while without harm. */
  | { readonly type: "calm"; readonly flow: string };

export type TriageEffect =
  /** Take the flow and run it. A suspect is told `calm` of. */
  | { readonly type: "take"; readonly flow: string; readonly isSuspect: boolean }
  /** To the hospital with it: it does not run. */
  | { readonly type: "admit"; readonly flow: string }
  /** Look into the store again: suspects were left there. */
  | { readonly type: "look" };

type Decision = readonly [TriageState, readonly TriageEffect[]];

export function initial(config: TriageConfig): TriageState {
  return { config, suspect: undefined, waiting: [], hasMore: false };
}

export function decide(state: TriageState, event: TriageEvent): Decision {
  switch (event.type) {
    case "found":
      return find(state, event.flow, event.crashes);
    case "calm":
      return calm(state, event.flow);
    default:
      return event satisfies never;
  }
}

/** With one chance alone nobody is suspected: a flow would wait for its turn before anything happened. */
function isSuspect({ maxCrashes }: TriageConfig, crashes: number): boolean {
  return crashes >= Math.max(1, maxCrashes - 1);
}

function find(state: TriageState, flow: string, crashes: number): Decision {
  const { config, suspect, waiting } = state;
  if (crashes >= config.maxCrashes) return [state, [{ type: "admit", flow }]];
  if (!isSuspect(config, crashes)) return [state, [{ type: "take", flow, isSuspect: false }]];
  if (suspect === flow || waiting.includes(flow)) return [state, []];
  if (suspect === undefined) return [{ ...state, suspect: flow }, [{ type: "take", flow, isSuspect: true }]];
  if (waiting.length >= config.maxSuspects) return [{ ...state, hasMore: true }, []];
  return [{ ...state, waiting: [...waiting, flow] }, []];
}

function calm(state: TriageState, flow: string): Decision {
  if (state.suspect !== flow) return [state, []];
  const [next, ...waiting] = state.waiting;
  if (next !== undefined)
    return [{ ...state, suspect: next, waiting }, [{ type: "take", flow: next, isSuspect: true }]];
  return [{ ...state, suspect: undefined, hasMore: false }, state.hasMore ? [{ type: "look" }] : []];
}
