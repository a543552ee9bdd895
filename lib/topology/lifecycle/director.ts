// The process of a running topology. It answers requests, and carries out what two machines decide: the lifecycle, and when
// the topology has come to rest.

import { type Callbacks, deferStart, type StartOutcome, type Stop, stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { Signal } from "../../process/entries.js";
import type { Inspected } from "../../process/inspected.js";
import { invariant } from "../../process/invariant.js";
import type { Monitor } from "../../process/monitor.js";
import type { TimerRef } from "../../process/owned-timer.js";
import type { Pid } from "../../process/pid.js";
import { type ExitReason, formatReason, isOrderly, NORMAL } from "../../process/reason.js";
import type { ReplyTo } from "../../process/request.js";
import { launch, spawnAwaited } from "../../process/start.js";
import { FailedChild } from "../../supervisor/protocol.js";
import type { Blueprint } from "../definition/blueprint.js";
import { TopologyPhaseError, textOf } from "../definition/errors.js";
import { SYSTEM } from "../runtime/acker-plan.js";
import { dispose } from "../runtime/dispose.js";
import { type GraphFigures, type GraphSource, graphFigures } from "../runtime/graph-figures.js";
import { RunningTopology } from "../runtime/running-topology.js";
import { type TopologyState, taskFigures } from "../runtime/task-info.js";
import { processOf } from "../tasks/task.js";
import type { LifecycleEffect, LifecycleEvent, LifecycleState } from "./lifecycle-machine.js";
import * as lifecycle from "./lifecycle-machine.js";
import { orphansOf, plant } from "./orphans.js";
import type { QuiescenceEffect, QuiescenceEvent, QuiescenceState } from "./quiescence-machine.js";
import * as quiescence from "./quiescence-machine.js";
import { checkRunOptions, logSink, type RunOptions } from "./run-options.js";
import { type ScaledMessage, type ScaleMessage, Scaling } from "./scale.js";
import { topologyTree } from "./tree.js";
import { TopologyWork } from "./work-in-progress.js";

/** How a stop went. */
export interface StopReport {
  /** Whether every tuple in flight was settled in time. */
  readonly drained: boolean;
  /** Reliable tuples that the stop has abandoned. The `fail` of their spouts was called. */
  readonly unfinished: number;
}

export type DirectorMessage =
  | { readonly type: "tree"; readonly outcome: StartOutcome }
  | { readonly type: "drainOver" | "again" }
  | { readonly type: "pause" | "resume"; readonly replyTo: ReplyTo<undefined> }
  | { readonly type: "stop"; readonly drainMs: number | undefined; readonly replyTo: ReplyTo<StopReport> }
  | ScaleMessage
  | ScaledMessage
  | { readonly type: "finished"; readonly replyTo: ReplyTo<undefined> }
  /** A tuple was settled. */
  | "settled";

export class Director implements Callbacks<DirectorMessage>, GraphSource {
  readonly #blueprint: Blueprint;
  readonly #options: RunOptions;
  readonly #lifecycle: EffectLoop<LifecycleState, LifecycleEvent, LifecycleEffect>;
  readonly #quiescence: EffectLoop<QuiescenceState, QuiescenceEvent, QuiescenceEffect>;
  /** The context of the process. */
  #ctx!: Context<DirectorMessage>;
  /** Set when the lifecycle has decided that the process exits. */
  #end: Stop | undefined = undefined;
  #work!: TopologyWork;
  #current: RunningTopology | undefined = undefined;
  #root: Pid | undefined = undefined;
  /** The trees of a killed predecessor that have not ended yet. */
  readonly #orphans = new Set<Monitor>();
  #drainTimer: TimerRef | undefined = undefined;
  /** Prints the lines of the log while a live dashboard is drawn. */
  readonly above: { print: ((text: string) => void) | undefined } = { print: undefined };
  readonly #stopping: ReplyTo<StopReport>[] = [];
  /** The callers of `finished()`. */
  #finishing: ReplyTo<undefined>[] = [];
  #scaling!: Scaling;
  #drained = false;
  #unfinished: number | undefined = undefined;

  constructor(blueprint: Blueprint, options: RunOptions) {
    const { restarts } = checkRunOptions(options, blueprint.config);
    this.#blueprint = blueprint;
    this.#options = options;
    const rule = { restarts, backoff: blueprint.config.restartsBackoff };
    this.#lifecycle = new EffectLoop(lifecycle.initial(rule), lifecycle.decide, (effect) =>
      this.#carryOut(effect),
    );
    this.#quiescence = new EffectLoop(quiescence.initial(), quiescence.decide, (effect) =>
      this.#carryOutQuiescence(effect),
    );
  }

  /** The running topology, from the start of this process on. */
  get run(): RunningTopology | undefined {
    return this.#current;
  }

  /** The report of the stop, or of another end. */
  get report(): StopReport {
    return { drained: this.#drained, unfinished: this.#unfinished ?? this.#current?.registry.pending ?? 0 };
  }

  get phase(): LifecycleState["phase"] {
    return this.#lifecycle.state.phase;
  }

  init(ctx: Context<DirectorMessage>): unknown {
    const self = processOf(ctx as Context<never>);
    const { kernel } = self;
    const log = logSink(this.#options, this.#blueprint.name, kernel, this.above);
    const run = new RunningTopology(this.#blueprint, kernel, log);
    this.#ctx = ctx;
    this.#current = run;
    this.#work = new TopologyWork(run);
    this.#scaling = new Scaling(run);
    for (const root of orphansOf(this.#blueprint, run)) {
      kernel.shared?.process(root.pid, "write");
      this.#orphans.add(ctx.monitor(root.pid as never));
    }
    if (this.#orphans.size === 0) this.#startTree();
    return deferStart;
  }

  handle(ctx: Context<DirectorMessage>, message: DirectorMessage): Stop | undefined {
    if (message === "settled") this.#quiescence.dispatch({ type: "settled", work: this.#work });
    else this.#answer(ctx, message);
    return this.#end;
  }

  signal(ctx: Context<DirectorMessage>, signal: Signal): Stop | undefined {
    if (signal.type === "down") {
      // The tasks of the killed predecessor have ended. This director may have got a request to stop meanwhile.
      if (!this.#orphans.delete(signal.ref) || this.#orphans.size > 0) return undefined;
      if (this.phase === "starting") this.#startTree();
      else this.#lifecycle.dispatch({ type: "down", reason: NORMAL, at: ctx.now(), roll: 0 });
      return this.#end;
    }
    if (signal.type !== "exit") return undefined;
    if (signal.from !== this.#root) return isOrderly(signal.reason) ? undefined : stop(signal.reason);
    const reason = this.#whyDown(signal.reason);
    this.#lifecycle.dispatch({ type: "down", reason, at: ctx.now(), roll: ctx.random() });
    return this.#end;
  }

  /** A director that its supervisor stops drains first. When its starter has crashed, it does not drain. */
  parentExit(_ctx: Context<DirectorMessage>, reason: ExitReason): Stop | undefined {
    const drainMs = isOrderly(reason) ? this.#blueprint.config.drainMs : 0;
    this.#lifecycle.dispatch({ type: "stop", drainMs, end: reason });
    return this.#end;
  }

  terminate(): void {
    const run = this.#current as RunningTopology;
    for (const ended of [...run.endings]) ended();
    for (const { name, shared } of run.registry.components)
      for (const value of shared.values())
        void dispose(value, (error) => run.log("error", name, 0, textOf(error)));
  }

  inspected(): Inspected {
    const { name } = this.#blueprint;
    const state = (): TopologyState => {
      const run = this.#current as RunningTopology;
      const uptimeMs = run.kernel.env.now() - run.startedAt;
      return { name, phase: this.phase, uptimeMs, restarts: run.restarts, tasks: taskFigures(run) };
    };
    return { kind: "topology", state };
  }

  get topologyName(): string {
    return this.#blueprint.name;
  }

  graphFigures(): GraphFigures {
    return graphFigures(this.#current as RunningTopology, this.phase);
  }

  #answer(ctx: Context<DirectorMessage>, message: Exclude<DirectorMessage, "settled">): void {
    switch (message.type) {
      case "tree":
        // A failed start needs no answer here: the EXIT of the tree follows.
        if (message.outcome.type === "started") this.#lifecycle.dispatch({ type: "up", at: ctx.now() });
        return;
      case "pause":
      case "resume":
        if (this.phase !== "running" && this.phase !== "paused") {
          this.#refuse(ctx, message.replyTo, message.type);
          return;
        }
        this.#lifecycle.dispatch({ type: message.type });
        ctx.reply(message.replyTo, undefined);
        return;
      case "stop": {
        const drainMs = message.drainMs ?? this.#blueprint.config.drainMs;
        this.#stopping.push(message.replyTo);
        if (message.drainMs === 0) (this.#current as RunningTopology).switches.hasty = true;
        this.#lifecycle.dispatch({ type: "stop", drainMs, end: NORMAL });
        return;
      }
      case "scale":
        if (this.phase !== "running" && this.phase !== "paused") this.#refuse(ctx, message.replyTo, "scale");
        else if (this.#scaling.isRunning)
          this.#refuse(
            ctx,
            message.replyTo,
            "be scaled twice at the same time: wait until the first is done",
          );
        else this.#scaling.begin(ctx, message);
        return;
      case "scaled":
        this.#scaling.end(ctx, message.error);
        return;
      case "finished":
        this.#finishing.push(message.replyTo);
        this.#quiescence.dispatch({ type: "finish", work: this.#work });
        return;
      case "again":
      case "drainOver":
        this.#lifecycle.dispatch(message);
        return;
      default:
        message satisfies never;
    }
  }

  #carryOut(effect: LifecycleEffect): void {
    const run = this.#current as RunningTopology;
    switch (effect.type) {
      case "start":
        this.#startTree();
        return;
      case "started":
        this.#ctx.started();
        return;
      case "activate":
        run.switches.activate(!effect.flowing);
        return;
      case "pause":
      case "resume":
        run.switches[effect.type]();
        return;
      case "drain":
        run.switches.drain();
        // Without a limit there is nothing to time.
        if (effect.ms !== Number.POSITIVE_INFINITY)
          this.#drainTimer = this.#ctx.sendAfter(this.#ctx.self, { type: "drainOver" }, effect.ms);
        this.#quiescence.dispatch({ type: "drain", work: this.#work });
        return;
      case "halt":
        this.#halt(run);
        return;
      case "wait":
        run.switches.restart();
        run.restarts++;
        announceRestart(run, effect);
        this.#ctx.sendAfter(this.#ctx.self, { type: "again" }, effect.ms);
        return;
      case "exit":
        for (const replyTo of this.#stopping) this.#ctx.reply(replyTo, this.report);
        this.#end = stop(effect.reason);
        return;
      default:
        effect satisfies never;
    }
  }

  #carryOutQuiescence(effect: QuiescenceEffect): void {
    const run = this.#current as RunningTopology;
    switch (effect.type) {
      case "watch":
        run.settlements.watch(processOf(this.#ctx as Context<never>));
        return;
      case "flush":
        run.registry.flush(effect.task);
        return;
      case "finished":
        for (const replyTo of this.#finishing) this.#ctx.reply(replyTo, undefined);
        this.#finishing = [];
        return;
      case "drained":
        this.#drained = true;
        if (run.kernel.interception !== undefined) checkDrained(run);
        this.#lifecycle.dispatch({ type: "drained" });
        return;
      default:
        effect satisfies never;
    }
  }

  /** The outcome of the start comes as a message, so that the director can handle a request to stop meanwhile. */
  #startTree(): void {
    const ctx = this.#ctx;
    const self = processOf(ctx as Context<never>);
    const { behaviour, options } = topologyTree(this.#current as RunningTopology)[launch]([]);
    const root = spawnAwaited(self.kernel, self, behaviour, options, Number.POSITIVE_INFINITY, (outcome) =>
      self.kernel.send(ctx.self, { type: "tree", outcome }),
    );
    self.kernel.links.link(self, root.pid);
    this.#root = root.pid;
    plant(self, root, this.#current as RunningTopology);
  }

  /** Why the tree has ended. The task that crashed last knows best. */
  #whyDown(reason: ExitReason): ExitReason {
    const { lastCrash } = this.#current as RunningTopology;
    const root = rootOf(reason);
    return root.type === "shutdown" && lastCrash !== undefined ? lastCrash : root;
  }

  #halt(run: RunningTopology): void {
    const ctx = this.#ctx;
    if (this.#drainTimer !== undefined) ctx.cancel(this.#drainTimer);
    this.#drainTimer = undefined;
    this.#quiescence.dispatch({ type: "halted" });
    run.switches.end();
    this.#unfinished = run.registry.pending;
    if (this.#root !== undefined) ctx.exit(this.#root, "shutdown");
  }

  #refuse(ctx: Context<DirectorMessage>, replyTo: ReplyTo<undefined>, asked: string): void {
    ctx.refuse(replyTo as ReplyTo<never>, new TopologyPhaseError(this.#blueprint.name, this.phase, asked));
  }
}

/** Why a child at the bottom of the tree did not start. */
function rootOf(reason: ExitReason): ExitReason {
  return reason.type === "shutdown" && reason.detail instanceof FailedChild
    ? rootOf(reason.detail.reason)
    : reason;
}

/** Costly, and so checked under a simulator alone. */
function checkDrained({ registry }: RunningTopology): void {
  invariant(registry.inFlight === 0, "no tree of a drained topology is in flight");
  for (const bolt of registry.bolts)
    for (const { buffer } of bolt.allSlots)
      invariant(buffer.queued === 0, "no tuple is in a mailbox of a drained topology");
}

/** Logs and publishes that the topology has failed and starts again. */
function announceRestart(
  run: RunningTopology,
  { ms, reason }: LifecycleEffect & { readonly type: "wait" },
): void {
  run.log("error", SYSTEM, run.registry.systemNumber, () => {
    const why = reason.type === "crash" ? textOf(reason.error) : formatReason(reason);
    return `the topology failed, and starts again in ${Math.round(ms)} ms: ${why}`;
  });
  if (run.kernel.events.wants.topologyRestart)
    run.kernel.events.publish("topologyRestart", { topology: run.name, reason, delayMs: ms });
}
