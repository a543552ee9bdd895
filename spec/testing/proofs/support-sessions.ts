// A dynamic supervisor whose children obey commands, and the history of both.

import {
  CalleeExitedError,
  ChildError,
  type Context,
  type DynamicSupervisorRef,
  defineServer,
  dynamicSupervisor,
  type ExitReason,
  type Pid,
  type ReplyTo,
  type Startable,
  type System,
} from "signalbox";
import type { Simulation } from "signalbox/testing";
import { type DynamicAct, type DynamicCharter, judgeDynamic } from "./support-dynamic.js";
import { type Command, obey, textOf } from "./support-tree.js";

export interface SessionPlan extends DynamicCharter {
  readonly kind: "prompt" | "slow to start" | "slow to stop";
}

const SLOW_MS = 10;

type Unstamped<A> = A extends unknown ? Omit<A, "step"> : never;

/** Of sessions that are started with a number each. */
type Ref = DynamicSupervisorRef<readonly [number], { readonly pid: Pid<never> }>;

export class Sessions {
  readonly acts: DynamicAct[] = [];
  /** The processes that answered. */
  readonly up: Pid<unknown>[] = [];
  private readonly sim: Simulation;
  private readonly system: System;
  private readonly plan: SessionPlan;
  private readonly mute: Pid<unknown>;
  private readonly numbers = new Map<Pid, number>();
  private readonly sessions = new Map<Pid, number>();
  private readonly reasons = new Map<ExitReason, string>();
  private readonly requests: Promise<void>[] = [];
  private ref: Ref | undefined = undefined;
  private step = 0;
  private failures = 0;
  private wanted = 0;

  constructor(sim: Simulation, system: System, plan: SessionPlan) {
    this.sim = sim;
    this.system = system;
    this.plan = plan;
    this.mute = system.spawn<unknown>({ handle: () => undefined }, { label: "mute" });
    sim.monitor.always("steps are counted", () => {
      this.step++;
    });
    const { events } = system;
    events.on("spawn", ({ pid }) => {
      if (pid.label !== "session") return;
      this.numbers.set(pid, this.numbers.size);
      this.note({ act: "start", process: this.numbers.size - 1 });
    });
    events.on("exit", ({ pid, reason }) => this.ended(pid, reason));
    events.on("restart", ({ reason, intensityLeft, gaveUp }) => {
      this.note({ act: "restart", reason: this.text(reason), left: intensityLeft, gaveUp, at: sim.now });
    });
  }

  async begin(): Promise<void> {
    const { restart, intensity, periodMs, maxChildren } = this.plan;
    const definition = dynamicSupervisor({
      label: "sessions",
      child: { id: "session", restart, start: this.definition() },
      intensity,
      periodMs: periodMs,
      maxChildren,
    });
    this.ref = await this.system.start(definition);
  }

  /** Asks for one more session. */
  want(): void {
    const session = ++this.wanted;
    this.note({ act: "wanted", session });
    const answered = (pid: Pid<unknown> | undefined, problem: string | undefined): void => {
      const process = pid === undefined ? undefined : this.numbers.get(pid);
      if (pid !== undefined) this.up.push(pid);
      this.note({ act: "answered", session, process, problem });
    };
    this.requests.push(
      (this.ref as Ref).startLike([session]).then(
        (handle) => answered(handle?.pid as Pid<unknown> | undefined, undefined),
        (error) => answered(undefined, problemOf(error)),
      ),
    );
  }

  tell(pid: Pid<unknown>, command: Command): void {
    this.system.send(pid, command);
  }

  dismiss(pid: Pid<unknown>): void {
    const session = this.sessions.get(pid) as number;
    this.note({ act: "dismissed", session });
    this.requests.push(
      (this.ref as Ref).terminateChild(pid).then(
        () => this.note({ act: "is gone", session, found: true }),
        (error) => {
          if (problemOf(error) === "not_found") this.note({ act: "is gone", session, found: false });
        },
      ),
    );
  }

  shutdown(): void {
    this.note({ act: "asked" });
    this.system.exit((this.ref as Ref).pid, "shutdown");
  }

  /** Every request is answered, one way or another. */
  async answers(): Promise<void> {
    await Promise.all(this.requests);
  }

  judge(): string | undefined {
    const unheardOf = [...this.reasons.values()].find((text) => text.startsWith("crash"));
    if (unheardOf !== undefined) return `nobody was to end of this: ${unheardOf}`;
    const { complaint, states } = judgeDynamic(this.plan, this.acts);
    for (const state of states) this.sim.sometimes(state);
    return complaint;
  }

  private definition(): Startable<[number], { readonly pid: Pid<never> }> {
    const { kind } = this.plan;
    return defineServer({
      init: async (ctx, session: number) => {
        if (kind === "slow to start") await this.dawdle(ctx);
        if (ctx.alive) {
          this.sessions.set(ctx.self, session);
          this.note({ act: "up", process: this.numbers.get(ctx.self) as number, session });
        }
        return { ctx };
      },
      info: (_state, message) => obey(message as Command, ++this.failures),
      trapExit: kind === "slow to stop",
      terminate: async ({ ctx }) => {
        if (kind === "slow to stop") await this.dawdle(ctx);
      },
    });
  }

  /** Waits for an answer that never comes. */
  private dawdle(ctx: Context<never>): Promise<unknown> {
    return ctx
      .call(this.mute, (replyTo: ReplyTo<never>) => replyTo, { timeoutMs: SLOW_MS })
      .catch(() => undefined);
  }

  private ended(pid: Pid, reason: ExitReason): void {
    const text = this.text(reason);
    const process = this.numbers.get(pid);
    if (process !== undefined)
      this.note({ act: "end", process, reason: text, own: text !== "shutdown" && text !== "killed" });
    else if (pid.label === "sessions")
      this.note({ act: "over", reason: text, struck: /^(?:fault|killed)/.test(text) });
  }

  private note(act: Unstamped<DynamicAct>): void {
    this.acts.push({ ...act, step: this.step } as DynamicAct);
  }

  private text(reason: ExitReason): string {
    const known = this.reasons.get(reason) ?? textOf(reason, this.reasons.size + 1);
    this.reasons.set(reason, known);
    return known;
  }
}

function problemOf(error: unknown): string {
  if (error instanceof ChildError) return error.problem;
  if (error instanceof CalleeExitedError) return "exited";
  throw error;
}
