// The process of a supervisor: it turns messages and signals into events of supervisor-machine.ts, and performs the effects.
// It decides nothing.

import { type Callbacks, deferStart, type Stop, stop } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import { EffectLoop } from "../process/effect-loop.js";
import type { Signal } from "../process/entries.js";
import { OptionError } from "../process/errors.js";
import type { Monitor } from "../process/monitor.js";
import type { TimerRef } from "../process/owned-timer.js";
import type { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import { crash, isOrderly } from "../process/reason.js";
import type { ReplyTo } from "../process/request.js";
import { supervising } from "../process/start.js";
import { checkChild, type FullChildSpec } from "./child.js";
import { abortStart, type ChildStartOutcome, hasStarted, killAfter, launchChild } from "./child-process.js";
import type { Answer, Ask, Effect, Event, Restarting } from "./protocol.js";
import type { ChildInfo, SupervisorMessage, SupervisorState } from "./ref.js";
import { RestartReports } from "./report.js";
import { countRecent } from "./restart-rule.js";
import type { Child } from "./roster.js";
import { countOf, statusOf } from "./status.js";
import { type Config, decide, initial, type State } from "./supervisor-machine.js";

type Message =
  | SupervisorMessage
  | ChildStartOutcome
  | { readonly type: "retry" | "resume"; readonly id: string };

/** The behaviour to spawn for a supervisor. */
export function supervisorBehaviour(
  config: Config,
  specs: readonly FullChildSpec[],
  quiet: boolean,
  onStart: ((ctx: Context<never>) => void) | undefined,
): Callbacks<Message> & { readonly [supervising]: true } {
  let supervisor: SupervisorProcess;
  return {
    [supervising]: true,
    init: (ctx) => {
      onStart?.(ctx as Context<never>);
      supervisor = new SupervisorProcess(ctx, initial(config, specs), quiet);
      return supervisor.dispatch({ type: "boot", at: ctx.now() }) ?? deferStart;
    },
    handle: (_ctx, message) => supervisor.receive(message),
    signal: (_ctx, signal) => supervisor.onSignal(signal),
    parentExit: (_ctx, reason) => supervisor.dispatch({ type: "close", reason }),
    inspected: () => ({
      kind: "supervisor",
      state: () => supervisor.shown,
      machine: () => supervisor.machine,
    }),
  };
}

/** Holds the machine's state, and the records of the effects in progress. */
class SupervisorProcess {
  readonly #loop: EffectLoop<State<Pid>, Event<Pid>, Effect<Pid>>;
  /** The end of the supervisor, once the machine has decided on it. */
  #end: Stop | undefined;
  readonly #reports: RestartReports<Message>;
  readonly #ctx: Context<Message>;
  readonly #stopping = new Map<Monitor, { readonly id: string; readonly timer: TimerRef | undefined }>();
  readonly #asking = new Map<number, ReplyTo<Answer<Pid>>>();
  #starting: { readonly id: string; readonly pid: Pid } | undefined;
  #lastToken = 0;

  constructor(ctx: Context<Message>, state: State<Pid>, quiet: boolean) {
    this.#ctx = ctx;
    const { kernel } = ctx.self.process as Process;
    this.#reports = new RestartReports(ctx, state.config, quiet);
    this.#loop = new EffectLoop<State<Pid>, Event<Pid>, Effect<Pid>>(
      state,
      (before, event) => {
        const decided = decide(before, event, ctx.now());
        kernel.witness?.decided(ctx.self, before, decided[0], event);
        return decided;
      },
      (effect) => this.#perform(effect),
    );
    kernel.witness?.supervises(ctx.self, state);
  }

  /** Lets the machine decide, and does what it says. Gives the end of the supervisor, when that is what it says. */
  dispatch(event: Event<Pid>): Stop | undefined {
    this.#loop.dispatch(event);
    return this.#end;
  }

  get #state(): State<Pid> {
    return this.#loop.state;
  }

  /** The state, as a witness sees it. */
  get machine(): State<Pid> {
    return this.#state;
  }

  /** The state, as inspectors see it. */
  get shown(): SupervisorState {
    const { config, restarts, closing } = this.#state;
    const { strategy, intensity, periodMs } = config;
    const recent = countRecent(restarts, periodMs, this.#ctx.now());
    return { strategy, intensity, periodMs, restarts: recent, closing, children: this.#infos(undefined) };
  }

  receive(message: Message): Stop | undefined {
    const ctx = this.#ctx;
    switch (message.type) {
      case "outcome": {
        const { id, outcome } = message;
        if (outcome.type === "ignored") return this.dispatch({ type: "ignored", id });
        if (outcome.type === "failed") return this.dispatch({ type: "failed", id, reason: outcome.reason });
        const pid = this.#starting?.pid;
        return pid === undefined ? undefined : this.dispatch({ type: "started", id, pid, at: ctx.now() });
      }
      case "retry":
        return this.dispatch({ type: "retry", id: message.id, at: ctx.now(), roll: ctx.random() });
      case "resume":
        return this.dispatch({ type: "resume", id: message.id, at: ctx.now() });
      case "add":
        try {
          const spec = checkChild("child", message.spec, this.#state.config.autoShutdown, true);
          return this.#ask({ ask: "add", spec }, message.replyTo);
        } catch (error) {
          ctx.refuse(message.replyTo, error as Error);
          return undefined;
        }
      case "add-like":
        ctx.refuse(
          message.replyTo,
          new OptionError("startLike", message.args, "asked of a dynamic supervisor; use startChild"),
        );
        return undefined;
      case "which":
        ctx.reply(message.replyTo, this.#infos(message.id));
        return undefined;
      case "count":
        ctx.reply(
          message.replyTo,
          countOf([...this.#state.children].map(({ spec, pid }) => ({ type: spec.type, pid }))),
        );
        return undefined;
      case "status":
        ctx.reply(message.replyTo, statusOf(this.#state, ctx.now()));
        return undefined;
      default:
        return this.#ask({ ask: message.type, id: String(message.id) }, message.replyTo);
    }
  }

  onSignal(signal: Signal): Stop | undefined {
    if (signal.type === "down") {
      const stopped = this.#stopping.get(signal.ref);
      if (stopped === undefined) return undefined;
      this.#stopping.delete(signal.ref);
      if (stopped.timer !== undefined) this.#ctx.cancel(stopped.timer);
      return this.dispatch({ type: "stopped", id: stopped.id });
    }
    if (signal.type !== "exit") return undefined;
    const { from: pid, reason } = signal;
    const child = isOrderly(reason) ? undefined : this.#state.children.byPid(pid);
    // A child that this supervisor is stopping ends on purpose, so its end is not reported.
    if (child?.spec.restart === "temporary" && this.#state.closing === undefined) {
      const { id } = child.spec;
      if (![...this.#stopping.values()].some((stopped) => stopped.id === id)) this.#reports.leave(id, reason);
    }
    return this.dispatch({ type: "exited", pid, reason, at: this.#ctx.now(), roll: this.#ctx.random() });
  }

  /** The last started first; only the child of that id, when one is asked for. */
  #listed(id: string | undefined): readonly Child<Pid>[] {
    const { children } = this.#state;
    if (id === undefined) return [...children].reverse();
    const child = children.get(id);
    return child === undefined ? [] : [child];
  }

  #infos(id: string | undefined): ChildInfo[] {
    return this.#listed(id).map(({ spec, pid, status }) => ({
      id: spec.id,
      pid: pid as Pid<unknown> | undefined,
      status,
      type: spec.type,
    }));
  }

  #ask(request: Ask, replyTo: ReplyTo<Answer<Pid>>): Stop | undefined {
    const token = ++this.#lastToken;
    this.#asking.set(token, replyTo);
    return this.dispatch({ type: "asked", token, request });
  }

  #perform(effect: Effect<Pid>): void {
    const ctx = this.#ctx;
    switch (effect.type) {
      case "start":
        this.#start(effect.spec);
        return;
      case "abort-start":
        // One that is up already is stopped in its turn, when the news of that have come.
        if (this.#starting?.id === effect.spec.id && !hasStarted(this.#starting.pid))
          abortStart(ctx, this.#starting.pid, effect.spec);
        return;
      case "stop": {
        const ref = ctx.monitor(effect.pid);
        const timer = killAfter(ctx, effect.pid, effect.spec.hurry?.() ? 0 : effect.spec.shutdown);
        this.#stopping.set(ref, { id: effect.id, timer });
        return;
      }
      case "retry":
        ctx.send(ctx.self, { type: "retry", id: effect.id });
        return;
      case "resume-after":
        ctx.sendAfter(ctx.self, { type: "resume", id: effect.id }, effect.delayMs);
        return;
      case "answer": {
        const replyTo = this.#asking.get(effect.token);
        this.#asking.delete(effect.token);
        if (replyTo !== undefined) ctx.reply(replyTo, effect.answer);
        return;
      }
      case "up":
        ctx.started();
        return;
      case "report":
        this.#report(effect.restart);
        return;
      case "exit":
        this.#end = stop(effect.reason);
        return;
      default:
        effect satisfies never;
    }
  }

  #report(restart: Restarting): void {
    this.#reports.restart(restart, restart.id, this.#state.children.get(restart.id)?.spec);
  }

  #start(spec: FullChildSpec): void {
    this.#starting = undefined;
    try {
      this.#starting = { id: spec.id, pid: launchChild(this.#ctx, spec, spec.args) };
    } catch (error) {
      this.#ctx.send(this.#ctx.self, {
        type: "outcome",
        id: spec.id,
        outcome: { type: "failed", reason: crash(error) },
      });
    }
  }
}
