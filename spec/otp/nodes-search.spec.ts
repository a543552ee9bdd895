// Two processes on two nodes: every order in which they link, unlink, monitor, demonitor and exit, signals arrive, and the
// connection is lost and made anew, up to a length. The library does what the rules of OTP say.

import {
  type Context,
  type Monitor,
  type Pid,
  ProcessExitedError,
  remoteNodes,
  type Signal,
  System,
  type WireSignal,
} from "signalbox";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Remote } from "../../lib/process/remote.js";
import { graded } from "../support/proof.js";
import { wordOf } from "./reasons.js";
import { Rules } from "./rules.js";
import type { NodeName, SignalOp } from "./trace.js";

type Event =
  | SignalOp
  /** The oldest signal under way to this node arrives. */
  | readonly ["arrive", node: NodeName]
  /** The connection ends for the transport of this node, and each send fails; then its processes learn of that. */
  | readonly ["fail" | "lose", node: NodeName]
  /** It is made anew. */
  | readonly ["heal"];

const HOMES = { p1: "n1", p2: "n2" } as const;
type Name = keyof typeof HOMES;
const NAMES: readonly Name[] = ["p1", "p2"];
const NODES: readonly NodeName[] = ["n1", "n2"];
const facing = (name: Name): Name => (name === "p1" ? "p2" : "p1");

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
}

/** Whether each process traps exits. */
type Traps = { readonly [name in Name]: boolean };

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
  };
}

// ── by the library ────────────────────────────────────────────────────────────────────────────────────────────────────

interface Actor {
  readonly pid: Pid;
  readonly ctx: Context;
  readonly signals: Signal[];
  readonly refs: Map<string, Monitor>;
}

class Library {
  readonly #arriving: { readonly [name in NodeName]: WireSignal[] } = { n1: [], n2: [] };
  readonly #isReaching: { [name in NodeName]: boolean } = { n1: true, n2: true };
  readonly #systems: { readonly [name in NodeName]: System } = {
    n1: this.#system("n1", "n2"),
    n2: this.#system("n2", "n1"),
  };
  #actors: { readonly [name in Name]: Actor } | undefined;

  async run(events: readonly Event[], traps: Traps): Promise<Picture> {
    const [p1, p2] = await Promise.all([this.#actor("p1", traps.p1), this.#actor("p2", traps.p2)]);
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

  async #actor(name: Name, trapExit: boolean): Promise<Actor> {
    const signals: Signal[] = [];
    const refs = new Map<string, Monitor>();
    return new Promise((resolve) => {
      this.#systems[HOMES[name]].spawn(
        {
          init: (ctx) => resolve({ pid: ctx.self, ctx, signals, refs }),
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
        if (signal !== undefined) this.#systems[event[1]].deliver(signal);
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
    const actors = this.#actors as { readonly [name in Name]: Actor };
    const { ctx, refs } = actors[name];
    const here = this.#systems[HOMES[name]];
    const there = this.#systems[HOMES[facing(name)]];
    const other = here.pidAt(there.address(actors[facing(name)].pid));
    if (op[0] === "link") ctx.link(other);
    else if (op[0] === "unlink") ctx.unlink(other);
    else if (op[0] === "monitor") refs.set(op[3], ctx.monitor(other));
    else if (op[0] === "demonitor") ctx.demonitor(refs.get(op[2]) as Monitor, { flush: op[3] });
    else if (op[0] === "exit_signal") ctx.exit(ctx.self, "kill");
    else throw new Error(`no event of the search: ${op[0]}`);
  }

  #picture(): Picture {
    const received: { [name: string]: unknown[] } = {};
    const links: string[] = [];
    const monitors: { [name: string]: [number, number] } = {};
    for (const name of NAMES) {
      const actor = this.#actors?.[name] as Actor;
      const info = this.#systems[HOMES[name]].info(actor.pid);
      if (info === undefined) continue;
      received[name] = sorted(actor.signals.map((signal) => told(name, actor, signal)));
      monitors[name] = [info.monitors.length, info.monitoredBy.length];
      if (info.links.length > 0) links.push(name);
    }
    const unlinking = NODES.map((node) => (this.#systems[node].kernel.remote as Remote).unlinking);
    return {
      received,
      alive: Object.keys(received),
      links,
      monitors,
      unlinking: unlinking.reduce((a, b) => a + b),
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

/** What may happen next. Each process has one monitor at a time, and each may exit once. */
function possible(rules: Rules, length: number): Event[] {
  const events: Event[] = [];
  for (const node of NODES) {
    if (rules.underWayTo(node) > 0) events.push(["arrive", node]);
    if (rules.isReaching(node)) events.push(["fail", node]);
    if (rules.isConnected(node)) events.push(["lose", node]);
  }
  for (const name of NAMES) {
    if (!rules.isAlive(name)) continue;
    const other = facing(name);
    const isLinked = rules.linksOf(name).length > 0;
    const [monitor] = rules.monitorsOf(name);
    events.push(["exit_signal", name, name, "kill"], [isLinked ? "unlink" : "link", name, other]);
    if (monitor === undefined) events.push(["monitor", name, other, `${name}${length}`]);
    else events.push(["demonitor", name, monitor, true]);
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
function* sequences(start: readonly Event[], length: number, traps: Traps): Generator<Event[]> {
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

const LINKED: readonly Event[] = [
  ["link", "p1", "p2"],
  ["arrive", "n2"],
];
const MONITORED: readonly Event[] = [
  ["monitor", "p1", "p2", "r1"],
  ["monitor", "p2", "p1", "r2"],
  ["arrive", "n1"],
  ["arrive", "n2"],
];
const BOTH_TRAP: Traps = { p1: true, p2: true };
const ONE_TRAPS: Traps = { p1: true, p2: false };

let library: Library;
beforeAll(() => {
  library = new Library();
});
afterAll(() => library.stop());

describe("two processes on two nodes", () => {
  test.each([
    ["apart", [], BOTH_TRAP, { quick: 4, short: 6, full: 7 }],
    ["linked", LINKED, BOTH_TRAP, { quick: 5, short: 6, full: 7 }],
    ["linked, of which one does not trap exits", LINKED, ONE_TRAPS, { quick: 4, short: 6, full: 7 }],
    [
      "linked, and each monitors the other",
      [...LINKED, ...MONITORED],
      BOTH_TRAP,
      { quick: 4, short: 5, full: 6 },
    ],
  ] as const)(
    "at first %s do what the rules say, in every order of events [N1021]",
    async (_what, start, traps, lengths) => {
      let many = 0;
      for (const events of sequences(start, graded<number>(lengths), traps)) {
        const rules = byRules(events, traps);
        const whole = [...events, ...toRest(rules)];
        const [seen, expected] = [await library.run(whole, traps), picture(rules)];
        many++;
        if (JSON.stringify(seen) !== JSON.stringify(expected))
          expect({ whole, seen }).toEqual({ whole, seen: expected });
        if (seen.alive.length === 2) expect(seen.links).toHaveLength(seen.links.length === 0 ? 0 : 2);
      }
      expect(many).toBeGreaterThan(1_000);
    },
  );
});
