// Small programs of actors, to be run under a chooser: mailboxes, awaited promises, held messages, spawns, kills, shared
// names, timers, faults. What a step touches is written down as the simulator would.

import fc from "fast-check";
import { Random } from "../../../lib/testing/kit/random.js";
import type { Chooser, PossibleStep, SearchStrategy } from "../../../lib/testing/strategies/strategy.js";

export type Op =
  | { readonly op: "send" | "hold"; readonly to: number; readonly tag: number }
  /** A promise that the actor awaits is settled. */
  | { readonly op: "settle"; readonly to: number }
  | { readonly op: "spawn" | "timer"; readonly tag: number }
  | { readonly op: "read" | "write"; readonly name: string }
  /** Looks at the length of its own mailbox. */
  | { readonly op: "peek" }
  | { readonly op: "kill"; readonly who: number }
  | { readonly op: "draw"; readonly n: number; readonly label: string }
  | { readonly op: "if"; readonly yes: Op; readonly no: Op }
  /** The schedule ends, whatever is left to do. */
  | { readonly op: "fail" };

export interface Program {
  /** What each actor does on a message, by its tag. A child does as its parent. */
  readonly scripts: readonly (readonly (readonly Op[])[])[];
  /** Messages that are there from the start. */
  readonly start: readonly { readonly to: number; readonly tag: number }[];
  /** So many actors may crash between two steps, whatever they have done. */
  readonly crashes?: number;
  /** So many may crash before their first step. */
  readonly starts?: number;
  /** So often may time pass though there is work to do. */
  readonly rushes?: number;
  /** What the draws of crashes are labelled. Default `crash:process`. */
  readonly label?: string;
  /** Numbers go by birth, as in the simulator, or belong to paths. Default: to paths. */
  readonly byBirth?: boolean;
}

/** A step, with what it touched. */
export interface Event {
  /** The same in all schedules in which the same thing happens. */
  readonly label: string;
  /** Steps of one actor have the same; undefined for a fault. */
  readonly actor: string | undefined;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  /** Nothing can change places with it. */
  readonly barrier: boolean;
}

export interface Ran {
  readonly final: string;
  readonly failed: boolean;
  readonly events: readonly Event[];
  readonly choices: readonly number[];
  /** How many alternatives there were; below 0 for a draw. */
  readonly sizes: readonly number[];
  readonly redundant: boolean;
}

interface Message {
  readonly id: string;
  readonly tag: number;
  readonly value: number;
}

interface Actor {
  readonly path: string;
  readonly number: number;
  readonly script: number;
  readonly mailbox: Message[];
  readonly settled: Message[];
  state: number;
  steps: number;
  children: number;
  alive: boolean;
}

interface SmallTask extends PossibleStep {
  readonly kind: "run" | "resume" | "deliver";
  readonly owner: Actor;
  readonly held: Message[];
}

/** Numbers of actors and of pairs, for the programs whose numbers belong to paths. */
const ACTORS = new Map<string, number>();
const PAIRS = new Map<string, number>();

function mix(a: number, b: number): number {
  return Math.imul(a ^ (b + 1), 0x01000193) >>> 0;
}

class World {
  private readonly program: Program;
  private readonly chooser: Chooser;
  private readonly actors: Actor[] = [];
  private readonly tasks: SmallTask[] = [];
  private readonly pairs = new Map<string, SmallTask>();
  private readonly names = new Map<string, number>();
  private readonly timers: { readonly owner: Actor; readonly message: Message }[] = [];
  private readonly events: Event[] = [];
  private readonly choices: number[] = [];
  private readonly sizes: number[] = [];
  /** The same two sets for every step: whoever wants to keep them has to copy them. */
  private readonly reads = new Set<string>();
  private readonly writes = new Set<string>();
  private crashesLeft: number;
  private startsLeft: number;
  private rushesLeft: number;
  private failure: string | undefined = undefined;

  constructor(program: Program, chooser: Chooser) {
    this.program = program;
    this.chooser = chooser;
    this.crashesLeft = program.crashes ?? 0;
    this.startsLeft = program.starts ?? 0;
    this.rushesLeft = program.rushes ?? 0;
    for (const script of program.scripts.keys()) this.born(`${script}`, script);
    for (const [i, { to, tag }] of program.start.entries())
      this.put(this.actors[to] as Actor, { id: `start ${i}`, tag, value: i });
    this.writes.clear();
  }

