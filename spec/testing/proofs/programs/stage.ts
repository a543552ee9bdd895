// Runs one program in a simulation, with the public API alone, and writes down what each of its actors meets.

import {
  type BodyContext,
  ConsumerGroup,
  type Context,
  consumer,
  type DynamicSupervisorRef,
  defineServer,
  dynamicSupervisor,
  type ExitReason,
  type Monitor,
  type Pid,
  type Rejection,
  type ReplyTo,
  type RoutingFunction,
  reject,
  roundRobin,
  type ServerDefinition,
  type ServerRef,
  type Signal,
  type SpawnOptions,
  type Startable,
  type SupervisorDefinition,
  type SupervisorRef,
  type System,
  supervisor,
  type TimerRef,
} from "signalbox";
import type { SimulatedDisk, SimulatedNetwork, Simulation } from "signalbox/testing";
import { type Instruction, NAMES, type Operations, type Proc, type Program } from "./language.js";
import { Store } from "./store.js";

/** What processes send each other. */
export interface Message {
  readonly tag: number;
  /** How often a reaction to it may send something again: every program comes to an end. */
  readonly hops: number;
  readonly from: string;
  readonly replyTo?: ReplyTo<string>;
}

/** A program throws it to crash. */
export class Boom extends Error {
  override readonly name: string = "Boom";
}

/** Time enough for every timer of a program. */
const END_MS = 60;

const LIMITS = { callTimeoutMs: 30, shutdownMs: 20, stopTimeoutMs: 30, startTimeoutMs: 30 } as const;

/** A process of a program, or the scenario: the one who performs instructions. */
export class Actor {
  readonly name: string;
  readonly stage: Stage;
  /** Undefined for the scenario. */
  readonly ctx: BodyContext<Message> | undefined;
  hops = 1;
  readonly monitors: Monitor[] = [];
  readonly timers: TimerRef[] = [];
  readonly kids: Pid[] = [];
  readonly likes: Pid[] = [];
  readonly kept: ReplyTo<string>[] = [];

  /** Where it runs. */
  readonly system: System;

  constructor(stage: Stage, name: string, ctx: BodyContext<Message> | undefined) {
    this.stage = stage;
    this.system = stage.systemOf(ctx?.self);
    this.name = name;
    this.ctx = ctx;
  }

  /** Which process a number means, as code of this actor's system sees it. */
  pid(number: number): Pid<Message> {
    return this.stage.pid(number, this.system);
  }

  /** For what only a process can do. */
  get process(): BodyContext<Message> {
    if (this.ctx === undefined) throw new Error("the scenario is no process");
    return this.ctx;
  }

  say(text: string): void {
    this.stage.log(this.name).push(text);
  }

  /** Performs instructions, at once as far as they are synchronous. */
  perform(list: readonly Instruction[], from = 0): void | Promise<void> {
    for (let index = from; index < list.length; index++) {
      const instruction = list[index] as Instruction;
      const result = this.attempt(instruction);
      if (result instanceof Promise) {
        return result.then(
          (value) => {
            this.report(instruction, value);
            return this.perform(list, index + 1);
          },
          (error) => {
            this.failed(instruction, error);
            return this.perform(list, index + 1);
          },
        );
      }
    }
  }

  private attempt(instruction: Instruction): unknown {
    const { op } = instruction;
    const operation = this.stage.operations[op];
    if (operation === undefined) throw new Error(`no operation ${op}`);
    try {
      const result = operation.run(this, instruction as never);
      if (result instanceof Promise) return result;
      this.report(instruction, result);
    } catch (error) {
      this.failed(instruction, error);
    }
    return undefined;
  }

  private report({ op }: Instruction, result: unknown): void {
    if (result === SKIPPED) return;
    this.stage.seen.add(op);
    if (result !== undefined) this.say(`${op} ${result}`);
  }

  private failed({ op }: Instruction, error: unknown): void {
    this.stage.seen.add(op);
    if (error instanceof Boom || this.ctx?.alive === false) throw error;
    this.say(`${op} failed: ${errorText(error)}`);
  }

  /** A message was taken: by a body that received it, or by callbacks. */
  took(message: Message, proc: Proc): void | Promise<void> {
    const { tag, from, replyTo, hops } = message;
    if (tag === undefined) {
      this.say("took something else");
      return;
    }
    this.say(`took ${tag} of ${from}`);
    if (replyTo !== undefined) this.meet(replyTo, proc);
    if (hops <= 0) return;
    this.hops = hops - 1;
    return this.perform(proc.reaction);
  }

