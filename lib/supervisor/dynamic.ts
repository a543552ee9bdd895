// A supervisor of many children of one kind, started on demand: OTP's simple_one_for_one, with Elixir's maxChildren.
// Children are addressed by pid, restarted alone, and stopped all at once under one timer.

import { type Callbacks, type Stop, stop } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import type { Signal } from "../process/entries.js";
import { OptionError } from "../process/errors.js";
import { count } from "../process/options.js";
import type { TimerRef } from "../process/owned-timer.js";
import { Pid } from "../process/pid.js";
import { crash, type ExitReason, isOrderly, SHUTDOWN } from "../process/reason.js";
import type { ReplyTo } from "../process/request.js";
import { type Launch, launch } from "../process/start.js";
import {
  type ArgsOf,
  type ChildOptions,
  type ChildSpec,
  type ChildStart,
  checkChild,
  type FullChildSpec,
  supervising,
} from "./child.js";
import { abortStart, killAfter, launchChild, type Outcome } from "./child-process.js";
import { countOf } from "./counts.js";
import { ChildError } from "./errors.js";
import { checkLimits, checkNaming, checkQuiet, type SupervisionOptions } from "./options.js";
import type { Answer } from "./protocol.js";
import { Queue } from "./queue.js";
import { type ChildInfo, checkAddress, DynamicSupervisorRef, type SupervisorMessage } from "./ref.js";
import { RestartReports } from "./report.js";
import { countRestart, isRestarted, type RestartLimits } from "./restart-rule.js";
import type { SupervisorDefinition } from "./supervisor.js";

/** Options of a dynamic supervisor. */
export interface DynamicSupervisorOptions<S extends ChildStart = ChildStart> extends SupervisionOptions {
  /** What every child is like; `startLike(args)` gives the arguments of its definition's `init`. */
  readonly child: ChildOptions & { readonly start: S };
  /** More than this many are refused with ChildError `max_children`. Default `Infinity`. */
  readonly maxChildren?: number;
}

interface Settings extends RestartLimits {
  readonly spec: FullChildSpec;
  readonly maxChildren: number;
}

/**
 * Defines a supervisor whose children are started one by one while it runs.
 *
 * @throws OptionError when an option is not what it has to be
 * @example
 * const Sessions = dynamicSupervisor({ child: { id: "session", start: Session, restart: "temporary" }, maxChildren: 10_000 });
 * const sessions = await system.start(Sessions);
 * const pid = await sessions.startLike(["user-17"]);
 */
export function dynamicSupervisor<S extends ChildStart>(
  options: DynamicSupervisorOptions<S>,
): SupervisorDefinition<DynamicSupervisorRef<ArgsOf<S>>> {
  const settings: Settings = {
    spec: checkChild("child", options.child as ChildSpec, "never"),
    maxChildren: count("maxChildren", options.maxChildren ?? Number.POSITIVE_INFINITY, 1, true),
    ...checkLimits(options),
  };
  const naming = checkNaming(options, "dynamic supervisor");
  const quiet = checkQuiet(options);
  return {
    [supervising]: true,
    at: (system, address) => new DynamicSupervisorRef(checkAddress(address), system.kernel),
    [launch]: (): Launch<DynamicSupervisorRef<ArgsOf<S>>> => ({
      behaviour: behaviourOf(settings, quiet),
      options: naming,
      ref: (pid, kernel) => new DynamicSupervisorRef(pid, kernel),
    }),
  };
}

/** One child. */
interface DynamicChild {
  readonly key: string;
  readonly args: readonly unknown[];
  /** Its process, if there is one now: it waits for its next attempt if there is not. */
  pid: Pid | undefined;
  /** Its last process, while it is started again: whoever knows only that one can still terminate it. */
  former: Pid | undefined;
  starting: boolean;
  /** Who asked for it, until its first start has ended. */
  asker: ReplyTo<Answer<Pid>> | undefined;
  stopping: Stopping | undefined;
  since: number;
  attempts: number;
  failure: ExitReason;
}

/** The stop of one child, asked for by at least one. */
interface Stopping {
  readonly askers: ReplyTo<Answer<Pid>>[];
  readonly timer: TimerRef | undefined;
}

const GO_ON = { type: "go-on" } as const;
/** A closing supervisor gives orders to this many children, and lets others have their go. */
const AT_ONCE = 250;

type Message =
  | SupervisorMessage
  | Outcome
  | typeof GO_ON
  | { readonly type: "retry" | "resume"; readonly id: string };

function behaviourOf(settings: Settings, quiet: boolean): Callbacks<Message> {
  let keeper: Keeper;
  return {
    init: (ctx) => {
      keeper = new Keeper(ctx, settings, quiet);
    },
    handle: (_ctx, message) => keeper.receive(message),
    signal: (_ctx, signal) => keeper.hear(signal),
    parentExit: (_ctx, reason) => keeper.close(reason),
  };
}

