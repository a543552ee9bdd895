// Trees of supervisors whose children obey commands, and the history of each supervisor and its children.

import {
  type BodyContext,
  type Callbacks,
  type ChildSpec,
  type Context,
  custom,
  type ExitReason,
  type Pid,
  type ReplyTo,
  type Signal,
  type Stop,
  type SupervisorDefinition,
  type System,
  shutdown,
  stop,
  supervisor,
} from "signalbox";
import { InjectedCrash, type Simulation } from "signalbox/testing";
import { type Act, type Charter, judgeSupervisor, type Rule } from "./support-supervision.js";

export interface Leaf {
  readonly id: string;
  readonly restart: Rule;
  /** How it starts and stops: at once, or taking its time with one of them. */
  readonly kind: "prompt" | "slow to start" | "slow to stop";
}

export interface Branch {
  readonly id: string;
  readonly restart: Rule;
  readonly strategy: Charter["strategy"];
  readonly intensity: number;
  readonly periodMs: number;
  readonly children: readonly (Leaf | Branch)[];
}

/** The commands of a leaf: end with a unique reason, or in one of the two orderly ways. */
export type Command = "fail" | "leave" | "retire";

export const COMMANDS: readonly [Command, ...Command[]] = ["fail", "fail", "leave", "retire"];

/** The end of a leaf that obeys. Each failure has a unique reason, and no end looks like one that a supervisor asked for. */
export function obey(command: Command, failures: number): Stop {
  if (command === "leave") return stop();
  return stop(command === "retire" ? shutdown("retired") : custom(`failure ${failures}`));
}

/** How long a slow child takes to start or to stop. */
const SLOW_MS = 10;

/** A fault that gives its victim no time to clean up, and is no kill: those are for children that do not stop. */
export const STRUCK: ExitReason = custom("struck");

/** A child with a rule and a pace that are drawn. */
export function drawLeaf(
  sim: Simulation,
  id: string,
  kinds: readonly [Leaf["kind"], ...Leaf["kind"][]],
): Leaf {
  const restart = sim.oneOf<Rule>(["permanent", "permanent", "transient", "temporary"], "rule");
  return { id, restart, kind: sim.oneOf(kinds, "kind") };
}

/** What a supervisor goes by, drawn. */
export function drawCharter(sim: Simulation): Pick<Branch, "strategy" | "intensity" | "periodMs"> {
  return {
    strategy: sim.oneOf<Branch["strategy"]>(["one_for_all", "rest_for_one", "one_for_one"], "strategy"),
    intensity: sim.oneOf([20, 1, 2], "intensity"),
    periodMs: 1_000,
  };
}

interface Life {
  readonly charter: Charter;
  readonly acts: Act[];
  readonly parent: Life | undefined;
  readonly id: string;
  gaveUp: boolean;
  ended: string | undefined;
}

type Unstamped<A> = A extends unknown ? Omit<A, "step"> : never;

export class Chronicle {
  readonly lives: Life[] = [];
  private readonly byPid = new Map<Pid, Life>();
  /** Whose child a process is. */
  private readonly above = new Map<Pid, Life>();
  /** Supervisors that are not up yet, and whose children they are. */
  private readonly booting = new Map<Pid, Life>();
  private readonly definitions = new Map<string, Branch>();
  private readonly reasons = new Map<unknown, string>();
  private readonly nested: boolean;
  private readonly named: boolean;
  private readonly mute: Pid<unknown>;
  private step = 0;
  private failures = 0;

  /**
   * @param nested - what starts the root may end it at any time
   * @param named - children are registered under their ids
   */
  constructor(
    sim: Simulation,
    system: System,
    { nested = false, named = false }: { readonly nested?: boolean; readonly named?: boolean } = {},
  ) {
    this.nested = nested;
    this.named = named;
    this.mute = system.spawn<unknown>({ handle: () => undefined }, { label: "mute" });
    sim.monitor.always("steps are counted", () => {
      this.step++;
      if (this.booting.size > 0) this.lookForUp();
    });
    const { events } = system;
    events.on("spawn", ({ pid, parent }) => {
      const above = parent === undefined ? undefined : this.byPid.get(parent);
      const id = pid.label ?? "";
      if (above !== undefined) {
        this.above.set(pid, above);
        this.note(above, { act: "start", id });
      }
      const branch = this.definitions.get(id);
      if (branch !== undefined) this.open(pid, branch, above);
    });
    events.on("exit", ({ pid, reason }) => this.ended(pid, reason));
    events.on("restart", ({ supervisor, id, reason, siblings, intensityLeft, gaveUp }) => {
      const life = this.byPid.get(supervisor) as Life;
      if (gaveUp) life.gaveUp = true;
      const left = intensityLeft;
      this.note(life, { act: "restart", id, reason: this.text(reason), siblings, left, gaveUp, at: sim.now });
    });
  }

