// The shards of one kind of keys on one node, as a pure state machine: which leases the node contends for, and who waits for a shard.
//
//              placed here                 held
//     away ───────────────▶ contending ───────────▶ held
//      ▲                     ▲    │ ◀───────────────┤
//      │                     │    │     vacated     │
//      │        tick, placed │    │ placed elsewhere│
//      │       ┌──────────── resting │              │
//      │       │       ▲          ▼                 ▼
//      └───────┴───────┴─────── leaving ◀───────────┘
//        ended
//
// A shard is served by the node that holds its lease, and by no other. The placement only says which node contends: two nodes that
// disagree about it contend for the same lease, and one gets it. A holder that is not the place of the shard any more gives it up.
//
// Rules: a contender runs in `contending`, `held` and `leaving`, and in no other phase, so there is one at most for each shard. Each `ask`
// is answered once: by `serve`, `moved` or `busy`, unless `forget` comes first.

/** One shard on one node. `asks` wait for its lease. */
export type ShardPhase =
  | { readonly type: "away" }
  | { readonly type: "contending"; readonly asks: readonly number[] }
  | { readonly type: "held"; readonly token: number }
  /** Its contender was told to end. `isHere`: the shard is placed here again, and contends when that one has ended. */
  | {
      readonly type: "leaving";
      readonly isHere: boolean;
      readonly asks: readonly number[];
    }
  /** Its contender ended by itself. */
  | {
      readonly type: "resting";
      readonly at: number;
      readonly asks: readonly number[];
    };

export interface KeyedState {
  readonly shards: readonly ShardPhase[];
  /** How many asks may wait, on all shards together. */
  readonly maxWaiting: number;
  readonly isStopping: boolean;
  /** When the machine wants its next `tick`. */
  readonly wakeAt: number | undefined;
}

/** What happens on a node, at `now` of its clock. */
export type KeyedEvent = { readonly now: number } & (
  | { readonly type: "tick" | "stop" }
  /** Which shards belong on this node, by their numbers. */
  | { readonly type: "placed"; readonly here: readonly boolean[] }
  | { readonly type: "held"; readonly shard: number; readonly token: number }
  /** What ran under the lease has ended. The contender goes on. */
  | { readonly type: "vacated"; readonly shard: number; readonly token: number }
  /** The contender has ended. */
  | { readonly type: "ended"; readonly shard: number }
  /** Somebody wants a key of the shard. */
  | { readonly type: "ask"; readonly ask: number; readonly shard: number }
  /** The one who asked does not wait any more. */
  | { readonly type: "forget"; readonly ask: number; readonly shard: number }
);

export type KeyedEffect =
  /** Start a contender for the lease of the shard, or end it. */
  | { readonly type: "contend" | "leave"; readonly shard: number }
  /** The shard is held here: it starts what is asked for. */
  | { readonly type: "serve"; readonly ask: number; readonly shard: number }
  /** The shard is not here: look for it again. */
  | { readonly type: "moved"; readonly ask: number }
  /** Too many wait already. */
  | { readonly type: "busy"; readonly ask: number }
  | { readonly type: "wake"; readonly at: number | undefined }
  | { readonly type: "stopped" };

type Decision = readonly [KeyedState, readonly KeyedEffect[]];

/** How long a shard rests when its contender has ended by itself, in milliseconds. */
const REST_MS = 100;
const AWAY: ShardPhase = { type: "away" };
const NOBODY: readonly number[] = [];

export function initial(shards: number, maxWaiting: number): KeyedState {
  const all = Array.from({ length: shards }, () => AWAY);
  return { shards: all, maxWaiting, isStopping: false, wakeAt: undefined };
}

/** How many asks wait. */
export function waitingIn({ shards }: KeyedState): number {
  return shards.reduce((sum, phase) => sum + asksOf(phase).length, 0);
}

export function decide(state: KeyedState, event: KeyedEvent): Decision {
  const [next, effects] = decided(state, event);
  const wakeAt = wakeOf(next);
  if (wakeAt === next.wakeAt) return [next, effects];
  return [{ ...next, wakeAt }, [...effects, { type: "wake", at: wakeAt }]];
}

function decided(state: KeyedState, event: KeyedEvent): Decision {
  switch (event.type) {
    case "placed":
      return state.isStopping
        ? [state, []]
        : each(state, (shard) => place(state, shard, event.here[shard] === true));
    case "tick":
      return each(state, (shard) => {
        const phase = phaseOf(state, shard);
        return phase.type === "resting" && phase.at <= event.now ? contend(shard, phase.asks) : [phase, []];
      });
    case "stop":
      return stop(state);
    case "ask":
      return ask(state, event.ask, event.shard);
    default:
      return happened(state, event);
  }
}

