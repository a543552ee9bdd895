// A supervisor of many children of one kind, started on demand: OTP's simple_one_for_one, with Elixir's maxChildren.
// Children are addressed by pid, restarted alone, and stopped all at once under one timer.

import { type Backoff, checkBackoff } from "../process/backoff.js";
import { type Callbacks, type Stop, stop } from "../process/behaviour.js";
import type { ReplyTo } from "../process/call.js";
import type { Context } from "../process/context.js";
import type { Signal } from "../process/entries.js";
import { OptionError } from "../process/errors.js";
import { count, delay } from "../process/options.js";
import { Pid } from "../process/pid.js";
import { crash, type ExitReason, SHUTDOWN } from "../process/reason.js";
import { type Launch, launch } from "../process/start.js";
import { killAfter, launchChild, type Outcome } from "./carry.js";
import { type ChildSpec, checkChild, type FullChildSpec, supervising } from "./child.js";
import { countOf } from "./counts.js";
import { ChildError } from "./errors.js";
import type { Answer } from "./machine.js";
import { type SupervisorMessage, SupervisorRef } from "./ref.js";
import { publishRestart } from "./report.js";
import { countRestart, isRestarted, type RestartLimits } from "./restart-rule.js";
import type { SupervisorDefinition } from "./supervisor.js";

/** Options of a dynamic supervisor. */
export interface DynamicSupervisorOptions {
  /** What every child is like; `startLike(args)` gives the arguments of its definition's `init`. */
  readonly child: ChildSpec;
  /** More than this many are refused with ChildError `max_children`. Default `Infinity`. */
  readonly maxChildren?: number;
  /** Default 1. */
  readonly intensity?: number;
  /** Milliseconds. Default 5,000. */
  readonly period?: number;
  readonly backoff?: Backoff;
  readonly label?: string;
  readonly name?: string;
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
export function dynamicSupervisor(options: DynamicSupervisorOptions): SupervisorDefinition {
  const settings: Settings = {
    spec: checkChild("child", options.child, "never"),
    maxChildren: count("maxChildren", options.maxChildren ?? Number.POSITIVE_INFINITY, 1, true),
    intensity: count("intensity", options.intensity ?? 1, 0, true),
    periodMs: delay("period", options.period ?? 5_000, 1, true),
    backoff: options.backoff === undefined ? undefined : checkBackoff("backoff", options.backoff),
  };
  const naming = options.name === undefined ? {} : { name: options.name };
  return {
    [supervising]: true,
    [launch]: (): Launch<SupervisorRef> => ({
      behaviour: behaviourOf(settings),
      options: { label: options.label ?? "dynamic supervisor", trapExit: true, ...naming },
      ref: (pid, kernel) => new SupervisorRef(pid, kernel),
    }),
  };
}

/** One child: running under `pid`, or waiting for its next attempt. */
interface DynamicChild {
  readonly key: string;
  readonly args: readonly unknown[];
  pid: Pid | undefined;
  replyTo: ReplyTo<Answer<Pid>> | undefined;
  starting: boolean;
  since: number;
  attempts: number;
  failure: ExitReason;
}

type Message = SupervisorMessage | Outcome | { readonly type: "retry" | "resume"; readonly id: string };

function behaviourOf(settings: Settings): Callbacks<Message> {
  let keeper: Keeper;
  return {
    init: (ctx) => {
      keeper = new Keeper(ctx, settings);
    },
    handle: (_ctx, message) => keeper.receive(message),
    signal: (_ctx, signal) => keeper.hear(signal),
    parentExit: (_ctx, reason) => keeper.close(reason),
  };
}

class Keeper {
  private readonly ctx: Context<Message>;
  private readonly settings: Settings;
  private readonly children = new Map<string, DynamicChild>();
  private readonly byPid = new Map<Pid, DynamicChild>();
  /** Who asked for the stop of a child, by its pid. */
  private readonly stopping = new Map<Pid, ReplyTo<Answer<Pid>>>();
  private restarts: readonly number[] = [];
  private closing: ExitReason | undefined;
  private lastKey = 0;

