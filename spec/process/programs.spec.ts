// Random programs of processes that link, monitor, trap and die, against a plain interpreter of OTP's rules.

import fc from "fast-check";
import {
  type Context,
  custom,
  type ExitReason,
  formatReason,
  type Monitor,
  type Pid,
  type Signal,
  type SpawnOptions,
  System,
} from "signalbox";
import { describe, expect, it } from "vitest";
import { proving } from "../support/proof.js";
import { endings, type Order } from "../support/puppet.js";

type Word = "normal" | "shutdown" | "kill" | "a" | "b";

/** One operation of the process whose step it is; numbers name processes in the order of their spawning. */
type Op =
  | { readonly op: "spawn" | "spawnLink" | "spawnMonitor"; readonly trap: boolean }
  | { readonly op: "link" | "monitor"; readonly to: number }
  | { readonly op: "unlink"; readonly to: number; readonly flush: boolean }
  | { readonly op: "demonitor"; readonly nth: number; readonly flush: boolean }
  | { readonly op: "exit"; readonly to: number; readonly reason: Word }
  | { readonly op: "die"; readonly reason: Word }
  | { readonly op: "trap"; readonly flag: boolean };

interface Step {
  readonly actor: number;
  readonly ops: readonly Op[];
}

/** What a program comes to: why each process ended, or which signals it met, in whatever order. */
type Outcome = readonly { readonly end: string | undefined; readonly met: readonly string[] }[];

const FIRST = 4;
const MOST = 8;

function reasonOf(word: Word): ExitReason {
  return word === "a" || word === "b" ? custom(word) : { type: word };
}

/** The rules of OTP, one after the other, over plain records. Nothing of the library is in it. */
class Model {
  readonly all: {
    alive: boolean;
    trap: boolean;
    end: string | undefined;
    readonly met: string[];
    queue: { readonly text: string; readonly kind: "exit" | "down"; readonly id: number }[];
  }[] = [];
  private links: [number, number][] = [];
  private monitors: { readonly id: number; readonly by: number; readonly of: number; active: boolean }[] = [];

  spawn(trap: boolean): number {
    this.all.push({ alive: true, trap, end: undefined, met: [], queue: [] });
    return this.all.length - 1;
  }

  run({ actor, ops }: Step): void {
    for (const op of ops) {
      if (!this.all[actor]?.alive) break;
      this.perform(actor, op);
    }
    for (const process of this.all) {
      if (process.alive) process.met.push(...process.queue.map((entry) => entry.text));
      process.queue = [];
    }
  }

  private perform(me: number, op: Op): void {
    const self = this.all[me] as Model["all"][number];
    switch (op.op) {
      case "spawn":
      case "spawnLink":
      case "spawnMonitor": {
        if (this.all.length === MOST) return;
        const child = this.spawn(op.trap);
        if (op.op === "spawnLink") this.links.push([me, child]);
        if (op.op === "spawnMonitor") this.watch(me, child);
        return;
      }
      case "link": {
        const to = op.to % this.all.length;
        if (to === me || this.linked(me, to)) return;
        if (this.all[to]?.alive) this.links.push([me, to]);
        else if (self.trap) self.queue.push({ text: `EXIT ${to} noproc`, kind: "exit", id: to });
        else this.die(me, "noproc");
        return;
      }
      case "unlink": {
        const to = op.to % this.all.length;
        this.links = this.links.filter(([a, b]) => !((a === me && b === to) || (a === to && b === me)));
        if (op.flush) this.flush(me, "exit", to);
        return;
      }
      case "monitor":
        this.watch(me, op.to % this.all.length);
        return;
      case "demonitor": {
        const mine = this.monitors.filter((monitor) => monitor.by === me);
        const monitor = mine[op.nth % Math.max(1, mine.length)];
        if (monitor === undefined) return;
        monitor.active = false;
        if (op.flush) this.flush(me, "down", monitor.id);
        return;
      }
      case "exit":
        this.exit(me, op.to % this.all.length, op.reason);
        return;
      case "die":
        this.die(me, op.reason);
        return;
      case "trap":
        self.trap = op.flag;
    }
  }