/** Something of one shard. */
function happened(
  state: KeyedState,
  event: Extract<KeyedEvent, { readonly type: "held" | "vacated" | "ended" | "forget" }>,
): Decision {
  const { shard } = event;
  const phase = phaseOf(state, shard);
  const to = (next: ShardPhase, effects: readonly KeyedEffect[] = []): Decision => [
    with_(state, shard, next),
    effects,
  ];
  switch (event.type) {
    case "held":
      if (phase.type !== "contending") return [state, []];
      return to(
        { type: "held", token: event.token },
        phase.asks.map((one) => ({ type: "serve", ask: one, shard })),
      );
    case "vacated":
      return phase.type === "held" && phase.token === event.token
        ? to({ type: "contending", asks: NOBODY })
        : [state, []];
    case "ended":
      if (phase.type === "leaving") {
        if (phase.isHere) return to(...contend(shard, phase.asks));
        return ended(with_(state, shard, AWAY));
      }
      if (phase.type !== "contending" && phase.type !== "held") return [state, []];
      return to({
        type: "resting",
        at: event.now + REST_MS,
        asks: asksOf(phase),
      });
    case "forget": {
      const asks = asksOf(phase);
      return asks.includes(event.ask)
        ? to({
            ...phase,
            asks: asks.filter((one) => one !== event.ask),
          } as ShardPhase)
        : [state, []];
    }
    default:
      return event satisfies never;
  }
}

type OfShard = readonly [ShardPhase, readonly KeyedEffect[]];

function place(state: KeyedState, shard: number, isHere: boolean): OfShard {
  const phase = phaseOf(state, shard);
  switch (phase.type) {
    case "away":
      return isHere ? contend(shard, NOBODY) : [phase, []];
    case "contending":
    case "held":
      return isHere ? [phase, []] : leave(shard, phase);
    case "leaving":
      return isHere ? [{ ...phase, isHere }, []] : [{ type: "leaving", isHere, asks: NOBODY }, moved(phase)];
    case "resting":
      return isHere ? [phase, []] : [AWAY, moved(phase)];
    default:
      return phase satisfies never;
  }
}

function contend(shard: number, asks: readonly number[]): OfShard {
  return [{ type: "contending", asks }, [{ type: "contend", shard }]];
}

function leave(shard: number, phase: ShardPhase): OfShard {
  return [{ type: "leaving", isHere: false, asks: NOBODY }, [...moved(phase), { type: "leave", shard }]];
}

function moved(phase: ShardPhase): KeyedEffect[] {
  return asksOf(phase).map((one) => ({ type: "moved", ask: one }));
}

function ask(state: KeyedState, number: number, shard: number): Decision {
  const phase = phaseOf(state, shard);
  switch (phase.type) {
    case "held":
      return [state, [{ type: "serve", ask: number, shard }]];
    case "away":
      return [state, [{ type: "moved", ask: number }]];
    case "leaving":
      if (!phase.isHere) return [state, [{ type: "moved", ask: number }]];
      return wait(state, shard, phase, number);
    case "contending":
    case "resting":
      return wait(state, shard, phase, number);
    default:
      return phase satisfies never;
  }
}

function wait(state: KeyedState, shard: number, phase: ShardPhase, number: number): Decision {
  if (waitingIn(state) >= state.maxWaiting) return [state, [{ type: "busy", ask: number }]];
  return [
    with_(state, shard, {
      ...phase,
      asks: [...asksOf(phase), number],
    } as ShardPhase),
    [],
  ];
}

function stop(state: KeyedState): Decision {
  if (state.isStopping) return [state, []];
  const [next, effects] = each({ ...state, isStopping: true }, (shard) => place(state, shard, false));
  const [last, more] = ended(next);
  return [last, [...effects, ...more]];
}

/** Whether that was the last shard of a node that stops. */
function ended(state: KeyedState): Decision {
  const isOver = state.isStopping && state.shards.every(({ type }) => type === "away");
  return [state, isOver ? [{ type: "stopped" }] : []];
}

function each(state: KeyedState, decideOne: (shard: number) => OfShard): Decision {
  const effects: KeyedEffect[] = [];
  const shards = state.shards.map((_, shard) => {
    const [next, more] = decideOne(shard);
    effects.push(...more);
    return next;
  });
  return [{ ...state, shards }, effects];
}

function asksOf(phase: ShardPhase): readonly number[] {
  return "asks" in phase ? phase.asks : NOBODY;
}

function phaseOf({ shards }: KeyedState, shard: number): ShardPhase {
  return shards[shard] ?? AWAY;
}

function with_(state: KeyedState, shard: number, phase: ShardPhase): KeyedState {
  return { ...state, shards: state.shards.with(shard, phase) };
}

function wakeOf({ shards }: KeyedState): number | undefined {
  const ats = shards.flatMap((phase) => (phase.type === "resting" ? [phase.at] : []));
  return ats.length === 0 ? undefined : Math.min(...ats);
}
