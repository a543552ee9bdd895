// The process of a running topology: starts and stops the tree of its tasks as its life cycle decides, and answers those
// who want something of it.

import { type Callbacks, deferStart, type StartOutcome, type Stop, stop } from "../../process/behaviour.js";
import type { ReplyTo } from "../../process/call.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import type { Kernel } from "../../process/kernel.js";
import type { Monitor } from "../../process/monitor.js";
import type { Pid } from "../../process/pid.js";
import { type ExitReason, formatReason, isOrderly, NORMAL } from "../../process/reason.js";
import { launch, spawnAwaited } from "../../process/start.js";
import type { TimerRef } from "../../process/timer.js";
import { FailedChild } from "../../supervisor/protocol.js";
import type { Blueprint } from "../definition/blueprint.js";
import { TopologyPhaseError, textOf } from "../definition/errors.js";
import { dispose } from "../runtime/dispose.js";
import { Run, SYSTEM } from "../runtime/run.js";
import { processOf } from "../tasks/task.js";
import {
  decide,
  initial,
  type LifecycleEffect,
  type LifecycleEvent,
  type LifecycleState,
} from "./lifecycle-machine.js";
import { orphansOf, plant } from "./orphans.js";
import { checkRunOptions, logSink, type RunOptions } from "./run-options.js";
import { checkScale, scaler } from "./scale.js";
import { topologyTree } from "./tree.js";

/** How a stop went. */
export interface StopReport {
  /** Whether everything that was under way came to its end. */
  readonly drained: boolean;
  /** Reliable tuples that were given up: their spouts were told that they failed. */
  readonly unfinished: number;
}

interface ScaleMessage {
  readonly type: "scale";
  readonly component: string;
  readonly tasks: number;
  readonly replyTo: ReplyTo<undefined>;
}

export type DirectorMessage =
  | { readonly type: "tree"; readonly outcome: StartOutcome }
  | { readonly type: "drainOver" | "again" }
  | { readonly type: "pause" | "resume"; readonly replyTo: ReplyTo<undefined> }
  | { readonly type: "stop"; readonly drainMs: number | undefined; readonly replyTo: ReplyTo<StopReport> }
  | ScaleMessage
  | { readonly type: "scaled"; readonly error: Error | undefined }
  | { readonly type: "finished"; readonly replyTo: ReplyTo<undefined> }
  | "rest";

export class Director implements Callbacks<DirectorMessage> {
  private readonly blueprint: Blueprint;
  private readonly options: RunOptions;
  private state: LifecycleState;
  private current: Run | undefined = undefined;
  private root: Pid | undefined = undefined;
  /** Trees that a killed predecessor has left, and that have not ended yet. */
  private readonly orphans = new Set<Monitor>();
  private drainTimer: TimerRef | undefined = undefined;
  /** Takes the log's lines while a live view is drawn. */
  readonly above: { print: ((text: string) => void) | undefined } = { print: undefined };
  private readonly stopping: ReplyTo<StopReport>[] = [];
  /** Those who wait until all spouts are done and nothing is under way. */
  private finishing: ReplyTo<undefined>[] = [];
  private scaling: ReplyTo<undefined> | undefined = undefined;
  private drained = false;
  private unfinished: number | undefined = undefined;

  constructor(blueprint: Blueprint, options: RunOptions) {
    const { restarts } = checkRunOptions(options, blueprint.config);
    this.blueprint = blueprint;
    this.options = options;
    this.state = initial({ restarts, backoff: blueprint.config.restartsBackoff });
  }

  /** What runs, from the moment when it began to start. */
  get run(): Run | undefined {
    return this.current;
  }

  /** How a stop went, or what there was when it ended otherwise. */
  get report(): StopReport {
    return { drained: this.drained, unfinished: this.unfinished ?? this.current?.pending ?? 0 };
  }

  get phase(): LifecycleState["phase"] {
    return this.state.phase;
  }

  init(ctx: Context<DirectorMessage>): unknown {
    const kernel: Kernel = processOf(ctx as Context<never>).kernel;
    this.current = new Run(
      this.blueprint,
      kernel,
      logSink(this.options, this.blueprint.name, kernel, this.above),
    );
    const self = processOf(ctx as Context<never>);
    for (const root of orphansOf(this.blueprint, this.current)) {
      self.kernel.interception?.met(root.pid);
      this.orphans.add(ctx.monitor(root.pid as never));
    }
    if (this.orphans.size === 0) this.startTree(ctx);
    return deferStart;
  }