class Keeper {
  private readonly ctx: Context<Message>;
  private readonly settings: Settings;
  private readonly reports: RestartReports<Message>;
  private readonly children = new Map<string, DynamicChild>();
  private readonly byPid = new Map<Pid, DynamicChild>();
  private restarts = Queue.of<number>();
  private closing: ExitReason | undefined;
  /** When closing: children that are yet to be told to stop, or to be killed. */
  private orders = Queue.of<DynamicChild>();
  private timeIsUp = false;
  private lastKey = 0;

  constructor(ctx: Context<Message>, settings: Settings, quiet: boolean) {
    this.reports = new RestartReports(ctx, settings.periodMs, quiet);
    this.ctx = ctx;
    this.settings = settings;
  }

  receive(message: Message): Stop | undefined {
    switch (message.type) {
      case "add-like":
        this.add(message.args, message.replyTo);
        return undefined;
      case "terminate":
        this.terminate(message.id, message.replyTo);
        return undefined;
      case "which":
        this.ctx.reply(message.replyTo, this.listed().reverse());
        return undefined;
      case "count":
        this.ctx.reply(message.replyTo, countOf(this.listed()));
        return undefined;
      case "outcome":
        return this.outcome(message);
      case "go-on":
        return this.goOn();
      case "retry":
      case "resume": {
        const child = this.children.get(message.id);
        if (child === undefined || this.closing !== undefined) return undefined;
        if (message.type === "retry") return this.restart(child, child.failure, 0);
        this.start(child);
        return undefined;
      }
      default: {
        const given = message.type === "add" ? message.spec?.id : String(message.id);
        const error = new OptionError(
          `${message.type}Child`,
          given,
          "asked of a supervisor with named children; this one has startLike and terminateChild(pid)",
        );
        this.ctx.refuse(message.replyTo, error);
        return undefined;
      }
    }
  }

  hear(signal: Signal): Stop | undefined {
    if (signal.type !== "exit") return undefined;
    const child = this.byPid.get(signal.from);
    if (child === undefined || child.pid !== signal.from) return undefined;
    if (child.stopping !== undefined) return this.stopped(child, child.stopping, signal.reason);
    // The start's own outcome follows and tells the rest.
    if (child.starting) return undefined;
    if (this.closing !== undefined || !isRestarted(this.settings.spec.restart, signal.reason)) {
      if (this.closing === undefined && !isOrderly(signal.reason))
        this.reports.leave(this.settings.spec.id, signal.reason);
      this.forget(child);
      return this.ended();
    }
    child.former = child.pid;
    child.pid = undefined;
    return this.restart(child, signal.reason, this.ctx.now() - child.since);
  }

  /** Stops all children at the same time, within one shutdown time that they share. */
  close(reason: ExitReason): Stop | undefined {
    if (this.closing !== undefined) return undefined;
    this.closing = reason;
    const { shutdown } = this.settings.spec;
    this.orders = Queue.of([...this.children.values()].filter((child) => child.stopping === undefined));
    if (shutdown !== "brutal_kill" && shutdown !== Number.POSITIVE_INFINITY) {
      this.ctx.runAfter(shutdown, () => {
        this.timeIsUp = true;
        this.orders = Queue.of(this.children.values());
        return this.goOn();
      });
    }
    return this.goOn();
  }

  /** Gives the next orders. */
  private goOn(): Stop | undefined {
    const { ctx, children } = this;
    const { spec } = this.settings;
    for (let left = AT_ONCE; left > 0 && this.orders.length > 0; left--) {
      const child = this.orders.first as DynamicChild;
      this.orders = this.orders.withoutFirst();
      if (!children.has(child.key)) continue;
      if (child.pid === undefined) this.forget(child);
      else if (this.timeIsUp) ctx.exit(child.pid, "kill");
      else if (child.starting) abortStart(ctx, child.pid, spec);
      else ctx.exit(child.pid, spec.shutdown === "brutal_kill" ? "kill" : SHUTDOWN);
    }
    if (this.orders.length > 0) ctx.send(ctx.self, GO_ON);
    return this.ended();
  }

  private ended(): Stop | undefined {
    return this.closing !== undefined && this.children.size === 0 ? stop(this.closing) : undefined;
  }

  /** Those that came up at least once: what is asked for and not answered yet is no child so far. */
  private listed(): ChildInfo[] {
    const { id, type } = this.settings.spec;
    const children = [...this.children.values()].filter((child) => child.asker === undefined);
    return children.map(({ pid, starting }) =>
      pid === undefined || starting
        ? { id, type, pid: undefined, status: "restarting" }
        : { id, type, pid: pid as Pid<unknown>, status: "running" },
    );
  }

