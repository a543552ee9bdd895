// Two processes on two nodes, by the rules of OTP and by the library, one event at a time: and every sequence of events up to a length.

import {
  type CalleeExitedError,
  type Context,
  type Monitor,
  type Pid,
  ProcessExitedError,
  type Reply,
  type ReplyTo,
  remoteNodes,
  type Signal,
  System,
  type WireSignal,
} from "signalbox";
import { expect } from "vitest";
import type { Remote } from "../../lib/process/remote.js";
import { wordOf } from "./reasons.js";
import { Rules } from "./rules.js";
import type { NodeName, SignalOp } from "./trace.js";

export type Event =
  | SignalOp
  /** A call of the other process, and its withdrawal. The process answers the oldest call of the other one that is open. */
  | readonly ["call" | "give_up", process: Name, call: string]
  | readonly ["reply", process: Name]
  /** The oldest signal under way to this node arrives. */
  | readonly ["arrive", node: NodeName]
  /** The connection ends for the transport of this node, and each send fails; then its processes learn of that. */
  | readonly ["fail" | "lose", node: NodeName]
  /** It is made anew. */
  | readonly ["heal"];

export const HOMES = { p1: "n1", p2: "n2" } as const;
export type Name = keyof typeof HOMES;
export const NAMES: readonly Name[] = ["p1", "p2"];
export const NODES: readonly NodeName[] = ["n1", "n2"];
export const facing = (name: Name): Name => (name === "p1" ? "p2" : "p1");

/** What can be told of the two processes once no signal is under way. */
interface Picture {
  readonly received: { readonly [process: string]: readonly unknown[] };
  readonly alive: readonly string[];
  /** Who is linked to the other one, by its own tables. */
  readonly links: readonly string[];
  /** How many monitors each has, and how many watch it. */
  readonly monitors: { readonly [process: string]: readonly [own: number, watching: number] };
  /** How many wait for the acknowledgement of an unlink. */
  readonly unlinking: number;
  /** The calls that each waits for and has to answer, by the tables of its node, and those that its code sees as open. */
  readonly calls: { readonly [process: string]: readonly [own: number, answering: number, open: number] };
}

/** Why the abort of a call. */
const GAVE_UP = new Error("gave up");

/** Whether each process traps exits. */
export type Traps = { readonly [name in Name]: boolean };

/** EXIT and DOWN of one death have no order. */
function sorted(entries: readonly unknown[] = []): unknown[] {
  return entries.map((entry) => JSON.stringify(entry)).sort();
}

// ── by the rules ──────────────────────────────────────────────────────────────────────────────────────────────────────

function byRules(events: readonly Event[], traps: Traps): Rules {
  const rules = new Rules(HOMES);
  for (const name of NAMES) rules.perform(["spawn", name, traps[name]]);
  for (const event of events) {
    if (event[0] === "arrive") rules.arrive(event[1]);
    else if (event[0] === "fail") rules.fail(event[1]);
    else if (event[0] === "lose") rules.lose(event[1]);
    else if (event[0] === "heal") rules.heal();
    else if (event[0] === "call") rules.call(event[1], facing(event[1]), event[2]);
    else if (event[0] === "give_up") rules.giveUp(event[1], event[2]);
    else if (event[0] === "reply") rules.reply(event[1]);
    else rules.perform(event as SignalOp);
  }
  return rules;
}

/** The events that bring all to rest: the connection is whole or lost, and no signal is under way. */
function toRest(rules: Rules): Event[] {
  const events: Event[] = [];
  const isWhole = NODES.every((node) => rules.isReaching(node));
  if (!isWhole) for (const node of NODES) if (rules.isConnected(node)) events.push(["lose", node]);
  for (const event of events) rules.lose(event[1] as NodeName);
  while (NODES.some((node) => rules.underWayTo(node) > 0)) {
    for (const node of NODES) {
      if (rules.underWayTo(node) === 0) continue;
      rules.arrive(node);
      events.push(["arrive", node]);
    }
  }
  return events;
}

