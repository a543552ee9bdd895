// Carries out links scenarios: named processes that do what each step says, and tell what they meet.

import {
  type Behaviour,
  type Context,
  type Monitor,
  NameTakenError,
  type Pid,
  type Signal,
  type SpawnOptions,
  Stop,
  System,
  stop,
} from "signalbox";
import { reasonOf, wordOf } from "./reasons.js";
import type { LinkOp, Seen } from "./trace.js";

/** The two kinds of process that a scenario can be carried out by; OTP has one, and both have to act like it. */
export type ProcessKind = "bodies" | "callbacks";

interface Note {
  readonly type: "note";
  readonly from: string;
  readonly number: number;
}

/** A process of a scenario is told what to do by the function that does it. */
type Act = (ctx: Context<Mail>) => Stop | undefined;
type Mail = Act | Note;

/** Where the processes of a scenario are. */
export interface Ground {
  readonly systems: readonly System[];
  /** The system of a process, by the process's name. */
  systemOf(name: string): System;
  /** Resolves when nothing moves. */
  idle(): Promise<void>;
}

function oneSystem(): Ground {
  const system = new System({ name: "links", report: false });
  return { systems: [system], systemOf: () => system, idle: () => system.idle() };
}

/** One run of a links scenario, all of it on one system unless `ground` says otherwise. */
export class LinksRun {
  private readonly ground: Ground;
  private readonly kind: ProcessKind;
  private readonly pids = new Map<string, Pid<Mail>>();
  /** The name behind each pid. On another node the pid of a process is another object, so that its text is the key. */
  private readonly names = new Map<string, string>();
  private readonly refs = new Map<string, { readonly owner: string; readonly monitor: Monitor }>();
  private readonly refNames = new Map<Monitor, string>();
  private received = new Map<string, unknown[][]>();
  private died = new Map<string, string>();

  constructor(kind: ProcessKind, ground: Ground = oneSystem()) {
    this.kind = kind;
    this.ground = ground;
    for (const system of ground.systems) {
      system.events.on("exit", ({ pid, reason }) => {
        const name = this.names.get(keyOf(pid));
        if (name !== undefined) this.died.set(name, wordOf(reason));
      });
    }
  }

  async step(op: LinkOp): Promise<Seen> {
    const result = await this.perform(op);
    await this.ground.idle();
    return { result, ...this.collect() };
  }

  /** What was seen since the last time, and who is alive. */
  collect(): Seen {
    const { received, died } = this;
    this.received = new Map();
    this.died = new Map();
    const alive = [...this.pids.keys()].filter((name) => this.isAlive(name));
    return {
      received: Object.fromEntries([...received].filter(([name]) => !died.has(name))),
      died: Object.fromEntries(died),
      alive: alive.sort(),
    };
  }

  /** A stop asks first, and processes that trap exits and do nothing else would let it wait. */
  async close(): Promise<void> {
    for (const [name, pid] of this.pids) this.ground.systemOf(name).exit(pid, "kill");
    for (const system of this.ground.systems) await system.stop();
  }

  /** Has the acting process carry out one operation, and waits until it has. */
  async perform(op: LinkOp): Promise<string> {
    switch (op[0]) {
      case "spawn": {
        const [, name, trap] = op;
        if (this.pids.has(name)) return "skipped";
        this.enter(name, this.ground.systemOf(name).spawn(...this.processFor(name, trap)));
        return "ok";
      }
      case "spawn_link": {
        const [, actor, name, trap] = op;
        if (this.pids.has(name)) return "skipped";
        return this.by(actor, (ctx) => {
          this.enter(name, this.spawnLinked(ctx, name, trap));
        });
      }
      case "link":
        return this.between(op[1], op[2], (ctx, other) => ctx.link(other));
      case "unlink":
        return this.between(op[1], op[2], (ctx, other) => ctx.unlink(other));
      case "monitor": {
        const [, actor, name, ref] = op;
        if (this.refs.has(ref)) return "skipped";
        return this.between(actor, name, (ctx, other) => {
          const monitor = ctx.monitor(other);
          this.refs.set(ref, { owner: actor, monitor });
          this.refNames.set(monitor, ref);
        });
      }
      case "demonitor": {
        const [, actor, ref, flush] = op;
        const held = this.refs.get(ref);
        if (held?.owner !== actor) return "skipped";
        return this.by(actor, (ctx) => ctx.demonitor(held.monitor, { flush }));
      }
      case "exit_signal": {
        const reason = reasonOf(op[3]);
        return this.between(op[1], op[2], (ctx, other) => ctx.exit(other, reason));
      }
      case "die": {
        const reason = reasonOf(op[2]);
        return this.by(op[1], (ctx) => ctx.exit(reason));
      }
      case "crash":
        return this.by(op[1], () => {
          throw new Error(op[2]);
        });
      case "return":
        return this.by(op[1], () => stop());
      case "trap":
        return this.by(op[1], (ctx) => {
          ctx.trapExit(op[2]);
        });
      case "send": {
        const note: Note = { type: "note", from: op[1], number: op[3] };
        return this.between(op[1], op[2], (ctx, other) => ctx.send(other, note));
      }
      case "burst": {
        const [, actor, name, count, word] = op;
        return this.between(actor, name, (ctx, other) => {
          for (let number = 1; number <= count; number++)
            ctx.send(other, { type: "note", from: actor, number });
          ctx.exit(other, reasonOf(word));
        });
      }
      case "register":
        return this.register(op[1], op[2]);
      case "whereis": {
        const [holder] = this.ground.systems.flatMap((system) => system.whereis(op[1]) ?? []);
        return (holder && this.names.get(keyOf(holder))) ?? "undefined";
      }
    }
  }