  define(branch: Branch): SupervisorDefinition {
    this.definitions.set(branch.id, branch);
    const { id, strategy, intensity, periodMs } = branch;
    return supervisor({
      label: id,
      strategy,
      intensity,
      periodMs: periodMs,
      children: branch.children.map((child) => this.child(child)),
    });
  }

  /** The supervisor is about to get an order to shut down. */
  asked(pid: Pid): void {
    const life = this.byPid.get(pid);
    if (life !== undefined) this.note(life, { act: "asked" });
  }

  /** Judges every supervisor there was, at the end. */
  judge(sim: Simulation, inOrder: boolean): string | undefined {
    const unheardOf = [...this.reasons.values()].find((text) => text.startsWith("crash"));
    if (unheardOf !== undefined) return `nobody was to end of this: ${unheardOf}`;
    for (const { charter, acts, id } of this.lives) {
      const { complaint, states } = judgeSupervisor(charter, acts, inOrder, true);
      for (const state of states) sim.sometimes(state);
      if (complaint !== undefined) return `${id}: ${complaint}`;
    }
    return undefined;
  }

  private child(node: Leaf | Branch): ChildSpec {
    const { id, restart } = node;
    return {
      id,
      restart,
      ...(this.named ? { name: id } : {}),
      start: "children" in node ? this.define(node) : this.leaf(node),
    };
  }

  private leaf({ kind }: Leaf): ChildSpec["start"] {
    if (kind === "slow to stop") {
      return async (ctx: BodyContext<never>) => {
        ctx.trapExit(true);
        this.up(ctx);
        const entry: Command | Signal = await ctx.receiveAny();
        if (typeof entry === "string") return obey(entry, ++this.failures);
        await ctx.receive({ timeoutMs: SLOW_MS }).catch(() => undefined);
        return stop(entry.type === "exit" ? entry.reason : "normal");
      };
    }
    const callbacks: Callbacks<Command> = {
      init: (ctx) => {
        if (kind === "prompt") return this.up(ctx);
        const patience = { timeoutMs: SLOW_MS };
        return ctx
          .call(this.mute, (replyTo: ReplyTo<never>) => replyTo, patience)
          .catch(() => undefined)
          .then(() => this.up(ctx));
      },
      handle: (_ctx, command) => obey(command, ++this.failures),
    };
    return callbacks;
  }

  private up(ctx: Context<never>): void {
    const life = this.byPid.get(ctx.parent as Pid);
    if (life !== undefined && ctx.alive) this.note(life, { act: "up", id: ctx.self.label ?? "" });
  }

  /** A supervisor is up when it has said so to the one above it: no code of a test is called then. */
  private lookForUp(): void {
    for (const [pid, above] of this.booting) {
      const { process } = pid;
      if (process !== undefined && process.rare?.onStart !== undefined) continue;
      this.booting.delete(pid);
      if (process !== undefined) this.note(above, { act: "up", id: pid.label ?? "" });
    }
  }

  private open(pid: Pid, branch: Branch, parent: Life | undefined): void {
    const { id, strategy, intensity, periodMs, children } = branch;
    const nested = parent !== undefined || this.nested;
    const charter: Charter = { strategy, intensity, periodMs, nested, children };
    const life: Life = { charter, acts: [], parent, id, gaveUp: false, ended: undefined };
    if (parent !== undefined) this.booting.set(pid, parent);
    this.lives.push(life);
    this.byPid.set(pid, life);
  }

  private ended(pid: Pid, reason: ExitReason): void {
    const text = this.text(reason);
    const life = this.byPid.get(pid);
    if (life !== undefined) {
      life.ended = text;
      const struck = isFault(text) && life.parent?.ended !== text;
      this.note(life, { act: "over", reason: text, struck });
    }
    const above = this.above.get(pid);
    if (above === undefined) return;
    const told = text === "shutdown" || (life === undefined && text === "killed");
    const own = !told || life?.gaveUp === true;
    this.note(above, { act: "end", id: pid.label ?? "", reason: text, own });
  }

  private note(life: Life, act: Unstamped<Act>): void {
    life.acts.push({ ...act, step: this.step } as Act);
  }

  /** The same reason has the same text, another one has another. */
  private text(reason: ExitReason): string {
    const known = this.reasons.get(reason);
    if (known !== undefined) return known;
    const number = this.reasons.size + 1;
    const text = textOf(reason, number);
    this.reasons.set(reason, text);
    return text;
  }
}

/** A reason in words, with a number for reasons that differ only in what they carry. */
export function textOf(reason: ExitReason, number: number): string {
  switch (reason.type) {
    case "custom":
      return String(reason.value);
    case "crash":
      return reason.error instanceof InjectedCrash
        ? `fault ${number}`
        : `crash ${number} ${reason.error.message}`;
    case "shutdown":
      return reason.detail === undefined ? "shutdown" : `shutdown ${number}`;
    default:
      return reason.type;
  }
}

function isFault(text: string): boolean {
  return /^(?:fault|struck|killed)/.test(text);
}