  private meet(replyTo: ReplyTo<string>, { manners }: Proc): void {
    const kept = this.kept.shift();
    if (manners === "answers") this.ctx?.reply(replyTo, this.name);
    else if (manners === "refuses") this.ctx?.refuse(replyTo, new TypeError("refused"));
    else if (manners !== "never answers") {
      this.kept.push(replyTo);
      if (kept === undefined) return;
      // To look and to answer are two accesses: each has to be declared for itself.
      if (manners === "answers late") this.ctx?.reply(kept, `late of ${this.name}`);
      else this.say(kept.open ? "open" : "closed");
    }
  }

  met(signal: Signal): void {
    const { stage } = this;
    if (signal.type === "group") this.say(`${signal.change} of ${stage.nameOf(signal.pid)}`);
    else if (signal.type === "exit")
      this.say(`EXIT of ${stage.nameOf(signal.from)}: ${reasonText(signal.reason)}`);
    else this.say(`DOWN of ${stage.nameOf(signal.pid)}: ${reasonText(signal.reason)}`);
  }

  message(tag: number, replyTo?: ReplyTo<string>): Message {
    const message = { tag, hops: this.hops, from: this.name };
    return replyTo === undefined ? message : { ...message, replyTo };
  }
}

/** Returned by an operation that does not apply: it did nothing. */
export const SKIPPED: unique symbol = Symbol("skipped");

export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { reason } = error as { reason?: ExitReason };
  return reason?.type === undefined ? error.name : `${error.name} (${reasonText(reason)})`;
}

export function reasonText(reason: ExitReason): string {
  if (reason.type === "crash") return errorText(reason.error);
  return reason.type === "custom" ? `custom ${reason.value}` : reason.type;
}

/** All processes. `system.processes()` shows the order of spawns, so a search would have to order them. */
function* processesOf({ kernel }: System): Generator<Pid<unknown>> {
  for (let process = kernel.newest; process !== undefined; process = process.next) yield process.pid;
}

/** Everything of one schedule of a program. */
export class Stage {
  readonly sim: Simulation;
  /** One, or two that a network connects. */
  readonly systems: readonly [System, ...System[]];
  readonly network: SimulatedNetwork | undefined;
  readonly program: Program;
  readonly operations: Operations;
  /** Instructions that were performed. */
  readonly seen: Set<string>;
  readonly pids: Pid<Message>[] = [];
  /** Of the scenario: set before any process runs, so that anyone may cancel them. */
  readonly alarms: TimerRef[] = [];
  readonly aborts: readonly AbortController[] = [new AbortController(), new AbortController()];
  readonly shared: Map<string, string> = new Map();
  readonly consumers: ConsumerGroup<Message, string>;
  readonly disk: SimulatedDisk;
  readonly store: Store;
  private readonly logs = new Map<string, string[]>();
  private readonly names = new Map<Pid<never>, string>();
  private readonly starts = new Map<string, number>();

  constructor(sim: Simulation, program: Program, operations: Operations, seen: Set<string>) {
    this.sim = sim;
    this.program = program;
    this.operations = operations;
    this.seen = seen;
    const first = sim.system({ name: "system", limits: LIMITS });
    if (program.network === undefined) this.systems = [first];
    else {
      this.network = sim.network(program.network);
      this.systems = [first, sim.system({ name: "other", limits: LIMITS })];
      for (const system of this.systems) this.network.join(system);
    }
    this.disk = sim.disk();
    this.store = new Store(sim);
    const variant = program.procs.find(({ kind }) => kind === "consumer")?.variant ?? 0;
    this.consumers = new ConsumerGroup({
      name: "consumers",
      patienceMs: (variant & 1) * 10,
      deadlineMs: 30,
      ...routeOf(variant),
    });
  }

  log(name: string): string[] {
    let log = this.logs.get(name);
    if (log === undefined) {
      log = [];
      this.logs.set(name, log);
    }
    return log;
  }