  private async register(actor: string, name: string): Promise<string> {
    let taken = false;
    const result = await this.by(actor, (ctx) => {
      try {
        ctx.register(name);
      } catch (error) {
        if (!(error instanceof NameTakenError)) throw error;
        taken = true;
      }
    });
    return taken ? "taken" : result;
  }

  /** Has `actor` do something, and waits until nothing moves. `ok` only if it came to do it. */
  private async by(actor: string, act: (ctx: Context<Mail>) => unknown): Promise<string> {
    const pid = this.pids.get(actor);
    if (pid === undefined || !this.isAlive(actor)) return "skipped";
    let result = "never done";
    this.ground.systemOf(actor).send(pid, (ctx) => {
      result = "ok";
      const end = act(ctx);
      return end instanceof Stop ? end : undefined;
    });
    await this.ground.idle();
    return result;
  }

  private async between(
    actor: string,
    name: string,
    act: (ctx: Context<Mail>, other: Pid<Mail>) => void,
  ): Promise<string> {
    const pid = this.pids.get(name);
    if (pid === undefined) return "skipped";
    const [here, there] = [this.ground.systemOf(actor), this.ground.systemOf(name)];
    const other = here === there ? pid : here.pidAt(there.address(pid));
    return this.by(actor, (ctx) => act(ctx, other));
  }

  private isAlive(name: string): boolean {
    const pid = this.pids.get(name);
    return pid !== undefined && this.ground.systemOf(name).isAlive(pid);
  }

  private enter(name: string, pid: Pid<Mail>): void {
    this.pids.set(name, pid);
    this.names.set(keyOf(pid), name);
  }

  /**
   * Callbacks follow gen_server's rule for an EXIT of their parent, and a trace's processes are plain ones: so theirs
   * is not the one they are linked to. Nothing of them has run yet, so that link is as good as an atomic one.
   */
  private spawnLinked(ctx: Context<Mail>, name: string, trap: boolean): Pid<Mail> {
    const [behaviour, options] = this.processFor(name, trap);
    if (this.kind === "bodies") return ctx.spawnLink(behaviour, options);
    const pid = this.ground.systemOf(name).spawn(behaviour, options);
    ctx.link(pid);
    return pid;
  }

  private processFor(name: string, trapExit: boolean): [Behaviour<Mail>, SpawnOptions] {
    const options = { label: name, trapExit };
    if (this.kind === "bodies") return [this.body(name), options];
    return [
      {
        handle: (ctx, mail) => (typeof mail === "function" ? mail(ctx) : this.note(name, mail)),
        signal: (_ctx, signal) => this.note(name, signal),
      },
      options,
    ];
  }

  private body(name: string): Behaviour<Mail> {
    return async (ctx) => {
      for (;;) {
        const entry = await ctx.receiveAny();
        if (typeof entry !== "function") this.note(name, entry);
        else if (entry(ctx) instanceof Stop) return;
      }
    };
  }

  private note(name: string, entry: Note | Signal): void {
    const all = this.received.get(name) ?? [];
    this.received.set(name, all);
    all.push(this.describe(entry));
  }

  private describe(entry: Note | Signal): unknown[] {
    switch (entry.type) {
      case "note":
        return ["msg", entry.from, entry.number];
      case "exit":
        return ["EXIT", this.names.get(keyOf(entry.from)) ?? String(entry.from), wordOf(entry.reason)];
      case "down":
        return ["DOWN", this.refNames.get(entry.ref) ?? "unknown", wordOf(entry.reason)];
      case "group":
        return [entry.type, entry.group];
    }
  }
}

function keyOf({ node, id }: Pid): string {
  return `${node.id}.${id}`;
}