  private exit(from: number, to: number, reason: Word): void {
    const target = this.all[to];
    if (!target?.alive) return;
    if (reason === "kill") this.die(to, "killed");
    else if (target.trap) target.queue.push({ text: `EXIT ${from} ${reason}`, kind: "exit", id: from });
    else if (reason !== "normal" || from === to) this.die(to, reason);
  }

  private die(me: number, reason: string): void {
    const self = this.all[me];
    if (!self?.alive) return;
    self.alive = false;
    self.end = reason;
    for (const monitor of this.monitors) {
      if (monitor.by === me) monitor.active = false;
      if (monitor.of !== me || !monitor.active) continue;
      monitor.active = false;
      this.all[monitor.by]?.queue.push({ text: `DOWN ${me} ${reason}`, kind: "down", id: monitor.id });
    }
    const neighbours = this.links.filter((link) => link.includes(me)).map(([a, b]) => (a === me ? b : a));
    this.links = this.links.filter((link) => !link.includes(me));
    for (const to of neighbours) {
      const other = this.all[to];
      if (other?.trap) other.queue.push({ text: `EXIT ${me} ${reason}`, kind: "exit", id: me });
      else if (reason !== "normal") this.die(to, reason);
    }
  }

  private linked(a: number, b: number): boolean {
    return this.links.some((link) => link.includes(a) && link.includes(b));
  }

  private watch(by: number, of: number): void {
    const id = this.monitors.length;
    const active = this.all[of]?.alive === true;
    this.monitors.push({ id, by, of, active });
    if (!active) this.all[by]?.queue.push({ text: `DOWN ${of} noproc`, kind: "down", id });
  }

  /** The first that fits, as the flush idiom takes it. */
  private flush(me: number, kind: "exit" | "down", id: number): void {
    const self = this.all[me];
    const index = self?.queue.findIndex((entry) => entry.kind === kind && entry.id === id) ?? -1;
    if (index >= 0) self?.queue.splice(index, 1);
  }

  get outcome(): Outcome {
    return this.all.map(({ end, met }) => ({ end, met: end === undefined ? [...met].sort() : [] }));
  }
}

type Kind = "callbacks" | "body";

/** The same program, by real processes. */
async function perform(steps: readonly Step[], kinds: readonly Kind[]): Promise<Outcome> {
  const system = new System({ report: false });
  const ends = endings(system);
  const pids: Pid<Order>[] = [];
  const met: Signal[][] = [];
  const monitors: Monitor[][] = [];

  // Processes spawned on the way are bodies: one made from callbacks would stop at its parent's EXIT, as gen_servers do.
  const birth = (kind: Kind, trap: boolean, begin: typeof system.spawn<Order>): Pid<Order> => {
    const signals: Signal[] = [];
    met.push(signals);
    monitors.push([]);
    const options: SpawnOptions = { trapExit: trap };
    const pid =
      kind === "callbacks"
        ? begin(
            { handle: (ctx, order) => order(ctx), signal: (_ctx, signal) => void signals.push(signal) },
            options,
          )
        : begin(async (ctx) => {
            for (;;) {
              const entry = await ctx.receiveAny();
              if (typeof entry === "function") entry(ctx);
              else signals.push(entry);
            }
          }, options);
    pids.push(pid);
    return pid;
  };

  const act = (ctx: Context<Order>, me: number, op: Op): void => {
    const pid = (n: number): Pid<Order> => pids[n % pids.length] as Pid<Order>;
    switch (op.op) {
      case "spawn":
        if (pids.length < MOST) birth("body", op.trap, (behaviour, options) => ctx.spawn(behaviour, options));
        return;
      case "spawnLink":
        if (pids.length < MOST)
          birth("body", op.trap, (behaviour, options) => ctx.spawnLink(behaviour, options));
        return;
      case "spawnMonitor":
        if (pids.length === MOST) return;
        birth("body", op.trap, (behaviour, options) => {
          const { pid, ref } = ctx.spawnMonitor(behaviour, options);
          monitors[me]?.push(ref);
          return pid;
        });
        return;
      case "link":
        ctx.link(pid(op.to));
        return;
      case "monitor":
        monitors[me]?.push(ctx.monitor(pid(op.to)));
        return;
      case "unlink":
        ctx.unlink(pid(op.to), { flush: op.flush });
        return;
      case "demonitor": {
        const mine = monitors[me] as Monitor[];
        const ref = mine[op.nth % Math.max(1, mine.length)];
        if (ref !== undefined) ctx.demonitor(ref, { flush: op.flush });
        return;
      }
      case "exit":
        ctx.exit(pid(op.to), reasonOf(op.reason));
        return;
      case "die":
        ctx.exit(reasonOf(op.reason));
        break;
      case "trap":
        ctx.trapExit(op.flag);
    }
  };

  for (const kind of kinds) birth(kind, false, (behaviour, options) => system.spawn(behaviour, options));
  await system.idle();
  for (const { actor, ops } of steps) {
    const me = actor % pids.length;
    if (system.isAlive(pids[me] as Pid)) {
      system.send(pids[me] as Pid<Order>, (ctx: Context<Order>) => {
        for (const op of ops) act(ctx, me, op);
      });
    }
    await system.idle();
  }
  const say = (reason: ExitReason): string =>
    reason.type === "custom" ? String(reason.value) : formatReason(reason);
  const number = (pid: Pid): number => pids.indexOf(pid as Pid<Order>);
  const outcome = pids.map((pid, i) => {
    const end = ends.get(pid);
    if (end !== undefined) return { end: say(end), met: [] };
    const signals = (met[i] as Signal[]).map((signal) => {
      if (signal.type === "group") return "a group signal, which nobody asked for";
      const from = signal.type === "exit" ? signal.from : signal.pid;
      return `${signal.type === "exit" ? "EXIT" : "DOWN"} ${number(from)} ${say(signal.reason)}`;
    });
    return { end: undefined, met: signals.sort() };
  });
  for (const pid of pids) system.exit(pid, "kill");
  await system.stop();
  return outcome;
}