  /** The name of a process, which does not depend on what others do. */
  nameOf(pid: Pid<never> | undefined): string {
    if (pid === undefined) return "nobody";
    const known = this.names.get(pid);
    if (known !== undefined) return known;
    const path = this.sim.path(pid).replace(/^(system|other)\//, "");
    // Processes of nobody are numbered in the order in which they come.
    return path.includes("/") ? path : path.replace(/#\d+$/, "");
  }

  /** Which process a number means. */
  pid(number: number, from: System = this.system): Pid<Message> {
    const pid = this.pids[number % this.pids.length] as Pid<Message>;
    const home = this.systemOf(pid);
    if (home === from) return pid;
    const foreign = from.pidAt(home.address(pid)) as Pid<Message>;
    this.names.set(foreign, this.nameOf(pid));
    return foreign;
  }

  /** The first system is the scenario's. */
  get system(): System {
    return this.systems[0];
  }

  systemOf(pid: Pid<never> | undefined): System {
    return this.systems.find(({ node }) => node === pid?.node) ?? this.system;
  }

  proc(number: number): Proc {
    return this.program.procs[number % this.program.procs.length] as Proc;
  }

  async run(): Promise<void> {
    const { sim, system, program } = this;
    const scenario = new Actor(this, "scenario", undefined);
    program.procs.forEach((proc, index) => {
      const name = NAMES[index] as string;
      const pid = this.spawn(name, proc, this.systems[index % this.systems.length] as System);
      this.names.set(pid, name);
      this.pids.push(pid);
    });
    for (const [index, pid] of this.pids.entries()) {
      if (program.procs[index]?.variant !== 7 || this.systemOf(pid) !== system) continue;
      this.alarms.push(system.sendAfter(pid, { tag: 9, hops: 0, from: "alarm" }, 10));
    }
    void scenario.perform(program.scenario);
    await sim.sleep(END_MS);
  }

  /** What every actor met, and what is left, in one text. */
  outcome(): string {
    const { system, systems } = this;
    const logs = [...this.logs]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, log]) => `${name}: ${log.join("; ")}`);
    const alive = systems.flatMap((one) => [...processesOf(one)].map((pid) => this.nameOf(pid))).sort();
    const names = ["x", "y"].map((name) => `${name}=${this.nameOf(system.whereis(name))}`);
    const members = system.members("g").map((pid) => this.nameOf(pid));
    const shared = [...this.shared].sort().map(([key, value]) => `${key}=${value}`);
    const rows = ["u", "v"].map((row) => `${row}=${this.store.peek(row)}`);
    return [
      ...logs,
      `alive ${alive}; ${names}; members ${members}; shared ${shared}; rows ${rows}`,
      `dead letters ${systems.map((one) => one.deadLetters)}`,
    ].join("\n");
  }

  // ── processes ─────────────────────────────────────────────────────────────────────────────────────────────────

  private spawn(name: string, proc: Proc, system: System): Pid<Message> {
    const mailbox =
      proc.mailbox === "unbounded" ? undefined : ({ capacity: 1, overflow: proc.mailbox } as const);
    const options: SpawnOptions = { label: name, trapExit: proc.trap, ...(mailbox && { mailbox }) };
    switch (proc.kind) {
      case "body":
        return system.spawn(this.body(name, proc), options);
      case "callbacks":
        return system.spawn(this.callbacks(name, proc), options);
      case "consumer":
        return system.spawn(
          consumer<Message, string>(
            (payload, _delivery, ctx) => this.work(name, proc, payload, ctx as never),
            {
              group: this.consumers,
              id: name,
              ...(proc.variant & 1 ? { maxInFlight: 1 } : {}),
            },
          ),
          options,
        ) as unknown as Pid<Message>;
      case "server":
        return this.started(name, options, Server, this, name, proc);
      case "supervisor":
        return this.started(name, options, this.supervisor(name, proc));
      case "dynamic":
        return this.started(name, options, this.dynamic(name, proc));
    }
  }

  /** Starts something that is spawned at once and registered, so that its pid is known before it runs. */
  private started<Args extends readonly unknown[]>(
    name: string,
    { trapExit, ...options }: SpawnOptions,
    what: Startable<Args, unknown>,
    ...args: Args
  ): Pid<Message> {
    const { system } = this;
    const start = system.startWith({ ...options, name: `the ${name}` }, what, ...args);
    start.then(
      () => this.log("starts").push(`${name} started`),
      (error) => this.log("starts").push(`${name} failed: ${errorText(error)}`),
    );
    return system.whereis(`the ${name}`) as Pid<Message>;
  }

  private body(name: string, proc: Proc): (ctx: BodyContext<Message>) => Promise<void> {
    return async (ctx) => {
      const me = new Actor(this, name, ctx);
      await me.perform(proc.script);
      for (let turn = 0; turn < (proc.variant & 3); turn++) {
        const item = await ctx.receiveAny();
        if ("type" in item) me.met(item);
        else await me.took(item, proc);
      }
    };
  }

  private callbacks(
    name: string,
    proc: Proc,
  ): {
    init(ctx: Context<Message>): unknown;
    handle(ctx: Context<Message>, message: Message): unknown;
    signal(ctx: Context<Message>, signal: Signal): unknown;
    terminate(ctx: Context<Message>, reason: ExitReason): unknown;
  } {
    let me: Actor;
    return {
      init: (ctx) => {
        me = new Actor(this, name, ctx as BodyContext<Message>);
        return me.perform(proc.script);
      },
      handle: (_ctx, message) => me.took(message, proc),
      signal: (_ctx, signal) => me.met(signal),
      terminate: (_ctx, reason) => me.say(`terminates: ${reasonText(reason)}`),
    };
  }

  private child(name: string, proc: Proc): (ctx: BodyContext<never>) => Promise<void> {
    return async (ctx) => {
      const start = (this.starts.get(name) ?? 0) + 1;
      this.starts.set(name, start);
      const me = new Actor(this, `${name}#${start}`, ctx as never);
      me.say("starts");
      if (start === 1) await me.perform(proc.script);
      for (;;) await me.took(await me.process.receive(), proc);
    };
  }

  private supervisor(name: string, proc: Proc): SupervisorDefinition {
    const { variant } = proc;
    const strategy = (["one_for_one", "one_for_all", "rest_for_one"] as const)[variant % 3] as "one_for_one";
    return supervisor({
      strategy,
      intensity: 2,
      report: false,
      label: name,
      children: [
        {
          id: `${name}1`,
          name: `${name}1`,
          start: this.child(`${name}1`, proc),
          shutdown: 10,
        },
        ...(variant < 4
          ? [
              {
                id: `${name}2`,
                name: `${name}2`,
                start: this.child(`${name}2`, { ...proc, script: [] }),
                shutdown: "brutal_kill" as const,
                restart: "transient" as const,
              },
            ]
          : []),
      ],
    });
  }

  private dynamic(
    name: string,
    proc: Proc,
  ): SupervisorDefinition<DynamicSupervisorRef<readonly [], Pid<never>>> {
    return dynamicSupervisor({
      intensity: 2,
      report: false,
      label: name,
      maxChildren: 2,
      child: {
        id: `${name}0`,
        start: this.kid(proc.script),
        shutdown: 10,
        restart: "temporary",
      },
    });
  }

  /** The code of a process that another one spawns. It is named by its path. */
  kid(script: readonly Instruction[]): (ctx: BodyContext<never>) => Promise<void> {
    return async (ctx) => {
      const me = new Actor(this, this.nameOf(ctx.self), ctx as never);
      me.say("starts");
      await me.perform(script);
      const message = await me.process.receive();
      me.say(`took ${message.tag} of ${message.from}`);
    };
  }

  supervisorAt(number: number): SupervisorRef | undefined {
    if (this.proc(number).kind !== "supervisor") return undefined;
    return supervisor({}).at(this.system, this.pid(number));
  }

  dynamicAt(number: number): DynamicSupervisorRef<readonly [], Pid<never>> | undefined {
    const proc = this.proc(number);
    return proc.kind === "dynamic" ? this.dynamic("any", proc).at(this.system, this.pid(number)) : undefined;
  }

  serverAt(number: number): ServerRef<Gets, Puts> | undefined {
    return this.proc(number).kind === "server" ? Server.at(this.system, this.pid(number)) : undefined;
  }

  private work(
    name: string,
    proc: Proc,
    payload: Message,
    ctx: Context<Message>,
  ): Settled | Promise<Settled> {
    const me = new Actor(this, name, ctx as BodyContext<Message>);
    me.say(`works on ${payload?.tag} of ${payload?.from}`);
    me.hops = (payload?.hops ?? 0) - 1;
    const done = me.hops < 0 ? undefined : me.perform(proc.reaction);
    const result =
      proc.manners === "refuses"
        ? reject("no")
        : proc.manners === "never answers"
          ? reject("never", { final: true })
          : proc.manners === "answers"
            ? name
            : undefined;
    return done === undefined ? result : done.then(() => result);
  }
}

