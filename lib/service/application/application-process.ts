// The process of a service: the parent of the tree's root. It turns messages and signals into events of application-machine.ts, and
// performs the effects. It decides nothing.

import { type Callbacks, deferStart, type StartOutcome, type Stop, stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { Signal } from "../../process/entries.js";
import type { Kernel } from "../../process/kernel.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { crash, type ExitReason, formatReason, isOrderly, SHUTDOWN } from "../../process/reason.js";
import type { ReportLevel } from "../../process/report.js";
import type { ReplyTo } from "../../process/request.js";
import { showThrown } from "../../process/show.js";
import { type Launch, launch, reportEarlyEnd, type Startable, spawnAwaited } from "../../process/start.js";
import type { RestartReport } from "../../supervisor/report.js";
import { type HealthMessage, healthBehaviour } from "../health/health-process.js";
import type { HealthSettings } from "../health/options.js";
import {
  type Config,
  decide,
  type Effect,
  type Event,
  initial,
  type Phase,
  type State,
  type TimerName,
} from "./application-machine.js";
import { descendants, labelPath, notStarted } from "./descendants.js";
import { type Cause, type Ending, endingOf, failedPart, type LastStraw } from "./ending.js";
import { ConfigurationError } from "./errors.js";

/** The messages of the process of a service. */
export type ApplicationMessage =
  | { readonly type: "event"; readonly event: Event }
  | { readonly type: "signal"; readonly signal: string }
  | { readonly type: "configured"; readonly tree: Startable<readonly unknown[], unknown> }
  | { readonly type: "outcome"; readonly outcome: StartOutcome }
  | { readonly type: "await-start"; readonly replyTo: ReplyTo<unknown> };

/** The parts of a service. */
export interface Application {
  readonly name: string;
  readonly limits: Config;
  readonly args: readonly unknown[];
  /** Opens the admin socket, if the service has one. */
  readonly listen: (() => Promise<void>) | undefined;
  /** Reads the configuration, joins the cluster and makes the tree. @param begins - names the part that starts now, empty for none */
  configure(begins: (part: string) => void): Promise<Startable<readonly unknown[], unknown>>;
  readonly health: HealthSettings;
  /** A phase has begun. */
  entered(phase: Phase): void;
  /** Runs before the tree stops. */
  onDrain(cause: Cause): unknown;
  /** Runs at a signal that the user has a handler for. Undefined: the signal asks for the stop. */
  handlerOf(signal: string): (() => unknown) | undefined;
}

/**
 * The state of the process as the handle of the service sees it. The process writes it; the handle writes the end of a process that was
 * killed along with its system.
 */
export interface Progress {
  phase: Phase;
  ending: Ending | undefined;
  /** The root of the tree, once it is spawned. */
  root: Pid | undefined;
  /** The process that reads the health, while this one runs. */
  health: Pid<HealthMessage> | undefined;
}

export function applicationBehaviour(app: Application, progress: Progress): Callbacks<ApplicationMessage> {
  let process: ApplicationProcess;
  return {
    init: (ctx) => {
      process = new ApplicationProcess(ctx, app, progress);
      return process.dispatch({ type: "boot" }) ?? deferStart;
    },
    handle: (_ctx, message) => process.receive(message),
    signal: (_ctx, signal) => process.onSignal(signal),
    parentExit: () => process.dispatch({ type: "cause", cause: { type: "stop" } }),
    terminate: () => process.release(),
  };
}

/** Holds the machine's state, and what the effects in progress need. */
class ApplicationProcess {
  readonly #ctx: Context<ApplicationMessage>;
  readonly #kernel: Kernel;
  readonly #app: Application;
  readonly #progress: Progress;
  readonly #loop: EffectLoop<State, Event, Effect>;
  readonly #timers = new Map<TimerName, TimerRef>();
  readonly #waiting: ReplyTo<unknown>[] = [];
  #tree: Startable<readonly unknown[], unknown> | undefined;
  #root: Pid | undefined;
  #ref: { readonly value: unknown } | undefined;
  /** Makes the handle of the root. Undefined until the root is launched. */
  #makeRef: (() => unknown) | undefined;
  /** The part before the tree that starts now, for reports. Empty: none. */
  #opening = "";
  /** The root is a supervisor that has given up. */
  #gaveUp = false;
  /** The child that ended last before a supervisor gave up. */
  #lastStraw: LastStraw | undefined;
  #killed: readonly string[] = [];
  #hasExited = false;

  constructor(ctx: Context<ApplicationMessage>, app: Application, progress: Progress) {
    this.#ctx = ctx;
    this.#kernel = (ctx.self.process as Process).kernel;
    this.#app = app;
    this.#progress = progress;
    this.#loop = new EffectLoop<State, Event, Effect>(initial(app.limits), decide, (effect) =>
      this.#perform(effect),
    );
    this.#kernel.events.on("restart", this.#onRestart);
    this.#startHealth();
  }

  /** Lets the machine decide, and does what it says. Gives the end of this process, when that is what it says. */
  dispatch(event: Event): Stop | undefined {
    this.#loop.dispatch(event);
    return this.#hasExited ? stop() : undefined;
  }

  receive(message: ApplicationMessage): Stop | undefined {
    switch (message.type) {
      case "event":
        return this.dispatch(message.event);
      case "signal": {
        const handler = this.#app.handlerOf(message.signal);
        if (handler === undefined)
          return this.dispatch({ type: "signal", signal: message.signal, at: this.#ctx.now() });
        this.#run(`the handler of ${message.signal}`, handler, undefined);
        return undefined;
      }
      case "configured":
        this.#tree = message.tree;
        return this.dispatch({ type: "configured" });
      case "outcome":
        return this.#startEnded(message.outcome);
      case "await-start":
        if (this.#ref === undefined) this.#waiting.push(message.replyTo);
        else this.#ctx.reply(message.replyTo, this.#ref.value);
        return undefined;
      default:
        return message satisfies never;
    }
  }

  onSignal(signal: Signal): Stop | undefined {
    if (signal.type !== "exit") return undefined;
    if (signal.from === this.#progress.health) return this.#healthEnded(signal.reason);
    if (signal.from !== this.#root) return undefined;
    return this.dispatch({ type: "root-ended", cause: this.#endOfRoot(signal.reason) });
  }

  /** Nothing of this process is left behind. */
  release(): void {
    this.#kernel.events.off("restart", this.#onRestart);
  }

  readonly #onRestart = ({ gaveUp, supervisor, id: child, reason }: RestartReport): void => {
    if (!gaveUp) return;
    const own = { child, reason };
    // A supervisor below that gave up says more than its own orderly end.
    const isRoot = supervisor === this.#root;
    this.#lastStraw = isRoot && isOrderly(reason) && this.#lastStraw !== undefined ? this.#lastStraw : own;
    this.#gaveUp ||= isRoot;
  };

  #startHealth(): void {
    const ctx = this.#ctx;
    const app = this.#app;
    const progress = this.#progress;
    progress.health = ctx.spawnLink(
      healthBehaviour(app.health, () => progress.root),
      { label: "health", trapExit: true },
    );
  }

  /** The process that reads the health ended, because of an unhandled rejection in a check of the user. A new process replaces it. */
  #healthEnded(reason: ExitReason): undefined {
    const error = reason.type === "crash" ? reason.error : undefined;
    this.#report("error", `${this.#app.name}: a health check crashed (${formatReason(reason)})`, error);
    this.#startHealth();
  }

  #startEnded(outcome: StartOutcome): Stop | undefined {
    switch (outcome.type) {
      case "started":
        this.#ref = { value: this.#makeRef?.() };
        for (const replyTo of this.#waiting.splice(0)) this.#ctx.reply(replyTo, this.#ref.value);
        this.#ctx.started();
        return this.dispatch({ type: "started" });
      case "ignored":
        return this.dispatch({ type: "root-ended", cause: this.#endOfRoot(IGNORED) });
      case "failed":
        return this.dispatch({ type: "root-ended", cause: this.#endOfRoot(outcome.reason) });
      default:
        return outcome satisfies never;
    }
  }

  /** The end of a root that has not started is a failed start, unless the service got a request to stop meanwhile. */
  #endOfRoot(reason: ExitReason): Cause {
    if (this.#ref === undefined && this.#loop.state.phase === "starting") return startCause(reason);
    const { forced, timedOut } = this.#loop.state;
    // The kill was this process's own.
    if (forced || timedOut) return { type: "stop" };
    const gaveUp = this.#gaveUp;
    const lastStraw = this.#lastStraw;
    return { type: "root", reason, gaveUp, ...(gaveUp && lastStraw !== undefined ? { lastStraw } : {}) };
  }

  #perform(effect: Effect): unknown {
    const ctx = this.#ctx;
    switch (effect.type) {
      case "configure":
        void this.#configure();
        return undefined;
      case "launch":
        return this.#launch();
      case "announce":
        return this.#announce(effect.phase);
      case "arm":
        this.#timers.set(
          effect.timer,
          ctx.sendAfter(
            ctx.self,
            { type: "event", event: { type: "time-up", timer: effect.timer } },
            effect.delayMs,
          ),
        );
        return undefined;
      case "disarm": {
        const timer = this.#timers.get(effect.timer);
        if (timer !== undefined) ctx.cancel(timer);
        return undefined;
      }
      case "blame-start": {
        const slow = this.#root === undefined ? undefined : notStarted(this.#kernel, this.#root);
        const part =
          slow === undefined ? this.#opening || "the configuration" : labelPath(slow, this.#root as Pid);
        this.#loop.dispatch({
          type: "cause",
          cause: { type: "start", reason: SHUTDOWN, part, timedOut: true },
        });
        return undefined;
      }
      case "note":
        return this.#note(effect.cause);
      case "hook": {
        const cause = this.#loop.state.cause as Cause;
        this.#run("onDrain", () => this.#app.onDrain(cause), { type: "hook-ended" });
        return undefined;
      }
      case "shut-down":
        if (this.#root !== undefined) ctx.exit(this.#root, SHUTDOWN);
        return undefined;
      case "kill":
        return this.#kill();
      case "exit":
        return this.#exit();
      default:
        return effect satisfies never;
    }
  }

  async #configure(): Promise<void> {
    const ctx = this.#ctx;
    const { listen, configure } = this.#app;
    try {
      if (listen !== undefined) {
        this.#opening = "the admin socket";
        await listen();
        this.#opening = "";
        // It was stopped meanwhile.
        if (!ctx.alive) return;
      }
      const tree = await configure((part) => {
        this.#opening = part;
      });
      ctx.send(ctx.self, { type: "configured", tree });
    } catch (error) {
      const cause: Cause =
        error instanceof ConfigurationError
          ? { type: "configuration", error }
          : { ...startCause(crash(error)), part: this.#opening };
      // If this process has ended meanwhile, the cause does not matter any more.
      if (ctx.alive) ctx.send(ctx.self, { type: "event", event: { type: "cause", cause } });
    }
  }

  #launch(): void {
    const ctx = this.#ctx;
    const kernel = this.#kernel;
    const self = ctx.self.process as Process;
    let given: Launch<unknown>;
    let child: Process;
    try {
      given = (this.#tree as Startable<readonly unknown[], unknown>)[launch](this.#app.args);
      const { behaviour, options } = given;
      child = spawnAwaited(kernel, self, behaviour, options, Number.POSITIVE_INFINITY, (outcome) =>
        kernel.send(ctx.self, { type: "outcome", outcome }),
      );
    } catch (error) {
      this.#loop.dispatch({ type: "root-ended", cause: startCause(crash(error)) });
      return;
    }
    const { pid } = child;
    this.#root = pid;
    this.#progress.root = pid;
    this.#makeRef = () => given.ref(pid as Pid<never>, kernel);
    kernel.links.link(self, pid, child.exitReason);
    reportEarlyEnd(kernel, child);
  }

  /** Runs code of the user. An error in it is reported, and the service goes on. */
  #run(what: string, fn: () => unknown, then: Event | undefined): void {
    const ctx = this.#ctx;
    const run = async (): Promise<void> => {
      try {
        await fn();
      } catch (error) {
        if (!ctx.alive) return;
        this.#report("error", `${this.#app.name}: ${what} failed`, error);
      }
      if (then !== undefined && ctx.alive) ctx.send(ctx.self, { type: "event", event: then });
    };
    void run();
  }

  #announce(phase: Phase): void {
    const kernel = this.#kernel;
    const app = this.#app;
    const progress = this.#progress;
    kernel.shared?.of(`app:${app.name}`, "write");
    progress.phase = phase;
    app.entered(phase);
    if (kernel.events.wants.application)
      kernel.events.publish("application", { name: app.name, phase, cause: this.#loop.state.cause });
  }

  /** Reports why the service begins to end. The report of its end says the rest. */
  #note(cause: Cause): void {
    const { name, limits } = this.#app;
    if (cause.type === "signal")
      this.#report("info", `${name}: ${cause.signal}; it stops within ${limits.drainTimeoutMs} ms`);
    else if (cause.type === "host")
      this.#report(
        "error",
        `${name}: an error that belongs to no process (${cause.origin}); the service stops`,
        cause.error,
      );
  }

  #kill(): void {
    const ctx = this.#ctx;
    const kernel = this.#kernel;
    const root = this.#root;
    if (root === undefined) return;
    const all = descendants(kernel, root);
    const parents = new Set(all.map((process) => process.parent));
    const leaves = all.filter((process) => !parents.has(process.pid));
    if (this.#killed.length === 0)
      this.#killed = leaves.slice(0, MAX_NAMED).map(({ pid }) => labelPath(pid, root) || "the root");
    // The youngest first: each is still linked to its parent, which gets the exit signal, so that the kill is not reported as a crash.
    for (const process of all.reverse()) ctx.exit(process.pid, "kill");
  }

  #exit(): void {
    const { state } = this.#loop;
    const { name, limits } = this.#app;
    const ending = endingOf({
      name,
      cause: state.cause ?? { type: "stop" },
      forced: state.forced,
      timedOut: state.timedOut,
      killed: this.#killed,
      ...limits,
    });
    this.#kernel.shared?.of(`app:${name}`, "write");
    this.#progress.ending = ending;
    this.#hasExited = true;
    const { health } = this.#progress;
    this.#progress.health = undefined;
    if (health !== undefined) this.#ctx.exit(health, SHUTDOWN);
    if (ending.outcome !== "clean") this.#report("error", ending.text);
  }

  #report(level: ReportLevel, text: string, error?: unknown): void {
    this.#kernel.reports.write({
      level,
      event: "application",
      pid: this.#ctx.self,
      path: this.#app.name,
      error,
      text: error === undefined ? text : `${text}\n${showThrown(error)}`,
    });
  }
}

/** Most processes that the report of a kill names. */
const MAX_NAMED = 10;

const IGNORED: ExitReason = { type: "shutdown", detail: "its init returned `ignore`" };

function startCause(reason: ExitReason): Cause & { readonly type: "start" } {
  return { type: "start", ...failedPart(reason), timedOut: false };
}

declare module "../../process/events.js" {
  interface SystemEventMap {
    /** A service enters a phase of its life. */
    application: [
      {
        /** The name of the service. */
        readonly name: string;
        /** The phase that begins. */
        readonly phase: Phase;
        /** The cause of the end of the service, once there is one. */
        readonly cause: Cause | undefined;
      },
    ];
  }
}
