// Processes that carry out orders, and record what they do and which signals they get. The orders are drawn at random, so
// that each schedule has its own program.

import {
  type Body,
  type Callbacks,
  type Context,
  custom,
  type ExitReason,
  formatReason,
  type Monitor,
  type Pid,
  type Signal,
  type SpawnOptions,
  type Stop,
  type System,
  stop,
} from "signalbox";
import { InjectedCrash, type Simulation } from "signalbox/testing";
import type { Deed } from "./support-history.js";
import { judgeSignals } from "./support-signals.js";

/** Something for a process to do. Numbers stand for processes, in the order of their spawning, as far as there are any. */
export type Order =
  | { readonly do: "link" | "note"; readonly to: number }
  | { readonly do: "unlink"; readonly to: number; readonly flush: boolean }
  | { readonly do: "monitor"; readonly to: number }
  /** The `nth` monitor that it made. */
  | { readonly do: "demonitor"; readonly nth: number; readonly flush: boolean }
  | { readonly do: "signal"; readonly to: number; readonly reason: Reason }
  | { readonly do: "stop"; readonly reason: Reason }
  | { readonly do: "trap"; readonly on: boolean }
  | { readonly do: "spawn"; readonly bond: "link" | "monitor"; readonly traps: boolean };

/** `own` is a reason that no other process ends with. */
export type Reason = "normal" | "shutdown" | "kill" | "own";

interface Note {
  readonly from: number;
  readonly note: number;
}

type Message = readonly Order[] | Note;

type Act = Context<Message>;

const MOST = 7;

export class Cast {
  readonly history: Deed[] = [];
  readonly pids: Pid<Message>[] = [];
  private readonly numbers = new Map<Pid, number>();
  private readonly system: System;
  private readonly monitors: Monitor[] = [];
  private readonly made: Monitor[][] = [];
  private readonly faults = new Map<Error, number>();
  private notes = 0;
  private reasons = 0;

  constructor(sim: Simulation, system: System) {
    this.system = system;
    system.events.on("exit", ({ pid, reason }) => {
      const who = this.numbers.get(pid);
      if (who !== undefined) this.history.push({ deed: "end", who, reason: this.text(reason) });
    });
    sim.monitor.always("steps are counted", () => {
      if (this.history.at(-1)?.deed !== "line") this.history.push({ deed: "line" });
    });
  }

  /** Starts a process from outside: callbacks, or a body. */
  enter(kind: "callbacks" | "body", traps: boolean): number {
    const options: SpawnOptions = { trapExit: traps, label: `p${this.pids.length}` };
    const pid = this.system.spawn<Message>(kind === "body" ? this.body() : this.callbacks(), options);
    return this.entered(pid, traps);
  }

  order(who: number, orders: readonly Order[]): void {
    this.system.send(this.pids[who] as Pid<Message>, orders);
  }

  /** Numbers of the processes linked to a process, as the system lists them. */
  links(who: number): number[] {
    const links = this.system.info(this.pids[who] as Pid)?.links ?? [];
    return links.map((pid) => this.number(pid)).sort();
  }

  private entered(pid: Pid<Message>, traps: boolean): number {
    const who = this.pids.push(pid) - 1;
    this.numbers.set(pid, who);
    this.made.push([]);
    this.history.push({ deed: "spawn", who, traps });
    return who;
  }

  private callbacks(): Callbacks<Message> {
    return {
      handle: (ctx, message) => this.take(ctx, message),
      signal: (ctx, signal) => this.hear(ctx, signal),
    };
  }

  private body(): Body<Message> {
    return async (ctx) => {
      for (;;) {
        const entry = await ctx.receiveAny();
        const end = "type" in entry ? this.hear(ctx, entry) : this.take(ctx, entry);
        if (end !== undefined) return end;
      }
    };
  }

  private take(ctx: Act, message: Message): Stop | undefined {
    const who = this.number(ctx.self);
    if ("note" in message) {
      this.history.push({ deed: "heard", who, signal: { kind: "note", ...message } });
      return undefined;
    }
    for (const order of message) {
      const end = this.obey(ctx, who, order);
      if (end !== undefined || !ctx.alive) return end;
    }
    return undefined;
  }

  private hear(ctx: Act, signal: Signal): undefined {
    const who = this.number(ctx.self);
    if (signal.type === "group") throw new Error("a group signal, which nobody asked for");
    const reason = this.text(signal.reason);
    this.history.push({
      deed: "heard",
      who,
      signal:
        signal.type === "exit"
          ? { kind: "exit", from: this.number(signal.from), reason }
          : { kind: "down", from: this.number(signal.pid), reason, ref: this.monitors.indexOf(signal.ref) },
    });
  }

