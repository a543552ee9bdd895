// The keys of one shard while its lease is held, as a state machine: a process for each key, started on demand.
//
//            loaded            started            (drain)
//   loading ───────▶ starting ────────▶ running ──────────▶ ending ──ended──▶ gone, or loading for those who asked meanwhile
//
// The machine changes its tables in place, since a shard may have ten thousand keys. No caller keeps an old state, and the same events
// give the same effects.
//
// Rules: a key has one life at a time, and the next one begins after `ended` of the one before. Each `ask` is answered once: by `here`,
// `failed`, `moved` or `busy`. After `drain` no life begins, and `drained` comes once, after the last one has ended.

interface KeyLife {
  readonly key: string;
  /** Counted from 1. A key that starts again has a new one. */
  readonly life: number;
  phase: "loading" | "starting" | "running" | "ending";
  /** Those who wait for this life, or in `ending` for the next one. */
  asks: number[];
}

export interface KeysState {
  readonly keys: ReadonlyMap<string, KeyLife>;
  readonly lives: ReadonlyMap<number, KeyLife>;
  readonly maxWaiting: number;
  readonly waiting: number;
  readonly next: number;
  readonly isDraining: boolean;
}

/** What happens in a shard. */
export type KeysEvent =
  /** `hasRoom`: the node may have one more process. */
  | {
      readonly type: "ask";
      readonly ask: number;
      readonly key: string;
      readonly hasRoom: boolean;
    }
  /** The state of the key has been read. */
  | { readonly type: "loaded"; readonly life: number }
  | { readonly type: "started"; readonly life: number }
  /** The state cannot be read, or the process did not start. `isGone`: there is no process that will end. */
  | {
      readonly type: "failed";
      readonly life: number;
      readonly error: unknown;
      readonly isGone: boolean;
    }
  /** The process has ended. */
  | { readonly type: "ended"; readonly life: number; readonly error: unknown }
  /** The shard goes to another node. */
  | { readonly type: "drain" };

export type KeysEffect =
  | {
      readonly type: "load" | "launch";
      readonly life: number;
      readonly key: string;
    }
  /** The process handles what it has, and ends. */
  | { readonly type: "finish"; readonly life: number }
  | {
      readonly type: "here";
      readonly asks: readonly number[];
      readonly life: number;
    }
  | {
      readonly type: "failed";
      readonly asks: readonly number[];
      readonly error: unknown;
    }
  | { readonly type: "moved"; readonly asks: readonly number[] }
  | { readonly type: "busy"; readonly asks: readonly number[] }
  | { readonly type: "drained" };

/** The state as the machine itself changes it. */
interface Tables {
  readonly keys: Map<string, KeyLife>;
  readonly lives: Map<number, KeyLife>;
  readonly maxWaiting: number;
  waiting: number;
  next: number;
  isDraining: boolean;
}

export function initial(maxWaiting: number): KeysState {
  const tables: Tables = {
    keys: new Map(),
    lives: new Map(),
    maxWaiting,
    waiting: 0,
    next: 1,
    isDraining: false,
  };
  return tables;
}

export function decide(state: KeysState, event: KeysEvent): readonly [KeysState, readonly KeysEffect[]] {
  const tables = state as Tables;
  return [state, event.type === "drain" ? drain(tables) : decided(tables, event)];
}

function decided(
  tables: Tables,
  event: Exclude<KeysEvent, { readonly type: "drain" }>,
): readonly KeysEffect[] {
  if (event.type === "ask") return ask(tables, event);
  const of = tables.lives.get(event.life);
  if (of === undefined) return [];
  switch (event.type) {
    case "loaded":
      if (of.phase !== "loading") return [];
      of.phase = "starting";
      return [{ type: "launch", life: of.life, key: of.key }];
    case "started": {
      if (of.phase !== "starting") return [];
      of.phase = "running";
      const asks = taken(tables, of);
      if (tables.isDraining) return [...movedOf(asks), ...finish(of)];
      return asks.length === 0 ? [] : [{ type: "here", asks, life: of.life }];
    }
    case "failed": {
      const asks = of.phase === "ending" ? [] : taken(tables, of);
      const failed: KeysEffect[] = asks.length === 0 ? [] : [{ type: "failed", asks, error: event.error }];
      if (event.isGone) return [...failed, ...gone(tables, of)];
      of.phase = "ending";
      return failed;
    }
    case "ended": {
      const asks = of.phase === "starting" ? taken(tables, of) : [];
      const failed: KeysEffect[] = asks.length === 0 ? [] : [{ type: "failed", asks, error: event.error }];
      return [...failed, ...gone(tables, of)];
    }
    default:
      return event satisfies never;
  }
}

function ask(
  tables: Tables,
  { ask: number, key, hasRoom }: Extract<KeysEvent, { readonly type: "ask" }>,
): readonly KeysEffect[] {
  const asks = [number];
  if (tables.isDraining) return movedOf(asks);
  const of = tables.keys.get(key);
  if (of?.phase === "running") return [{ type: "here", asks, life: of.life }];
  if (tables.waiting >= tables.maxWaiting || (of === undefined && !hasRoom)) return [{ type: "busy", asks }];
  tables.waiting++;
  if (of === undefined) return begin(tables, key, asks);
  of.asks.push(number);
  return [];
}

function begin(tables: Tables, key: string, asks: number[]): readonly KeysEffect[] {
  const of: KeyLife = { key, life: tables.next++, phase: "loading", asks };
  tables.keys.set(key, of);
  tables.lives.set(of.life, of);
  return [{ type: "load", life: of.life, key }];
}

/** The life is over: whoever asked while it ended gets the next one. */
function gone(tables: Tables, of: KeyLife): readonly KeysEffect[] {
  tables.keys.delete(of.key);
  tables.lives.delete(of.life);
  if (of.asks.length > 0) return begin(tables, of.key, of.asks);
  return tables.isDraining && tables.lives.size === 0 ? [{ type: "drained" }] : [];
}

function drain(tables: Tables): readonly KeysEffect[] {
  if (tables.isDraining) return [];
  tables.isDraining = true;
  const effects: KeysEffect[] = [];
  for (const of of [...tables.lives.values()]) {
    effects.push(...movedOf(taken(tables, of)));
    // A state that is still being read starts nothing any more.
    if (of.phase === "loading") {
      tables.keys.delete(of.key);
      tables.lives.delete(of.life);
    } else if (of.phase === "running") effects.push(...finish(of));
  }
  return tables.lives.size === 0 ? [...effects, { type: "drained" }] : effects;
}

function finish(of: KeyLife): KeysEffect[] {
  of.phase = "ending";
  return [{ type: "finish", life: of.life }];
}

function taken(tables: Tables, of: KeyLife): number[] {
  const { asks } = of;
  of.asks = [];
  tables.waiting -= asks.length;
  return asks;
}

function movedOf(asks: readonly number[]): KeysEffect[] {
  return asks.length === 0 ? [] : [{ type: "moved", asks }];
}
