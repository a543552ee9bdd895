// The process of a dynamic supervisor: it turns messages and signals into events of dynamic-machine.ts, and performs the effects.

import { type Callbacks, type Stop, stop } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import { EffectLoop } from "../process/effect-loop.js";
import { GONE, type Holder, type Signal, type Withdrawable } from "../process/entries.js";
import { OptionError } from "../process/errors.js";
import type { TimerRef } from "../process/owned-timer.js";
import { Pid } from "../process/pid.js";
import type { Process } from "../process/process.js";
import { crash, KILL, SHUTDOWN } from "../process/reason.js";
import type { ReplyTo, Request } from "../process/request.js";
import { supervising } from "../process/start.js";
import { actual, SoleVia } from "../process/via.js";
import type { FullChildSpec } from "./child.js";
import { abortStart, type ChildStartOutcome, killAfter, launchChild } from "./child-process.js";
import { AT_ONCE, decide, holderOf, initial, isRestart, listed } from "./dynamic-machine.js";
import type { DynamicConfig, DynamicEffect, DynamicEvent, DynamicState } from "./dynamic-protocol.js";
import { ChildError } from "./errors.js";
import type { Answer } from "./protocol.js";
import type { ChildInfo, SupervisorMessage, SupervisorState } from "./ref.js";
import { RestartReports } from "./report.js";
import { countRecent } from "./restart-rule.js";
import { countOf, dynamicStatusOf } from "./status.js";

const GO_ON = { type: "go-on" } as const;
const SETTLE = { type: "settle" } as const;

type Message =
  | SupervisorMessage
  | ChildStartOutcome
  | typeof GO_ON
  | typeof SETTLE
  | { readonly type: "retry" | "resume"; readonly id: string };