function picture(rules: Rules): Picture {
  const alive = NAMES.filter((name) => rules.isAlive(name));
  return {
    received: Object.fromEntries(alive.map((name) => [name, sorted(rules.received[name])])),
    alive,
    links: alive.filter((name) => rules.linksOf(name).length > 0),
    monitors: Object.fromEntries(
      alive.map((name) => [name, [rules.monitorsOf(name).length, rules.watchersOf(name).length]]),
    ),
    unlinking: alive.filter((name) => rules.isUnlinking(name)).length,
    calls: Object.fromEntries(
      NAMES.map((name) => {
        const answering = rules.requestsOf(name).length;
        return [name, [rules.callsOf(name).length, answering, answering]];
      }),
    ),
  };
}

// ── by the library ────────────────────────────────────────────────────────────────────────────────────────────────────

interface Actor {
  readonly pid: Pid;
  readonly ctx: Context;
  readonly signals: Signal[];
  readonly refs: Map<string, Monitor>;
  /** The ends of its calls. */
  readonly ends: unknown[][];
  /** The calls that came for it. */
  readonly requests: ReplyTo<string>[];
  readonly aborts: Map<string, AbortController>;
}

export class Library {
  readonly #arriving: { readonly [name in NodeName]: WireSignal[] } = { n1: [], n2: [] };
  readonly #isReaching: { [name in NodeName]: boolean } = { n1: true, n2: true };
  readonly #systems: { readonly [name in NodeName]: System } = {
    n1: this.#system("n1", "n2"),
    n2: this.#system("n2", "n1"),
  };
  #actors: { readonly [name in Name]: Actor } | undefined;

  async run(events: readonly Event[], traps: Traps): Promise<Picture> {
    const [p1, p2] = await Promise.all([this.#spawn("p1", traps.p1), this.#spawn("p2", traps.p2)]);
    this.#actors = { p1, p2 };
    for (const event of events) this.#carryOut(event);
    await this.#idle();
    const seen = this.#picture();
    this.#reset();
    return seen;
  }

  async stop(): Promise<void> {
    for (const node of NODES) await this.#systems[node].stop();
  }

  #system(node: NodeName, to: NodeName): System {
    const send = (_to: unknown, signal: WireSignal): boolean => {
      if (this.#isReaching[node] && this.#isReaching[to]) this.#arriving[to].push(signal);
      return this.#isReaching[node];
    };
    return new System({ name: node, transport: remoteNodes({ send }), report: false });
  }

  async #idle(): Promise<void> {
    await Promise.all(NODES.map((node) => this.#systems[node].idle()));
  }

  async #spawn(name: Name, trapExit: boolean): Promise<Actor> {
    const signals: Signal[] = [];
    const tables = { refs: new Map(), ends: [], requests: [], aborts: new Map() };
    return new Promise((resolve) => {
      this.#systems[HOMES[name]].spawn(
        {
          init: (ctx) => resolve({ pid: ctx.self, ctx, signals, ...tables }),
          handle: () => undefined,
          signal: (_ctx, signal) => void signals.push(signal),
        },
        { trapExit },
      );
    });
  }

  #carryOut(event: Event): void {
    switch (event[0]) {
      case "arrive": {
        const signal = this.#arriving[event[1]].shift();
        if (signal?.type === "call") this.#callArrives(event[1], signal);
        else if (signal !== undefined) this.#systems[event[1]].deliver(signal);
        return;
      }
      case "lose": {
        const [node, to] = event[1] === "n1" ? (["n1", "n2"] as const) : (["n2", "n1"] as const);
        this.#fail(node);
        this.#systems[node].nodeDown(this.#systems[to].node.id);
        return;
      }
      case "fail":
        this.#fail(event[1]);
        return;
      case "heal":
        for (const node of NODES) this.#isReaching[node] = true;
        return;
      case "call":
        this.#call(event[1], event[2]);
        return;
      case "give_up":
        this.#actor(event[1]).aborts.get(event[2])?.abort(GAVE_UP);
        return;
      case "reply": {
        const { ctx, requests } = this.#actor(event[1]);
        ctx.reply(requests.find((one) => one.open) as ReplyTo<string>, "value");
        return;
      }
      default:
        try {
          this.#act(event);
        } catch (error) {
          // A link to a lost node ends a process that does not trap exits.
          if (!(error instanceof ProcessExitedError)) throw error;
        }
    }
  }

  #fail(node: NodeName): void {
    this.#isReaching[node] = false;
    this.#arriving[node].length = 0;
  }

  /** The code of a process acts at once: a context may be used from anywhere while its process lives. */
  #act(op: SignalOp): void {
    const name = op[1] as Name;
    const { ctx, refs } = this.#actor(name);
    const other = this.#facing(name);
    if (op[0] === "link") ctx.link(other);
    else if (op[0] === "unlink") ctx.unlink(other);
    else if (op[0] === "monitor") refs.set(op[3], ctx.monitor(other));
    else if (op[0] === "demonitor") ctx.demonitor(refs.get(op[2]) as Monitor, { flush: op[3] });
    else if (op[0] === "exit_signal") ctx.exit(ctx.self, "kill");
    else throw new Error(`no event of the search: ${op[0]}`);
  }

  #actor(name: Name): Actor {
    return (this.#actors as { readonly [name in Name]: Actor })[name];
  }

  /** The other process, as the node of this one knows it. */
  #facing(name: Name): Pid {
    const [here, there] = [this.#systems[HOMES[name]], this.#systems[HOMES[facing(name)]]];
    return here.pidAt(there.address(this.#actor(facing(name)).pid));
  }

  #call(name: Name, call: string): void {
    const { ctx, ends, aborts } = this.#actor(name);
    const abort = new AbortController();
    aborts.set(call, abort);
    const ended = (reply: Reply<string>): void => {
      if (reply.ok) ends.push(["REPLY", call]);
      else if (reply.error !== GAVE_UP)
        ends.push(["DOWN", call, wordOf((reply.error as CalleeExitedError).reason)]);
    };
    const options = { timeoutMs: Number.POSITIVE_INFINITY, signal: abort.signal };
    ctx.ask(this.#facing(name) as Pid<unknown>, (_replyTo: ReplyTo<string>) => call, ended, options);
  }

  /** The reply address gets the form that travels, and back: as by reference the call would be answered without a signal. */
  #callArrives(node: NodeName, signal: WireSignal & { readonly type: "call" }): void {
    const [here, there] = node === "n1" ? (["n1", "n2"] as const) : (["n2", "n1"] as const);
    const replyTo = this.#systems[here].replyAt(this.#systems[there].replyAddress(signal.replyTo));
    this.#actor(here === "n1" ? "p1" : "p2").requests.push(replyTo);
    this.#systems[here].deliver({ ...signal, replyTo });
  }

  #picture(): Picture {
    const received: { [name: string]: unknown[] } = {};
    const links: string[] = [];
    const monitors: { [name: string]: [number, number] } = {};
    for (const name of NAMES) {
      const actor = this.#actor(name);
      const info = this.#systems[HOMES[name]].info(actor.pid);
      if (info === undefined) continue;
      received[name] = sorted([...actor.signals.map((signal) => told(name, actor, signal)), ...actor.ends]);
      monitors[name] = [info.monitors.length, info.monitoredBy.length];
      if (info.links.length > 0) links.push(name);
    }
    const remotes = NODES.map((node) => this.#systems[node].kernel.remote as Remote);
    const unlinking = remotes.map((remote) => remote.unlinking);
    const calls = NAMES.map((name, i) => {
      const { open, answering } = (remotes[i] as Remote).calls;
      return [name, [open, answering, this.#actor(name).requests.filter((one) => one.open).length]] as const;
    });
    return {
      received,
      alive: Object.keys(received),
      links,
      monitors,
      unlinking: unlinking.reduce((a, b) => a + b),
      calls: Object.fromEntries(calls),
    };
  }

  /** Ends the two processes and the connection. Nothing is left of them. */
  #reset(): void {
    for (const name of NAMES) this.#systems[HOMES[name]].exit(this.#actors?.[name].pid as Pid, "kill");
    for (const node of NODES) this.#carryOut(["lose", node]);
    this.#carryOut(["heal"]);
  }
}

const refName = ({ refs }: Actor, ref: Monitor): string =>
  [...refs].find(([, monitor]) => monitor === ref)?.[0] ?? "unknown";

function told(name: Name, actor: Actor, signal: Signal): unknown {
  switch (signal.type) {
    case "exit":
      return ["EXIT", facing(name), wordOf(signal.reason)];
    case "down":
      return ["DOWN", refName(actor, signal.ref), wordOf(signal.reason)];
    case "group":
      return signal;
  }
}

// ── the search ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The events that may come next. */
export type Possible = (rules: Rules, length: number) => Event[];

/** What may happen to signals and to the connection. */
export function onTheWay(rules: Rules): Event[] {
  const events: Event[] = [];
  for (const node of NODES) {
    if (rules.underWayTo(node) > 0) events.push(["arrive", node]);
    if (rules.isReaching(node)) events.push(["fail", node]);
    if (rules.isConnected(node)) events.push(["lose", node]);
  }
  if (NODES.every((node) => !rules.isConnected(node))) events.push(["heal"]);
  return events;
}

const sideOf = (event: Event): NodeName | undefined =>
  event[0] === "heal"
    ? undefined
    : event[0] === "arrive" || event[0] === "fail" || event[0] === "lose"
      ? event[1]
      : HOMES[event[1] as Name];

/**
 * What two nodes do side by side has no order, so one order stands for both: what n1 does comes first, unless it needs
 * what n2 did: the arrival of a signal.
 */
function isOtherOrder(last: Event | undefined, next: Event, before: Rules): boolean {
  if (last === undefined || sideOf(last) !== "n2" || sideOf(next) !== "n1") return false;
  return next[0] !== "arrive" || before.underWayTo("n1") > 0;
}

/** Every sequence of events up to a length after `start`, shortest first along each branch. */
function* sequences(
  start: readonly Event[],
  length: number,
  traps: Traps,
  possible: Possible,
): Generator<Event[]> {
  function* after(events: Event[], before: Rules | undefined): Generator<Event[]> {
    yield events;
    if (events.length - start.length === length) return;
    const rules = byRules(events, traps);
    for (const next of possible(rules, events.length)) {
      const last = events.length > start.length ? events.at(-1) : undefined;
      if (before !== undefined && isOtherOrder(last, next, before)) continue;
      yield* after([...events, next], rules);
    }
  }
  yield* after([...start], undefined);
}

/** What a search starts with: events, who traps exits, and how long its sequences get. */
export interface Search {
  readonly start: readonly Event[];
  readonly traps: Traps;
  readonly length: number;
  readonly possible: Possible;
}

/** Carries out every sequence, and compares the library with the rules. Returns how many there were. */
export async function search(library: Library, { start, traps, length, possible }: Search): Promise<number> {
  let many = 0;
  for (const events of sequences(start, length, traps, possible)) {
    const rules = byRules(events, traps);
    const whole = [...events, ...toRest(rules)];
    const [seen, expected] = [await library.run(whole, traps), picture(rules)];
    many++;
    if (JSON.stringify(seen) !== JSON.stringify(expected))
      expect({ whole, seen }).toEqual({ whole, seen: expected });
    if (seen.alive.length === 2) expect(seen.links).toHaveLength(seen.links.length === 0 ? 0 : 2);
  }
  return many;
}

export const BOTH_TRAP: Traps = { p1: true, p2: true };
export const ONE_TRAPS: Traps = { p1: true, p2: false };