  handle(ctx: Context<DirectorMessage>, message: DirectorMessage): Stop | undefined {
    if (message === "rest") return this.look(ctx);
    switch (message.type) {
      case "tree":
        // A start that failed is told by its EXIT as well.
        return message.outcome.type === "started"
          ? this.apply(ctx, { type: "up", at: ctx.now() })
          : undefined;
      case "pause":
      case "resume":
        if (this.phase !== "running" && this.phase !== "paused")
          this.refuse(ctx, message.replyTo, message.type);
        else {
          this.apply(ctx, { type: message.type });
          ctx.reply(message.replyTo, undefined);
        }
        return undefined;
      case "stop":
        this.stopping.push(message.replyTo);
        if (message.drainMs === 0) (this.current as Run).is.hasty = true;
        return this.apply(ctx, {
          type: "stop",
          drainMs: message.drainMs ?? this.blueprint.config.drainMs,
          end: NORMAL,
        });
      case "scale":
        this.scale(ctx, message);
        return undefined;
      case "scaled":
        this.scaled(ctx, message.error);
        return undefined;
      case "finished":
        this.finishing.push(message.replyTo);
        return this.look(ctx);
      case "again":
      case "drainOver":
        return this.apply(ctx, message);
      default:
        return message satisfies never;
    }
  }

  signal(ctx: Context<DirectorMessage>, signal: Signal): Stop | undefined {
    if (signal.type === "down") {
      // Its last predecessor's tasks have ended. It may have been told to stop meanwhile.
      if (!this.orphans.delete(signal.ref) || this.orphans.size > 0) return undefined;
      if (this.phase === "starting") this.startTree(ctx);
      else return this.apply(ctx, { type: "down", reason: NORMAL, at: ctx.now(), roll: 0 });
      return undefined;
    }
    if (signal.type !== "exit") return undefined;
    if (signal.from === this.root) return this.down(ctx, signal.reason);
    return isOrderly(signal.reason) ? undefined : stop(signal.reason);
  }

  /** Told to stop by its supervisor, it drains first; when its starter has crashed, there is no time for that. */
  parentExit(ctx: Context<DirectorMessage>, reason: ExitReason): Stop | undefined {
    const drainMs = isOrderly(reason) ? this.blueprint.config.drainMs : 0;
    return this.apply(ctx, { type: "stop", drainMs, end: reason });
  }

  terminate(): void {
    const run = this.current as Run;
    for (const ended of [...run.endings]) ended();
    for (const { name, shared } of run.components)
      for (const value of shared.values())
        void dispose(value, (error) => run.log("error", name, 0, textOf(error)));
  }

  private apply(ctx: Context<DirectorMessage>, event: LifecycleEvent): Stop | undefined {
    const [state, effects] = decide(this.state, event);
    this.state = state;
    let end: Stop | undefined;
    for (const effect of effects) end = this.carry(ctx, effect) ?? end;
    return end;
  }

  private carry(ctx: Context<DirectorMessage>, effect: LifecycleEffect): Stop | undefined {
    const run = this.current as Run;
    switch (effect.type) {
      case "start":
        this.startTree(ctx);
        return undefined;
      case "started":
        ctx.started();
        return undefined;
      case "activate":
        run.is.running = true;
        run.is.paused = !effect.flowing;
        if (effect.flowing) {
          for (const bolt of run.bolts) run.order(bolt, "activate");
          this.flow(run, true);
        } else for (const spout of run.spouts) run.order(spout, "go");
        return undefined;
      case "pause":
      case "resume":
        this.pause(run, effect.type === "pause");
        return undefined;
      case "drain":
        run.is.draining = true;
        this.flow(run, false);
        this.drainTimer = ctx.sendAfter(ctx.self, { type: "drainOver" }, Math.min(effect.ms, LONGEST_DRAIN));
        return this.look(ctx);
      case "halt":
        this.halt(ctx, run);
        return undefined;
      case "wait":
        run.is.running = false;
        this.flow(run, false);
        run.restarts++;
        run.log("error", SYSTEM, run.systemTask.task, () => {
          const why =
            effect.reason.type === "crash" ? textOf(effect.reason.error) : formatReason(effect.reason);
          return `the topology failed, and starts again in ${Math.round(effect.ms)} ms: ${why}`;
        });
        if (run.kernel.events.wants.topologyRestart) {
          const { reason, ms } = effect;
          run.kernel.events.publish("topologyRestart", { topology: run.name, reason, delayMs: ms });
        }
        ctx.sendAfter(ctx.self, { type: "again" }, effect.ms);
        return undefined;
      case "exit":
        for (const replyTo of this.stopping) ctx.reply(replyTo, this.report);
        return stop(effect.reason);
      default:
        return effect satisfies never;
    }
  }