  constructor(ctx: Context<Message>, settings: Settings) {
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
      case "which": {
        const { id, type } = this.settings.spec;
        const all = [...this.children.values()].filter((child) => !child.starting);
        const show = (child: DynamicChild) => {
          const pid = child.pid as Pid<unknown> | undefined;
          return {
            id,
            type,
            pid,
            status: pid === undefined ? ("restarting" as const) : ("running" as const),
          };
        };
        this.ctx.reply(message.replyTo, all.reverse().map(show));
        return undefined;
      }
      case "count":
        this.ctx.reply(
          message.replyTo,
          countOf([...this.children.values()].map(({ pid }) => ({ type: this.settings.spec.type, pid }))),
        );
        return undefined;
      case "outcome":
        return this.outcome(message);
      case "retry":
      case "resume": {
        const child = this.children.get(message.id);
        if (child === undefined || child.pid !== undefined || this.closing !== undefined) return undefined;
        if (message.type === "retry") return this.restart(child);
        this.start(child);
        return undefined;
      }
      default: {
        const given = message.type === "add" ? message.spec.id : String(message.id);
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
    if (child === undefined) return undefined;
    this.byPid.delete(signal.from);
    child.pid = undefined;
    const asked = this.stopping.get(signal.from);
    this.stopping.delete(signal.from);
    if (asked !== undefined) this.ctx.reply(asked, { ok: true, pid: undefined });
    // The start's own outcome follows and tells the rest.
    if (child.starting) return undefined;
    const again = isRestarted(this.settings.spec.restart, signal.reason);
    if (asked !== undefined || !again || this.closing !== undefined) {
      this.children.delete(child.key);
      return this.ended();
    }
    child.failure = signal.reason;
    return this.restart(child);
  }

  /** All children are told at once, and share one time to stop in. */
  close(reason: ExitReason): Stop | undefined {
    if (this.closing !== undefined) return undefined;
    this.closing = reason;
    const { shutdown } = this.settings.spec;
    for (const child of [...this.children.values()]) {
      if (child.pid === undefined) this.children.delete(child.key);
      else if (child.starting || shutdown === "brutal_kill") this.ctx.exit(child.pid, "kill");
      else this.ctx.exit(child.pid, SHUTDOWN);
    }
    if (shutdown !== "brutal_kill" && shutdown !== Number.POSITIVE_INFINITY) {
      this.ctx.after(shutdown, () => {
        for (const pid of [...this.byPid.keys()]) this.ctx.exit(pid, "kill");
      });
    }
    return this.ended();
  }

  private ended(): Stop | undefined {
    return this.closing !== undefined && this.children.size === 0 ? stop(this.closing) : undefined;
  }

  private add(args: readonly unknown[], replyTo: ReplyTo<Answer<Pid>>): void {
    const { settings, ctx } = this;
    if (this.closing !== undefined) return;
    if (this.children.size >= settings.maxChildren) {
      ctx.refuse(replyTo, new ChildError(String(ctx.self), settings.spec.id, "max_children"));
      return;
    }
    const key = String(++this.lastKey);
    const child: DynamicChild = {
      key,
      args,
      pid: undefined,
      replyTo,
      starting: true,
      since: ctx.now(),
      attempts: 0,
      failure: SHUTDOWN,
    };
    this.children.set(key, child);
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

  private outcome(message: Outcome): Stop | undefined {
    const { outcome } = message;
    const child = this.children.get(message.id);
    if (child === undefined) return this.ended();
    const { replyTo } = child;
    child.replyTo = undefined;
    child.starting = false;
    child.since = this.ctx.now();
    if (outcome.type === "started") {
      if (replyTo !== undefined) this.ctx.reply(replyTo, { ok: true, pid: child.pid });
      return undefined;
    }
    const answer: Answer<Pid> =
      outcome.type === "ignored"
        ? { ok: true, pid: undefined }
        : { ok: false, problem: "start_failed", reason: outcome.reason };
    if (replyTo !== undefined || outcome.type === "ignored" || this.closing !== undefined) {
      this.children.delete(child.key);
      if (replyTo !== undefined) this.ctx.reply(replyTo, answer);
      return this.ended();
    }
    // A restart that failed counts too, and is tried again after whatever waits in the mailbox.
    child.failure = outcome.reason;
    this.ctx.send(this.ctx.self, { type: "retry", id: child.key });
    return undefined;
  }

  private terminate(id: string | Pid, replyTo: ReplyTo<Answer<Pid>>): void {
    const child = id instanceof Pid ? this.byPid.get(id) : undefined;
    if (child?.pid === undefined) {
      this.ctx.reply(replyTo, { ok: false, problem: "not_found" });
      return;
    }
    this.stopping.set(child.pid, replyTo);
    killAfter(this.ctx, child.pid, this.settings.spec.shutdown);
  }

  private restart(child: DynamicChild): Stop | undefined {
    const { ctx, settings } = this;
    const decision = countRestart(settings, this.restarts, child, ctx.now(), ctx.random());
    const { intensityLeft, delayMs } = decision;
    this.restarts = decision.restarts;
    child.attempts = decision.attempts;
    const { id } = settings.spec;
    const restart = {
      id,
      reason: child.failure,
      strategy: "one_for_one",
      siblings: [],
      intensityLeft,
      delayMs,
    } as const;
    publishRestart(ctx, restart, settings.periodMs);
    if (intensityLeft < 0) {
      this.children.delete(child.key);
      return this.close(SHUTDOWN);
    }
    if (settings.backoff === undefined) this.start(child);
    else ctx.sendAfter(ctx.self, { type: "resume", id: child.key }, delayMs);
    return undefined;
  }
}