  run(): Ran {
    while (this.failure === undefined && !this.chooser.redundant) {
      this.chooser.offered?.(this.tasks);
      if (this.chooser.redundant) break;
      if (this.strike()) continue;
      if (this.tasks.length === 0) {
        if (!this.passTime()) break;
        continue;
      }
      let index = 0;
      if (this.tasks.length > 1) {
        index = this.chooser.pick(this.tasks);
        if (this.chooser.redundant) break;
        this.choices.push(index);
        this.sizes.push(this.tasks.length);
      }
      this.perform(this.tasks.splice(index, 1)[0] as SmallTask);
    }
    const actors = this.actors.map(({ path, state, alive, mailbox }) => [path, state, alive, mailbox.length]);
    const names = [...this.names].sort();
    const final = JSON.stringify([actors.sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1)), names]);
    const { events, choices, sizes, failure } = this;
    return {
      final: failure ?? final,
      failed: failure !== undefined,
      events,
      choices,
      sizes,
      redundant: this.chooser.redundant === true,
    };
  }

  private perform(task: SmallTask): void {
    const { owner, kind } = task;
    const draws: number[] = [];
    let what = "";
    if (kind === "deliver") {
      const message = task.held.shift() as Message;
      what = message.id;
      this.reads.add(`q:${message.id}`);
      if (task.held.length > 0) this.tasks.push(task);
      this.writes.add(`m${owner.number}`);
      this.put(owner, message);
    } else {
      const queue = kind === "run" ? owner.mailbox : owner.settled;
      const message = queue.shift() as Message;
      what = message.id;
      this.reads.add(`q:${message.id}`);
      owner.steps++;
      owner.state = mix(mix(owner.state, message.tag), message.value);
      this.writes.add(`a${owner.number}`);
      if (kind === "run")
        for (const [i, op] of (this.program.scripts[owner.script]?.[message.tag] ?? []).entries())
          this.carryOut(op, owner, `${owner.path}:${owner.steps}:${i}`, draws);
      if (queue.length > 0 && owner.alive) this.enable(kind, owner);
    }
    this.ran(`${kind} ${owner.path} ${what} ${draws}`, task);
  }

  private carryOut(op: Op, self: Actor, id: string, draws: number[]): void {
    if (!self.alive) return;
    switch (op.op) {
      case "send": {
        const to = this.actors[op.to] as Actor;
        this.writes.add(`m${to.number}`);
        this.put(to, { id, tag: op.tag, value: self.state });
        return;
      }
      case "hold": {
        const to = this.actors[op.to] as Actor;
        const key = `${self.path}>${to.path}`;
        const pair =
          this.pairs.get(key) ?? this.task("deliver", to, this.numberOf(key, PAIRS, this.pairs.size), key);
        this.pairs.set(key, pair);
        this.writes.add(`q:${id}`);
        if (pair.held.push({ id, tag: op.tag, value: self.state }) === 1) this.tasks.push(pair);
        return;
      }
      case "settle": {
        const to = this.actors[op.to] as Actor;
        this.writes.add(`m${to.number}`).add(`q:${id}`);
        if (to.alive && to.settled.push({ id, tag: 9, value: self.state }) === 1) this.enable("resume", to);
        return;
      }
      case "spawn": {
        const child = this.born(`${self.path}/${self.children++}`, self.script);
        this.writes.add(`a${child.number}`);
        this.put(child, { id, tag: op.tag, value: self.state });
        return;
      }
      case "timer":
        this.timers.push({ owner: self, message: { id, tag: op.tag, value: self.state } });
        return;
      case "read":
        this.reads.add(`n:${op.name}`);
        self.state = mix(self.state, this.names.get(op.name) ?? 0);
        return;
      case "write":
        this.writes.add(`n:${op.name}`);
        this.names.set(op.name, self.state);
        return;
      case "peek":
        this.reads.add(`m${self.number}`);
        self.state = mix(self.state, self.mailbox.length);
        return;
      case "kill":
        this.kill(this.actors[op.who] as Actor);
        return;
      case "draw": {
        const value = this.draw(op.n, op.label);
        draws.push(value);
        self.state = mix(self.state, value);
        return;
      }
      case "if":
        this.carryOut((self.state >>> 7) % 2 === 0 ? op.yes : op.no, self, id, draws);
        return;
      case "fail":
        this.failure ??= `${self.path} failed in state ${self.state}`;
    }
  }

  private ran(label: string, task: SmallTask): void {
    const { reads, writes } = this;
    const actor = task.kind === "deliver" ? `pair ${task.actor}` : `${task.actor}`;
    this.events.push({ label, actor, reads: [...reads], writes: [...writes], barrier: false });
    this.chooser.ran?.(task, { reads, writes });
    reads.clear();
    writes.clear();
  }

  private draw(n: number, label: string, names?: readonly string[]): number {
    const value = this.chooser.draw(n, label, undefined, undefined, names);
    if (label === "random") return value;
    this.choices.push(value);
    this.sizes.push(-n);
    return value;
  }

  private strike(): boolean {
    const { label = "crash:process" } = this.program;
    if (this.crashesLeft > 0 && this.crash(label, () => true)) {
      this.crashesLeft--;
      return true;
    }
    if (this.startsLeft > 0 && this.crash("start:process", ({ steps }) => steps === 0)) {
      this.startsLeft--;
      return true;
    }
    if (this.rushesLeft === 0 || this.timers.length === 0) return false;
    if (this.draw(2, "rush:time") === 0) return false;
    this.rushesLeft--;
    return this.passTime("rush to ");
  }

  private crash(label: string, able: (actor: Actor) => boolean): boolean {
    const targets = this.actors
      .filter((actor) => actor.alive && able(actor))
      .sort((a, b) => (a.path < b.path ? -1 : 1));
    const choice =
      targets.length === 0
        ? 0
        : this.draw(
            targets.length + 1,
            label,
            targets.map(({ path }) => path),
          );
    if (choice === 0) return false;
    const target = targets[choice - 1] as Actor;
    this.barrier(`${label} ${target.path}`);
    this.kill(target);
    // Somebody hears of it.
    this.put(this.actors[0] as Actor, { id: `end of ${target.path}`, tag: 0, value: 7 });
    this.writes.clear();
    return true;
  }

  /** Nothing changes places with a fault, nor with time. */
  private barrier(label: string): void {
    this.events.push({ label, actor: undefined, reads: [], writes: [], barrier: true });
  }

  private passTime(how = ""): boolean {
    this.timers.sort((a, b) => (a.message.id < b.message.id ? -1 : 1));
    const timer = this.timers.shift();
    if (timer === undefined) return false;
    this.barrier(`${how}${timer.message.id}`);
    this.put(timer.owner, timer.message);
    this.writes.clear();
    return true;
  }

  private kill(actor: Actor): void {
    actor.alive = false;
    actor.mailbox.length = 0;
    actor.settled.length = 0;
    this.writes.add(`a${actor.number}`).add(`m${actor.number}`);
    for (let i = this.tasks.length - 1; i >= 0; i--) {
      const { kind, owner } = this.tasks[i] as SmallTask;
      if (owner === actor && kind !== "deliver") this.tasks.splice(i, 1);
    }
  }

  private put(to: Actor, message: Message): void {
    this.writes.add(`q:${message.id}`);
    if (to.alive && to.mailbox.push(message) === 1) this.enable("run", to);
  }

  private enable(kind: "run" | "resume", owner: Actor): void {
    if (!this.tasks.some((task) => task.kind === kind && task.owner === owner))
      this.tasks.push(this.task(kind, owner, owner.number));
  }

  private task(kind: SmallTask["kind"], owner: Actor, actor: number, key = owner.path): SmallTask {
    return { kind, owner, actor, key, rank: undefined, held: [] };
  }

  private born(path: string, script: number): Actor {
    const actor: Actor = {
      path,
      number: this.numberOf(path, ACTORS, this.actors.length),
      script,
      mailbox: [],
      settled: [],
      state: 1,
      steps: 0,
      children: 0,
      alive: true,
    };
    this.actors.push(actor);
    return actor;
  }

  /** Actors and pairs have numbers of their own, which may be the same. */
  private numberOf(path: string, known: Map<string, number>, ordinal: number): number {
    if (this.program.byBirth === true) return ordinal;
    const number = known.get(path) ?? known.size;
    known.set(path, number);
    return number;
  }
}