  /** The news of how the start went come as a message, so that it can be told to stop meanwhile. */
  private startTree(ctx: Context<DirectorMessage>): void {
    const self = processOf(ctx as Context<never>);
    const { behaviour, options } = topologyTree(this.current as Run)[launch]([]);
    const root = spawnAwaited(self.kernel, self, behaviour, options, Number.POSITIVE_INFINITY, (outcome) =>
      self.kernel.send(ctx.self, { type: "tree", outcome }),
    );
    self.kernel.links.link(self, root.pid);
    this.root = root.pid;
    plant(self, root, this.current as Run);
  }

  /** The tree has ended: why, is known best from the task that crashed last. */
  private down(ctx: Context<DirectorMessage>, reason: ExitReason): Stop | undefined {
    const { lastCrash } = this.current as Run;
    const root = rootOf(reason);
    const why = root.type === "shutdown" && lastCrash !== undefined ? lastCrash : root;
    return this.apply(ctx, { type: "down", reason: why, at: ctx.now(), roll: ctx.random() });
  }

  /** Pauses spouts before bolts, and resumes bolts before spouts: no tuple reaches a bolt that is paused. */
  private pause(run: Run, paused: boolean): void {
    run.is.paused = paused;
    if (paused) this.flow(run, false);
    for (const bolt of run.bolts) run.order(bolt, paused ? "deactivate" : "activate");
    if (!paused) this.flow(run, true);
  }

  private flow(run: Run, flowing: boolean): void {
    run.is.flowing = flowing;
    for (const spout of run.spouts) {
      run.kernel.interception?.touched(`t:${run.name}/${spout.name}`, "write");
      run.order(spout, flowing ? "activate" : "deactivate");
    }
  }

  private halt(ctx: Context<DirectorMessage>, run: Run): void {
    if (this.drainTimer !== undefined) ctx.cancel(this.drainTimer);
    this.drainTimer = undefined;
    run.is.running = false;
    run.is.flowing = false;
    run.is.ending = true;
    for (const component of run.components) component.release();
    this.unfinished = run.pending;
    if (this.root !== undefined) ctx.exit(this.root, "shutdown");
  }

  /**
   * While it drains, or somebody waits for its end: whether something is still on its way, or held back, or everything
   * is done.
   */
  private look(ctx: Context<DirectorMessage>): Stop | undefined {
    const draining = this.phase === "draining";
    if (!draining && this.finishing.length === 0) return undefined;
    const run = this.current as Run;
    run.waiting.add(processOf(ctx as Context<never>));
    if (run.moving > 0 || !(draining || run.isDone)) return undefined;
    if (run.flush()) return undefined;
    // What is held still, and belongs to trees that have all ended, is nobody's loss.
    if (run.pending > 0 || run.held.some(({ anchored }) => !anchored)) return undefined;
    if (run.isDone) {
      for (const replyTo of this.finishing) ctx.reply(replyTo, undefined);
      this.finishing = [];
    }
    if (!draining) return undefined;
    this.drained = true;
    return this.apply(ctx, { type: "rest" });
  }

  private scale(ctx: Context<DirectorMessage>, message: ScaleMessage): void {
    const run = this.current as Run;
    if (this.phase !== "running" && this.phase !== "paused") {
      this.refuse(ctx, message.replyTo, "scale");
      return;
    }
    if (this.scaling !== undefined) {
      this.refuse(ctx, message.replyTo, "be scaled twice at the same time: wait until the first is done");
      return;
    }
    try {
      const component = checkScale(run, message.component, message.tasks);
      this.scaling = message.replyTo;
      const { self } = ctx;
      ctx.spawnLink(
        scaler(run, component, message.tasks, (helper, error) =>
          helper.send(self, { type: "scaled", error }),
        ),
        { label: "scaler" },
      );
    } catch (error) {
      ctx.refuse(message.replyTo, error as Error);
    }
  }

  private scaled(ctx: Context<DirectorMessage>, error: Error | undefined): void {
    const replyTo = this.scaling;
    this.scaling = undefined;
    if (replyTo === undefined) return;
    if (error === undefined) ctx.reply(replyTo, undefined);
    else ctx.refuse(replyTo, error);
  }

  private refuse(ctx: Context<DirectorMessage>, replyTo: ReplyTo<undefined>, asked: string): void {
    ctx.refuse(replyTo as ReplyTo<never>, new TopologyPhaseError(this.blueprint.name, this.phase, asked));
  }
}

/** Why a child at the bottom of the tree did not start. */
function rootOf(reason: ExitReason): ExitReason {
  return reason.type === "shutdown" && reason.detail instanceof FailedChild
    ? rootOf(reason.detail.reason)
    : reason;
}

/** Timers of the host go no further, some 24 days. */
const LONGEST_DRAIN = 2 ** 31 - 1;