  private add(args: readonly unknown[], asker: ReplyTo<Answer<Pid>>): void {
    const { settings, ctx } = this;
    if (this.closing !== undefined) return;
    if (!Array.isArray(args)) {
      ctx.refuse(asker, new OptionError("args", args, "an array of arguments"));
      return;
    }
    if (this.children.size >= settings.maxChildren) {
      ctx.refuse(asker, new ChildError(String(ctx.self), settings.spec.id, "max_children"));
      return;
    }
    const child: DynamicChild = {
      key: String(++this.lastKey),
      args,
      pid: undefined,
      former: undefined,
      starting: true,
      asker,
      stopping: undefined,
      since: 0,
      attempts: 0,
      failure: SHUTDOWN,
    };
    this.children.set(child.key, child);
    this.start(child);
  }

  private start(child: DynamicChild): void {
    child.starting = true;
    try {
      child.pid = launchChild(this.ctx, this.settings.spec, child.args, child.key);
      this.byPid.set(child.pid, child);
    } catch (error) {
      this.ctx.send(this.ctx.self, {
        type: "outcome",
        id: child.key,
        outcome: { type: "failed", reason: crash(error) },
      });
    }
  }

  private outcome({ id, outcome }: Outcome): Stop | undefined {
    const child = this.children.get(id);
    if (child === undefined) return undefined;
    const { asker } = child;
    child.asker = undefined;
    child.starting = false;
    if (outcome.type === "started") {
      child.since = this.ctx.now();
      if (child.former !== undefined) this.byPid.delete(child.former);
      child.former = undefined;
      if (asker !== undefined) this.ctx.reply(asker, { ok: true, pid: child.pid });
      return undefined;
    }
    if (outcome.type === "ignored" || asker !== undefined || this.closing !== undefined) {
      this.forget(child);
      const answer: Answer<Pid> =
        outcome.type === "ignored"
          ? { ok: true, pid: undefined }
          : { ok: false, problem: "start_failed", reason: outcome.reason };
      if (asker !== undefined) this.ctx.reply(asker, answer);
      return this.ended();
    }
    // A restart that failed counts too, and is tried again after whatever waits in the mailbox.
    if (child.pid !== undefined) this.byPid.delete(child.pid);
    child.pid = undefined;
    child.failure = outcome.reason;
    this.ctx.send(this.ctx.self, { type: "retry", id: child.key });
    return undefined;
  }

  private terminate(id: string | Pid, asker: ReplyTo<Answer<Pid>>): void {
    const { ctx } = this;
    const child = id instanceof Pid ? this.byPid.get(id) : undefined;
    if (child === undefined) {
      ctx.reply(asker, { ok: false, problem: "not_found" });
    } else if (child.pid === undefined) {
      this.forget(child);
      ctx.reply(asker, { ok: true, pid: undefined });
    } else if (child.stopping !== undefined) {
      child.stopping.askers.push(asker);
    } else {
      // One that closes tells all its children.
      const timer =
        this.closing === undefined ? killAfter(ctx, child.pid, this.settings.spec.shutdown) : undefined;
      child.stopping = { askers: [asker], timer };
    }
  }

  private stopped(child: DynamicChild, { askers, timer }: Stopping, reason: ExitReason): Stop | undefined {
    const { ctx } = this;
    if (timer !== undefined) ctx.cancel(timer);
    this.forget(child);
    if (child.asker !== undefined) ctx.reply(child.asker, { ok: false, problem: "start_failed", reason });
    for (const asker of askers) ctx.reply(asker, { ok: true, pid: undefined });
    return this.ended();
  }

  private forget(child: DynamicChild): void {
    this.children.delete(child.key);
    if (child.pid !== undefined) this.byPid.delete(child.pid);
    if (child.former !== undefined) this.byPid.delete(child.former);
  }

  private restart(child: DynamicChild, reason: ExitReason, ranForMs: number): Stop | undefined {
    const { ctx, settings } = this;
    const history = { attempts: child.attempts, ranForMs };
    const decision = countRestart(settings, this.restarts, history, ctx.now(), ctx.random());
    const { intensityLeft, delayMs } = decision;
    this.restarts = decision.restarts;
    child.attempts = decision.attempts;
    child.failure = reason;
    const { id } = settings.spec;
    const restart = { id, reason, strategy: "one_for_one", siblings: [], intensityLeft, delayMs } as const;
    this.reports.restart(restart);
    if (intensityLeft < 0) {
      this.forget(child);
      return this.close(SHUTDOWN);
    }
    if (settings.backoff === undefined) this.start(child);
    else ctx.sendAfter(ctx.self, { type: "resume", id: child.key }, delayMs);
    return undefined;
  }
}