export function run(program: Program, chooser: Chooser): Ran {
  return new World(program, chooser).run();
}

/** The search began anew: what it has run so far is redundant. */
export function abandon(runs: Ran[]): void {
  for (const [index, ran] of runs.entries()) runs[index] = { ...ran, redundant: true };
}

/** All that a strategy makes of a program. Throws when it does not come to an end. */
export function explore(program: Program, strategy: SearchStrategy, most = 50_000): Ran[] {
  const all: Ran[] = [];
  for (let index = 0; index < most; index++) {
    const chooser = strategy.begin(index, new Random(index), { longest: 0, actors: 0 });
    if (chooser === undefined) return all;
    if (chooser.isAnew === true) abandon(all);
    all.push(run(program, chooser));
  }
  throw new Error(`more than ${most} schedules`);
}

/** All schedules, in the order of counting: the last figure is the first to go up. Undefined if more than `most`. */
export function everySchedule(program: Program, most: number): Ran[] | undefined {
  const all: Ran[] = [];
  let list: readonly number[] = [];
  while (all.length < most) {
    let next = 0;
    const choose = (n: number): number => Math.min(list[next++] ?? 0, n - 1);
    const ran = run(program, {
      pick: (tasks) => choose(tasks.length),
      draw: (n, label) => (label === "random" ? 0 : choose(n)),
    });
    all.push(ran);
    const last = ran.choices.findLastIndex((choice, i) => choice + 1 < Math.abs(ran.sizes[i] as number));
    if (last < 0) return all;
    list = [...ran.choices.slice(0, last), (ran.choices[last] as number) + 1];
  }
  return undefined;
}

