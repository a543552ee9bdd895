// Processes that register names, release them, look them up and inherit them, and record the answers.

import { type Context, NameTakenError, type Pid, type Signal, type Stop, type System, stop } from "signalbox";
import type { Simulation } from "signalbox/testing";
import type { NameDeed } from "./support-names.js";

/** Something for a process to do. `child` is a process that has the name from its spawn on. */
export type Wish =
  | { readonly wish: "take" | "child" | "look"; readonly name: string }
  | { readonly wish: "give back" | "stop" };

type Act = Context<Wish>;

export class Heirs {
  readonly history: NameDeed[] = [];
  readonly pids: Pid<Wish>[] = [];
  private readonly names: readonly string[];
  private readonly system: System;
  private readonly numbers = new Map<Pid, number>();

  constructor(sim: Simulation, system: System, names: readonly string[]) {
    this.system = system;
    this.names = names;
    system.events.on("exit", ({ pid }) => {
      const who = this.numbers.get(pid);
      if (who === undefined) return;
      this.history.push({ deed: "end", who });
      this.lookAround();
    });
    sim.monitor.always("names are as the history says", () => this.lookAround());
  }

  /** @param inherits - takes the name of each process whose end it is notified of */
  enter(inherits: boolean): void {
    this.entered(this.system.spawn<Wish>(this.behaviour(inherits), { label: `p${this.pids.length}` }));
  }

  /** All are notified of each other's ends. */
  watch(who: number): void {
    const others = this.pids.filter((pid) => pid !== this.pids[who]);
    this.system.send(this.pids[who] as Pid<unknown>, others);
  }

  wish(who: number, wish: Wish): void {
    this.system.send(this.pids[who] as Pid<Wish>, wish);
  }

  private entered(pid: Pid<Wish>): number {
    const who = this.pids.push(pid) - 1;
    this.numbers.set(pid, who);
    return who;
  }

  private behaviour(inherits: boolean): {
    handle(ctx: Act, wish: Wish | readonly Pid[]): Stop | undefined;
    signal(ctx: Act, signal: Signal): void;
  } {
    return {
      handle: (ctx, wish) => {
        if (!Array.isArray(wish)) return this.grant(ctx, wish as Wish);
        for (const pid of wish as readonly Pid[]) ctx.monitor(pid);
        return undefined;
      },
      signal: (ctx, signal) => {
        if (signal.type !== "down") return;
        const of = this.number(signal.pid);
        // Of one that had ended before it was monitored, the end is old.
        this.history.push({ deed: "hear", who: this.number(ctx.self), of });
        this.lookAround();
        const name = this.names.find((one) => ctx.whereis(one) === undefined);
        if (inherits && name !== undefined) this.take(ctx, name);
      },
    };
  }

  private grant(ctx: Act, wish: Wish): Stop | undefined {
    const who = this.number(ctx.self);
    switch (wish.wish) {
      case "take":
        this.take(ctx, wish.name);
        return undefined;
      case "look":
        this.history.push({ deed: "look", name: wish.name, found: this.find(ctx.whereis(wish.name)) });
        return undefined;
      case "child":
        this.bear(ctx, wish.name);
        return undefined;
      case "give back":
        this.history.push({ deed: "give back", who });
        ctx.unregister();
        return undefined;
      case "stop":
        return stop();
      default:
        return wish satisfies never;
    }
  }

  private take(ctx: Act, name: string): void {
    const refused = this.isRefused(() => ctx.register(name));
    this.history.push({ deed: "take", who: this.number(ctx.self), name, refused });
  }

  private bear(ctx: Act, name: string): void {
    const label = ctx.whereis(name) === undefined ? `p${this.pids.length}` : "refused";
    let child: Pid<Wish> | undefined;
    const refused = this.isRefused(() => {
      child = ctx.spawn<Wish>(this.behaviour(false), { label, name });
    });
    // A refused spawn makes no process: its number belongs to none.
    const who = child === undefined ? -1 : this.entered(child);
    this.history.push({ deed: "take", who, name, refused });
  }

  private isRefused(ask: () => void): boolean {
    try {
      ask();
      return false;
    } catch (error) {
      if (error instanceof NameTakenError) return true;
      throw error;
    }
  }

  private lookAround(): void {
    for (const name of this.names) {
      const found = this.find(this.system.whereis(name));
      const last = this.history.at(-1);
      if (last?.deed !== "look" || last.name !== name || last.found !== found)
        this.history.push({ deed: "look", name, found });
    }
  }

  private find(pid: Pid | undefined): number | undefined {
    return pid === undefined ? undefined : this.number(pid);
  }

  private number(pid: Pid): number {
    return this.numbers.get(pid) ?? -1;
  }
}