const word = fc.constantFrom<Word>("normal", "shutdown", "kill", "a", "b");
const number = fc.nat(MOST - 1);
const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constantFrom("spawn", "spawnLink", "spawnMonitor"), trap: fc.boolean() }),
  },
  { weight: 5, arbitrary: fc.record({ op: fc.constantFrom("link", "monitor"), to: number }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("unlink"), to: number, flush: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant("demonitor"), nth: fc.nat(3), flush: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("exit"), to: number, reason: word }) },
  { weight: 1, arbitrary: fc.record({ op: fc.constant("die"), reason: word }) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant("trap"), flag: fc.boolean() }) },
);
const step: fc.Arbitrary<Step> = fc.record({
  actor: number,
  ops: fc.array(op, { minLength: 1, maxLength: 4 }),
});
const kinds = fc.array(fc.constantFrom<Kind>("callbacks", "body"), { minLength: FIRST, maxLength: FIRST });

describe("random programs of processes", () => {
  it("end by the rules of OTP: which processes live, why the others ended, which signals each received [S9]", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 20 }), kinds, async (steps, made) => {
        const model = new Model();
        for (const _kind of made) model.spawn(false);
        for (const one of steps) model.run({ ...one, actor: one.actor % model.all.length });
        expect(await perform(steps, made)).toEqual(model.outcome);
      }),
      { numRuns: proving ? 400 : 120 },
    );
  });

  it("are compared with a model that knows the rules", () => {
    const model = new Model();
    for (let i = 0; i < FIRST; i++) model.spawn(false);
    model.run({
      actor: 0,
      ops: [
        { op: "trap", flag: true },
        { op: "link", to: 1 },
        { op: "monitor", to: 1 },
      ],
    });
    model.run({
      actor: 1,
      ops: [
        { op: "link", to: 2 },
        { op: "die", reason: "a" },
      ],
    });
    model.run({ actor: 3, ops: [{ op: "exit", to: 0, reason: "kill" }] });
    expect(model.outcome).toEqual([
      { end: "killed", met: [] },
      { end: "a", met: [] },
      { end: "a", met: [] },
      { end: undefined, met: [] },
    ]);
    expect(model.all[0]?.met.sort()).toEqual(["DOWN 1 a", "EXIT 1 a"]);
  });
});