/**
 * The schedule without the order of what can change places, after Mazurkiewicz: what happened, and of each two events
 * that depend on each other, which came first. The same text means the same trace.
 */
export function traceOf({ events }: Ran): string {
  const orders = events.flatMap((late, i) =>
    events
      .slice(0, i)
      .filter((early) => depend(early, late))
      .map((early) => `${early.label} before ${late.label}`),
  );
  return [...events.map(({ label }) => label).sort(), ...orders.sort()].join("\n");
}

function depend(a: Event, b: Event): boolean {
  if (a.barrier || b.barrier || a.actor === b.actor) return true;
  const changed = [
    ...a.writes.filter((key) => [...b.writes, ...b.reads].includes(key)),
    ...a.reads.filter((key) => b.writes.includes(key)),
  ];
  return changed.length > 0;
}

// ── any program ─────────────────────────────────────────────────────────────────────────────────────────────────────

const ACTOR_COUNT = 4;
const TAGS = 3;

/** What programs may have in them besides messages, names and branches. */
export interface Features {
  readonly processes?: boolean;
  readonly draws?: boolean;
  readonly failures?: boolean;
  readonly faults?: boolean;
  readonly byBirth?: boolean;
}

/** Sends only what has a lower tag, so that every program comes to an end. */
function ops(tag: number, { processes, draws, failures }: Features): fc.Arbitrary<Op> {
  const actor = fc.nat(ACTOR_COUNT - 1);
  const lower = fc.nat(Math.max(0, tag - 1));
  const name = fc.constantFrom("x", "y");
  const kinds: fc.Arbitrary<Op>[] = [
    fc.record({ op: fc.constantFrom("read", "write"), name }),
    fc.constant({ op: "peek" }),
  ];
  const some = (arbitrary: fc.Arbitrary<Op>, wanted: boolean | undefined): void => {
    if (wanted === true) kinds.push(arbitrary);
  };
  some(fc.record({ op: fc.constantFrom("send", "send", "hold"), to: actor, tag: lower }), tag > 0);
  some(fc.record({ op: fc.constant("settle"), to: actor }), processes);
  some(fc.record({ op: fc.constantFrom("spawn", "timer"), tag: lower }), processes && tag > 0);
  some(fc.record({ op: fc.constant("kill"), who: actor }), processes);
  some(
    fc.record({
      op: fc.constant("draw"),
      n: fc.integer({ min: 2, max: 3 }),
      label: fc.constantFrom("coin", "drop:message"),
    }),
    draws,
  );
  some(fc.constant({ op: "fail" }), failures);
  const plain = fc.oneof(...kinds);
  return fc.oneof(
    { weight: 2, arbitrary: plain },
    { weight: 1, arbitrary: fc.record({ op: fc.constant("if"), yes: plain, no: plain }) },
  );
}

export function programs(features: Features = {}): fc.Arbitrary<Program> {
  const script = fc.tuple(
    ...Array.from({ length: TAGS }, (_, tag) => fc.array(ops(tag, features), { maxLength: 3 })),
  );
  const faults = features.faults === true ? fc.nat(1) : fc.constant(0);
  return fc.record({
    scripts: fc.array(script, { minLength: ACTOR_COUNT, maxLength: ACTOR_COUNT }),
    start: fc.array(fc.record({ to: fc.nat(ACTOR_COUNT - 1), tag: fc.nat(TAGS - 1) }), {
      minLength: 2,
      maxLength: 4,
    }),
    crashes: faults,
    starts: faults,
    rushes: faults,
    byBirth: fc.constant(features.byBirth === true),
  });
}