/** The behaviour to spawn for a dynamic supervisor. */
export function dynamicBehaviour(
  config: DynamicConfig,
  quiet: boolean,
): Callbacks<Message> & { readonly [supervising]: true } {
  let supervisor: DynamicProcess;
  return {
    [supervising]: true,
    init: (ctx) => {
      supervisor = new DynamicProcess(ctx, config, quiet);
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

/** A request for a child that has yet to be answered, and the child that it waits with. */
interface Asked {
  readonly replyTo: ReplyTo<Answer<Pid>>;
  /** Of a request for a child with a name. */
  readonly wanted: Wanted | undefined;
  waitsWith: string | undefined;
}

/** Requests that are to get this answer, or to be asked again. */
interface Due {
  readonly tokens: Iterator<number>;
  readonly answer: Answer<Pid> | undefined;
}

type Wanted = Pick<Extract<SupervisorMessage, { readonly type: "add-like" }>, "args" | "name" | "orGet">;

/** Holds the machine's state, and the records of the effects in progress. */
class DynamicProcess implements Holder {
  readonly #ctx: Context<Message>;
  readonly #process: Process;
  readonly #spec: FullChildSpec;
  readonly #reports: RestartReports<Message>;
  readonly #loop: EffectLoop<DynamicState<Pid>, DynamicEvent<Pid>, DynamicEffect<Pid>>;
  /** The end of the supervisor, once the machine has decided on it. */
  #end: Stop | undefined;
  /** The requests that wait for an answer, by token. */
  readonly #asking = new Map<number, Asked>();
  /** The tokens of those that wait with a child. */
  readonly #held = new Map<Withdrawable, number>();
  /** Requests that waited and are to be settled, in portions. */
  readonly #due: Due[] = [];
  /** The timers that kill children which do not stop in time, by key. */
  readonly #timers = new Map<string, TimerRef>();
  #lastToken = 0;

  constructor(ctx: Context<Message>, config: DynamicConfig, quiet: boolean) {
    this.#ctx = ctx;
    this.#process = ctx.self.process as Process;
    const { kernel } = this.#process;
    this.#spec = config.spec;
    this.#reports = new RestartReports(ctx, config, quiet);
    this.#loop = new EffectLoop<DynamicState<Pid>, DynamicEvent<Pid>, DynamicEffect<Pid>>(
      initial(config),
      (state, event) => {
        const { witness } = kernel;
        state.changed = witness && [];
        const decided = decide(state, event);
        witness?.changed(ctx.self, state, event);
        return decided;
      },
      (effect) => this.#perform(effect),
    );
    kernel.witness?.supervises(ctx.self, this.#state);
  }

  /** The state, as a witness sees it. */
  get machine(): DynamicState<Pid> {
    return this.#state;
  }

  /** The state, as inspectors see it. */
  get shown(): SupervisorState {
    const { config, restarts, closing } = this.#state;
    const { intensity, periodMs } = config;
    const recent = countRecent(restarts, periodMs, this.#ctx.now());
    const children = this.#children().reverse();
    return { strategy: "dynamic", intensity, periodMs, restarts: recent, closing, children };
  }

  receive(message: Message): Stop | undefined {
    const ctx = this.#ctx;
    switch (message.type) {
      case "add-like": {
        const { args, replyTo } = message;
        if (Array.isArray(args))
          return this.dispatch(this.#addition(this.#tokenOf(replyTo, message), message));
        if (this.#state.closing === undefined)
          ctx.refuse(replyTo, new OptionError("args", args, "an array of arguments"));
        return undefined;
      }
      case "terminate": {
        const { id } = message;
        const token = this.#tokenOf(message.replyTo);
        if (id instanceof SoleVia)
          return this.dispatch({ type: "terminate", token, pid: actual(id), name: id.sole });
        return this.dispatch({ type: "terminate", token, pid: id instanceof Pid ? id : undefined });
      }
      case "which":
        ctx.reply(message.replyTo, this.#children().reverse());
        return undefined;
      case "count":
        ctx.reply(message.replyTo, countOf(this.#children()));
        return undefined;
      case "status":
        ctx.reply(message.replyTo, dynamicStatusOf(this.#state, ctx.now()));
        return undefined;
      case "outcome":
        return this.dispatch(this.#startEnded(message));
      case "go-on":
        return this.dispatch(GO_ON);
      case "settle":
        this.#settle();
        return this.#end;
      case "retry": {
        const { closing, children } = this.#state;
        const roll = closing === undefined && children.has(message.id) ? ctx.random() : 0;
        return this.dispatch({ type: "retry", key: message.id, at: ctx.now(), roll });
      }
      case "resume":
        return this.dispatch({ type: "resume", key: message.id });
      default: {
        const given = message.type === "add" ? message.spec?.id : String(message.id);
        const error = new OptionError(
          `${message.type}Child`,
          given,
          "asked of a supervisor with named children; this one has startLike and terminateChild(pid)",
        );
        ctx.refuse(message.replyTo, error);
        return undefined;
      }
    }
  }

  onSignal(signal: Signal): Stop | undefined {
    if (signal.type !== "exit") return undefined;
    const ctx = this.#ctx;
    const { from: pid, reason } = signal;
    const roll = isRestart(this.#state, pid, reason) ? ctx.random() : 0;
    return this.dispatch({ type: "exited", pid, reason, at: ctx.now(), roll });
  }

  /** Lets the machine decide, and performs its effects. Gives the end of the supervisor when the machine says so. */
  dispatch(event: DynamicEvent<Pid>): Stop | undefined {
    this.#loop.dispatch(event);
    return this.#end;
  }

  get #state(): DynamicState<Pid> {
    return this.#loop.state;
  }

  #perform(effect: DynamicEffect<Pid>): void {
    const ctx = this.#ctx;
    const spec = this.#spec;
    switch (effect.type) {
      case "start":
        this.#start(effect);
        return;
      case "answer":
        this.#answer(effect.token, effect.answer);
        return;
      case "refuse":
        this.#refuse(effect.token, new ChildError(String(ctx.self), spec.id, effect.why));
        return;
      case "hold":
        this.#hold(effect.token, effect.key);
        return;
      case "answer-all":
        this.#settleLater(effect.tokens, effect.answer);
        return;
      case "ask-again":
        this.#settleLater(effect.tokens, undefined);
        return;
      case "stop": {
        const timer = killAfter(ctx, effect.pid, spec.shutdown);
        if (timer !== undefined) this.#timers.set(effect.key, timer);
        return;
      }
      case "stopped": {
        const timer = this.#timers.get(effect.key);
        if (timer !== undefined) ctx.cancel(timer);
        this.#timers.delete(effect.key);
        return;
      }
      case "abort-start":
        abortStart(ctx, effect.pid, spec);
        return;
      case "shut-down":
      case "kill":
        ctx.exit(effect.pid, effect.type === "kill" ? KILL : SHUTDOWN);
        return;
      case "retry":
        ctx.send(ctx.self, { type: "retry", id: effect.key });
        return;
      case "resume-after":
        ctx.sendAfter(ctx.self, { type: "resume", id: effect.key }, effect.delayMs);
        return;
      case "time-up-after":
        ctx.runAfter(effect.delayMs, () => this.dispatch({ type: "time-up" }));
        return;
      case "go-on":
        ctx.send(ctx.self, GO_ON);
        return;
      case "report-restart":
        this.#reports.restart(effect.restart, effect.key);
        return;
      case "report-exit":
        this.#reports.leave(spec.id, effect.reason);
        return;
      case "exit":
        this.#end = stop(effect.reason);
        return;
      default:
        effect satisfies never;
    }
  }

  #start({ key, args, name }: Extract<DynamicEffect<Pid>, { readonly type: "start" }>): void {
    let pid: Pid;
    try {
      pid = launchChild(this.#ctx, this.#spec, args, key, name?.claim);
    } catch (error) {
      const outcome = { type: "failed", reason: crash(error) } as const;
      this.#ctx.send(this.#ctx.self, { type: "outcome", id: key, outcome });
      return;
    }
    this.dispatch({ type: "spawned", key, pid });
  }

  #startEnded({ id: key, outcome }: ChildStartOutcome): DynamicEvent<Pid> {
    switch (outcome.type) {
      case "started":
        return { type: "started", key, at: this.#ctx.now() };
      case "ignored":
        return { type: "ignored", key };
      case "failed":
        return { type: "failed", key, reason: outcome.reason };
      default:
        return outcome satisfies never;
    }
  }

  #addition(token: number, { args, name, orGet = false }: Wanted): DynamicEvent<Pid> {
    const holder = orGet && name?.sole !== undefined ? holderOf(this.#state, name.sole) : undefined;
    return { type: "add", token, args, name, orGet, isDead: holder !== undefined && !this.#isAlive(holder) };
  }

  #isAlive(pid: Pid): boolean {
    this.#process.kernel.shared?.process(pid, "read");
    return pid.process !== undefined;
  }

  // ── requests that have yet to be answered ─────────────────────────────────────────────────────────────────────

  #tokenOf(replyTo: ReplyTo<Answer<Pid>>, message?: Wanted): number {
    const token = ++this.#lastToken;
    const wanted = message?.orGet ? message : undefined;
    this.#asking.set(token, { replyTo, wanted, waitsWith: undefined });
    return token;
  }

  /** The request is to be answered now. Undefined when its caller has given up while it waited. */
  #askerOf(token: number): ReplyTo<Answer<Pid>> | undefined {
    const asked = this.#release(token);
    this.#asking.delete(token);
    return asked?.replyTo;
  }

  #answer(token: number, answer: Answer<Pid>): void {
    const asker = this.#askerOf(token);
    if (asker !== undefined) this.#ctx.reply(asker, answer);
  }

  #refuse(token: number, error: ChildError): void {
    const asker = this.#askerOf(token);
    if (asker !== undefined) this.#ctx.refuse(asker, error);
  }

  /** Settles requests that wait: with an answer, or by asking again. */
  #settleLater(tokens: Iterable<number>, answer: Answer<Pid> | undefined): void {
    this.#due.push({ tokens: tokens[Symbol.iterator](), answer });
    if (this.#due.length === 1) this.#settle();
  }

  /** Settles a portion of the requests that are due, the oldest first. */
  #settle(): void {
    const events: DynamicEvent<Pid>[] = [];
    for (let left = AT_ONCE; left > 0 && this.#due.length > 0; left--) {
      const { tokens, answer } = this.#due[0] as Due;
      const { done, value: token } = tokens.next();
      if (done) this.#due.shift();
      else if (answer !== undefined) this.#answer(token, answer);
      else {
        const wanted = this.#release(token)?.wanted;
        if (wanted !== undefined) events.push(this.#addition(token, wanted));
      }
    }
    if (this.#due.length > 0) this.#ctx.send(this.#ctx.self, SETTLE);
    for (const event of events) this.dispatch(event);
  }

  /** From now on the request counts as waiting: when its caller gives up, nothing comes of it. */
  #hold(token: number, key: string): void {
    const asked = this.#asking.get(token) as Asked;
    const entry = entryOf(asked);
    asked.waitsWith = key;
    entry.queuedIn = this;
    this.#held.set(entry, token);
  }

  #release(token: number): Asked | undefined {
    const asked = this.#asking.get(token);
    if (asked?.waitsWith === undefined) return asked;
    const entry = entryOf(asked);
    entry.queuedIn = undefined;
    asked.waitsWith = undefined;
    this.#held.delete(entry);
    return asked;
  }

  /** A request that waits has ended. This happens in a step of its caller, or outside of all processes. */
  withdraw(entry: Withdrawable): void {
    this.#process.kernel.shared?.process(this.#process.pid, "write");
    const token = this.#held.get(entry) as number;
    const key = this.#asking.get(token)?.waitsWith as string;
    this.#askerOf(token);
    entry.queuedIn = GONE;
    this.dispatch({ type: "withdrawn", key, token });
  }

  #children(): ChildInfo[] {
    const { id, type } = this.#spec;
    return listed(this.#state).map(({ pid, starting }) =>
      pid === undefined || starting
        ? { id, type, pid: undefined, status: "restarting" }
        : { id, type, pid: pid as Pid<unknown>, status: "running" },
    );
  }
}

/** The call behind a reply address. */
function entryOf({ replyTo }: Asked): Withdrawable {
  return replyTo as unknown as Request;
}