  private obey(ctx: Act, who: number, order: Order): Stop | undefined {
    const { history } = this;
    switch (order.do) {
      case "link": {
        const to = this.target(order.to);
        history.push({ deed: "link", who, to });
        ctx.link(this.pids[to] as Pid);
        return undefined;
      }
      case "unlink": {
        const { flush } = order;
        const from = this.target(order.to);
        history.push({ deed: "unlink", who, from, flush });
        ctx.unlink(this.pids[from] as Pid, { flush });
        return undefined;
      }
      case "note": {
        const [to, note] = [this.target(order.to), ++this.notes];
        history.push({ deed: "send", who, to, note });
        ctx.send(this.pids[to] as Pid<Message>, { from: who, note });
        return undefined;
      }
      case "monitor": {
        const of = this.target(order.to);
        history.push({ deed: "monitor", who, of, ref: this.monitors.length });
        this.keep(who, ctx.monitor(this.pids[of] as Pid));
        return undefined;
      }
      case "demonitor": {
        const mine = this.made[who] as Monitor[];
        const monitor = mine[order.nth % Math.max(1, mine.length)];
        if (monitor === undefined) return undefined;
        const { flush } = order;
        history.push({ deed: "demonitor", who, ref: this.monitors.indexOf(monitor), flush });
        ctx.demonitor(monitor, { flush });
        return undefined;
      }
      case "signal": {
        const to = this.target(order.to);
        const reason = this.reason(order.reason);
        history.push({ deed: "signal", who, to, reason: this.text(reason) });
        ctx.exit(this.pids[to] as Pid, reason);
        return undefined;
      }
      case "stop": {
        const reason = this.reason(order.reason);
        history.push({ deed: "stop", who, reason: this.text(reason) });
        return stop(reason);
      }
      case "trap":
        history.push({ deed: "trap", who, on: order.on });
        ctx.trapExit(order.on);
        return undefined;
      case "spawn":
        if (this.pids.length < MOST) this.spawn(ctx, who, order);
        return undefined;
      default:
        return order satisfies never;
    }
  }

  /** Children are bodies: one made from callbacks stops at its parent's EXIT, which is another guarantee. */
  private spawn(ctx: Act, who: number, { bond, traps }: Extract<Order, { do: "spawn" }>): void {
    const options: SpawnOptions = { trapExit: traps, label: `p${this.pids.length}` };
    if (bond === "link") {
      const to = this.entered(ctx.spawnLink<Message>(this.body(), options), traps);
      this.history.push({ deed: "link", who, to });
    } else {
      const { pid, ref } = ctx.spawnMonitor<Message>(this.body(), options);
      this.history.push({ deed: "monitor", who, of: this.entered(pid, traps), ref: this.monitors.length });
      this.keep(who, ref);
    }
  }

  private keep(who: number, monitor: Monitor): void {
    this.monitors.push(monitor);
    this.made[who]?.push(monitor);
  }

  private target(to: number): number {
    return to % this.pids.length;
  }

  private number(pid: Pid): number {
    return this.numbers.get(pid) ?? -1;
  }

  private reason(reason: Reason): ExitReason {
    return reason === "own" ? custom(`own ${++this.reasons}`) : { type: reason };
  }

  /** Each injected crash has its own text, because each has its own error. */
  private text(reason: ExitReason): string {
    if (reason.type === "custom") return String(reason.value);
    if (reason.type !== "crash" || !(reason.error instanceof InjectedCrash)) return formatReason(reason);
    const known = this.faults.get(reason.error) ?? this.faults.size + 1;
    this.faults.set(reason.error, known);
    return `fault ${known}`;
  }
}

const REASONS: readonly [Reason, ...Reason[]] = ["normal", "own", "kill", "shutdown"];

/** Draws an order of one of these kinds. */
function drawOrder(sim: Simulation, kinds: Plan["kinds"], among: number): Order {
  const order = sim.oneOf(kinds, "order");
  const flag = (): boolean => sim.choose(2, "flag") === 1;
  const to = (): number => sim.choose(among, "to");
  switch (order) {
    case "link":
    case "note":
    case "monitor":
      return { do: order, to: to() };
    case "unlink":
      return { do: order, to: to(), flush: flag() };
    case "demonitor":
      return { do: order, nth: sim.choose(2, "nth"), flush: flag() };
    case "signal":
      return { do: order, to: to(), reason: sim.oneOf(REASONS, "reason") };
    case "stop":
      return { do: order, reason: sim.oneOf(REASONS, "reason") };
    case "trap":
      return { do: order, on: flag() };
    case "spawn":
      return { do: order, bond: flag() ? "monitor" : "link", traps: flag() };
    default:
      return order satisfies never;
  }
}

/** What a program is made of. */
export interface Plan {
  /** Processes at the beginning. */
  readonly first: number;
  /** What they do to each other before anything else: each pair may, in either way. */
  readonly bond: "link" | "monitor";
  /** Orders after that. */
  readonly orders: number;
  readonly kinds: readonly [Order["do"], ...Order["do"][]];
}

/** What the model finds wrong at the end. The system has to agree with the model on the links. */
export function verdictOn(sim: Simulation, cast: Cast): string | undefined {
  const { complaint, states, links } = judgeSignals(cast.history, true);
  if (complaint !== undefined) return complaint;
  for (const state of states) sim.sometimes(state);
  for (const [who, to] of links) {
    const real = cast.links(who);
    if (real.length !== to.size || !real.every((one) => to.has(one)))
      return `${who} is linked to ${real.join(", ") || "nobody"}; it should be to ${[...to].join(", ") || "nobody"}`;
  }
  return undefined;
}

/** Draws processes, what binds them and orders for them, and has them at it until nothing can run. */
export async function play(sim: Simulation, plan: Plan): Promise<void> {
  const cast = new Cast(sim, sim.system({ name: "cast" }));
  sim.finally("the history agrees with the model", () => verdictOn(sim, cast));
  const flip = (label: string): boolean => sim.choose(2, label) === 1;
  for (let i = 0; i < plan.first; i++) cast.enter(flip("body") ? "body" : "callbacks", flip("traps"));
  for (let a = 0; a < plan.first; a++) {
    const bonds: Order[] = [];
    for (let b = plan.bond === "link" ? a + 1 : 0; b < plan.first; b++)
      if (b !== a && flip("bond")) bonds.push({ do: plan.bond, to: b });
    if (bonds.length > 0) cast.order(a, bonds);
  }
  for (let i = 0; i < plan.orders; i++)
    cast.order(sim.choose(plan.first, "who"), [drawOrder(sim, plan.kinds, plan.first + 1)]);
  await sim.quiet();
}