type Settled = string | Rejection | undefined;

interface ServerState {
  readonly me: Actor;
  readonly proc: Proc;
  sum: number;
}

type Gets = { readonly get: (state: ServerState, tag: number) => string };
type Puts = { readonly put: (state: ServerState, tag: number, from: string) => void };

const Server: ServerDefinition<[Stage, string, Proc], Gets, Puts> = defineServer({
  init: (ctx: Context<unknown>, stage: Stage, name: string, proc: Proc): ServerState => {
    ctx.trapExit(proc.trap);
    return { me: new Actor(stage, name, ctx as BodyContext<Message>), proc, sum: 0 };
  },
  calls: {
    get: (state: ServerState, tag: number) => {
      state.sum += tag;
      return `sum ${state.sum}`;
    },
  },
  casts: {
    put: (state: ServerState, tag: number, from: string) => {
      state.me.say(`put ${tag} of ${from}`);
      state.sum += tag;
    },
  },
  signals: {
    exit: ({ me }, signal) => me.met(signal),
    down: ({ me }, signal) => me.met(signal),
    group: ({ me }, signal) => me.met(signal),
  },
  info: ({ me, proc }, message) => me.took(message as Message, proc),
});

function routeOf(variant: number): { route?: RoutingFunction<Message> } {
  if (variant < 3) return {};
  if (variant < 5) return { route: roundRobin() };
  return {
    route: (_envelope, candidates) => {
      const [first, ...others] = candidates;
      let best = first;
      for (const one of others) if (one.inFlight <= (best?.inFlight ?? 0)) best = one;
      return best;
    },
  };
}
