// A world around the flow's machine, small enough to be explored whole: a script stands for the code, and everything that can happen
// is an event that the explorer picks. Worlds are values: an event makes a new one.

import { decodeEntry, type Entry, encodeHead } from "../../../lib/flow/journal/entry.js";
import { decide, initial } from "../../../lib/flow/machine/flow-machine.js";
import type {
  Ending,
  FlowEffect,
  FlowEvent,
  FlowState,
  How,
  Item,
  UnreadMessage,
} from "../../../lib/flow/machine/state.js";

export interface ScriptAsk {
  readonly key: string;
  readonly how: How;
}

/** What the code asks at its start and after each outcome, and which outcomes it awaits before it returns. */
export interface Script {
  readonly start: readonly ScriptAsk[];
  readonly after: Readonly<Record<string, readonly ScriptAsk[]>>;
  readonly returnsAfter: readonly string[];
  readonly topic?: string;
}

/** How often the world interferes. */
export interface Budget {
  readonly failures: number;
  readonly retries: number;
  readonly mail: number;
  readonly cancels: number;
  readonly kills: number;
  readonly holds: number;
  readonly crashes: number;
}

export interface World {
  readonly state: FlowState;
  /** What is durable. */
  readonly journal: readonly Entry[];
  readonly unread: readonly UnreadMessage[];
  readonly sent: number;
  /** A write that has not been answered. */
  readonly inFlight:
    | { readonly seq: number; readonly entries: readonly Entry[]; readonly end: Ending | undefined }
    | undefined;
  readonly end: Ending | undefined;
  readonly bodies: readonly string[];
  /** Bodies of transactions that wait for their commit. */
  readonly transactions: readonly string[];
  readonly draining: boolean;
  /** Asks that the code is about to make, in microtasks of its own. */
  readonly coming: readonly ScriptAsk[];
  readonly timer: number | undefined;
  readonly quiet: boolean;
  /** Outcomes that this life of the code has seen. */
  readonly seen: readonly string[];
  readonly returned: boolean;
  readonly now: number;
  readonly parked: boolean;
  readonly budget: Budget;
}

/** A rule was broken. */
export class BrokenRule extends Error {}

/** The flow has just been taken for the first time. */
export function begin(script: Script, budget: Budget): World {
  return boot(script, {
    state: initial([]),
    journal: [],
    unread: [],
    sent: 0,
    inFlight: undefined,
    end: undefined,
    bodies: [],
    transactions: [],
    draining: false,
    coming: [],
    timer: undefined,
    quiet: false,
    seen: [],
    returned: false,
    now: 0,
    parked: false,
    budget,
  });
}

/** The host takes the flow: a new life of the code over what is durable. */
function boot(script: Script, world: World): World {
  const fresh: World = {
    ...world,
    state: initial(world.journal, world.unread),
    inFlight: undefined,
    bodies: [],
    transactions: [],
    draining: true,
    coming: script.start,
    timer: undefined,
    quiet: false,
    seen: [],
    returned: false,
    parked: false,
  };
  return fresh;
}

/** Everything that can happen now. */
export function happenings(script: Script, world: World): { readonly label: string; next(): World }[] {
  const { budget, inFlight } = world;
  const found: { label: string; next(): World }[] = [];
  const add = (label: string, make: (run: Run) => Run): void => {
    found.push({ label, next: () => make(new Run(script, copy(world))).world });
  };
  if (world.end !== undefined) return [];
  if (world.parked) {
    // Due, mail or a person: the host takes it again.
    found.push({
      label: "taken",
      next: () => boot(script, { ...copy(world), now: Math.max(world.now, world.timer ?? 0) }),
    });
    if (budget.mail > 0) found.push({ label: "mail while parked", next: () => mailed(copy(world), script) });
    return found;
  }
  if (world.coming.length > 0) add("the code goes on", (run) => run.goOn());
  else if (world.draining)
    add("drained", (run) => run.with({ draining: false }).event({ type: "drained", now: world.now }));
  for (const key of world.bodies) {
    add(`ran ${key}`, (run) => run.body(key).event({ type: "ran", key, ok: true, value: `"${key}"` }));
    if (budget.failures > 0)
      add(`threw ${key}`, (run) =>
        run.spend("failures").body(key).event({ type: "ran", key, ok: false, value: '"error"' }),
      );
    if (budget.retries > 0)
      add(`threw ${key}, again`, (run) =>
        run
          .spend("retries")
          .body(key)
          .event({ type: "ran", key, ok: false, value: '"error"', retryAt: world.now + 10 }),
      );
  }
  if (inFlight !== undefined) {
    add("written", (run) =>
      run.commit().with({ inFlight: undefined }).event({ type: "written", at: world.now }),
    );
    if (budget.crashes > 0)
      found.push({
        label: "crash behind the commit",
        next: () => crash(script, new Run(script, copy(world)).commit().world),
      });
  }
  if (world.timer !== undefined)
    add("due", (run) => {
      const now = Math.max(world.now, world.timer as number);
      return run.with({ timer: undefined, now }).event({ type: "due", now });
    });
  if (budget.mail > 0 && script.topic !== undefined)
    add("mail", (run) => {
      const next = mailed(run.world, script);
      return run.with(next).event({ type: "mail", messages: next.unread.slice(-1), now: world.now });
    });
  if (world.quiet) add("idle", (run) => run.event({ type: "idle" }));
  if (budget.cancels > 0)
    add("cancel", (run) => run.spend("cancels").event({ type: "cancel", now: world.now }));
  if (budget.kills > 0) add("kill", (run) => run.spend("kills").event({ type: "kill" }));
  if (budget.holds > 0) add("hold", (run) => run.spend("holds").event({ type: "hold", why: "stop" }));
  if (budget.crashes > 0) found.push({ label: "crash", next: () => crash(script, copy(world)) });
  return found;
}

function crash(script: Script, world: World): World {
  const spent = { ...world, budget: { ...world.budget, crashes: world.budget.crashes - 1 } };
  return spent.end === undefined ? boot(script, spent) : spent;
}

function mailed(world: World, { topic }: Script): World {
  const position = world.sent + 1;
  return {
    ...world,
    sent: position,
    unread: [...world.unread, { position, topic: topic as string, value: '"message"' }],
    budget: { ...world.budget, mail: world.budget.mail - 1 },
  };
}

const copy = (world: World): World => ({ ...world, state: structuredClone(world.state) });

/** A world while one event is carried out. */
class Run {
  world: World;
  private readonly script: Script;

  constructor(script: Script, world: World) {
    this.script = script;
    this.world = world;
  }

  with(change: Partial<World>): this {
    this.world = { ...this.world, ...change };
    return this;
  }

  spend(name: keyof Budget): this {
    const { budget } = this.world;
    return this.with({ budget: { ...budget, [name]: budget[name] - 1 } });
  }

  body(key: string): this {
    return this.with({ bodies: this.world.bodies.filter((one) => one !== key) });
  }

  /** The write in flight becomes durable. */
  commit(): this {
    const { inFlight, journal, unread } = this.world;
    if (inFlight === undefined) return this;
    if (inFlight.seq !== journal.length) throw new BrokenRule(`entry ${inFlight.seq} of ${journal.length}`);
    const read = new Set(
      inFlight.entries.flatMap(({ decision }) => (decision.type === "done" ? [decision.mail ?? 0] : [])),
    );
    return this.with({
      journal: [...journal, ...inFlight.entries],
      unread: unread.filter(({ position }) => !read.has(position)),
      end: inFlight.end,
    });
  }

  event(event: FlowEvent): this {
    const [, effects] = decide(this.world.state, event);
    for (const effect of effects) this.perform(effect);
    return this;
  }

  private perform(effect: FlowEffect): void {
    const { world } = this;
    switch (effect.type) {
      case "write":
      case "finish": {
        if (world.inFlight !== undefined) throw new BrokenRule("two writes are in flight");
        const entries = recorded(effect.items, effect.asks, world.now);
        const end = effect.type === "finish" ? effect.ending : undefined;
        this.with({ inFlight: { seq: effect.seq, entries, end } });
        return;
      }
      case "run":
        this.started(effect.key);
        return;
      case "deliver":
        this.with({ draining: true }).saw(effect.key);
        return;
      case "reject":
        this.with({ bodies: [], coming: [], draining: true, returned: true });
        this.event({ type: "returned", ending: { status: "cancelled", value: null } });
        return;
      case "drain":
        this.with({ draining: true });
        return;
      case "timer":
        this.with({ timer: effect.due });
        return;
      case "park":
        this.with({ parked: true, timer: effect.due, inFlight: undefined });
        return;
      case "quiet":
        this.with({ quiet: effect.quiet });
        return;
      case "diverged":
      case "stalled":
        throw new BrokenRule(`it ${effect.type}: ${JSON.stringify(effect)}`);
      default:
        return;
    }
  }

  private started(key: string): void {
    const { journal, bodies } = this.world;
    if (journal.some(({ decision }) => decision.type === "done" && decision.key === key))
      throw new BrokenRule(`${key} runs again, and its outcome is recorded`);
    if (bodies.includes(key)) throw new BrokenRule(`${key} runs twice at the same time`);
    this.with({ bodies: [...bodies, key] });
  }

  /** The code gets an outcome, and goes on. */
  private saw(key: string): void {
    const { seen, journal } = this.world;
    if (seen.includes(key)) throw new BrokenRule(`the code saw ${key} twice`);
    const order = journal.flatMap(({ decision }) => (decision.type === "done" ? [decision.key] : []));
    const now = [...seen, key];
    if (now.some((one, i) => one !== order[i]))
      throw new BrokenRule(`the code saw ${now.join()}, recorded is ${order.join()}`);
    this.with({ seen: now });
    const asks = this.script.after[key] ?? [];
    // What an outcome sets off comes first: if the code was not done with what came before, a replay takes another order.
    this.with({ coming: [...asks, ...this.world.coming] });
    if (this.world.coming.length === 0) this.mayReturn();
  }

  /** The code makes the next ask, or returns. */
  goOn(): this {
    const [first, ...coming] = this.world.coming;
    const { key, how } = first as ScriptAsk;
    this.with({ coming }).event({ type: "asked", kind: how.type, key, how, now: this.world.now });
    return coming.length === 0 ? this.mayReturn() : this;
  }

  private mayReturn(): this {
    const { seen, returned } = this.world;
    if (returned || !this.script.returnsAfter.every((key) => seen.includes(key))) return this;
    return this.with({ returned: true }).event({
      type: "returned",
      ending: { status: "completed", value: null },
    });
  }
}

/** Entries as they come back from the store. */
function recorded(
  items: readonly Item[],
  asks: readonly { kind: string; key: string }[],
  at: number,
): Entry[] {
  return items.map(({ decision, value }, i) =>
    decodeEntry(encodeHead(at, i === 0 ? asks : [], decision), value),
  );
}

/** A key by which equal worlds are recognised. */
export function identity(world: World): string {
  return JSON.stringify(world, (name, value: unknown) => {
    if (name === "history" || name === "recorded") return undefined;
    if (value instanceof Map) return [...value];
    return value instanceof Set ? [...value] : value;
  });
}
