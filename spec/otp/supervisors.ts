// Carries out supervisor scenarios: the tree that a trace describes, workers that log what happens to them, and the
// requests of its steps.

import {
  type Callbacks,
  CalleeExitedError,
  ChildError,
  type ChildSpec,
  type ExitReason,
  ignore,
  type Pid,
  StartError,
  type SupervisorDefinition,
  type SupervisorRef,
  System,
  stop,
  supervisor,
  supervisorRef,
} from "signalbox";
import { reasonOf, wordOf } from "./reasons.js";
import type { AutoShutdown, ChildNode, RootNode, Seen, Strategy, TreeOp, WorkerNode } from "./trace.js";

/** Long enough that no restart is ever forgotten: the traces count them, they do not time them. */
const PERIOD_MS = 3_600_000;

/** One run of a supervisor scenario. */
export class TreeRun {
  private readonly system: System = new System({ name: "tree", report: false });
  private readonly tree: RootNode;
  /** Who runs under an id now. A worker whose start failed or was ignored never does. */
  private readonly running = new Map<string, Pid>();
  private readonly ids = new Map<Pid, string>();
  /** Starts of each worker so far: its plan goes by them. */
  private readonly starts = new Map<string, number>();
  private order: unknown[][] = [];
  private died: unknown[][] = [];

  constructor(tree: RootNode) {
    this.tree = tree;
    this.system.events.on("exit", ({ pid, reason }) => {
      const id = this.ids.get(pid);
      if (id === undefined) return;
      this.died.push([id, wordOf(reason)]);
      if (this.running.get(id) === pid) this.running.delete(id);
    });
  }

  async step(op: TreeOp): Promise<Seen> {
    this.order = [];
    this.died = [];
    const result = await this.settled(this.perform(op));
    return { result, order: this.order, died: this.died };
  }

  async close(): Promise<void> {
    await this.system.stop();
  }

  /** What an operation came to, once nothing moves any more: one that still waits then would wait for ever. */
  private async settled(operation: Promise<unknown>): Promise<unknown> {
    let result: unknown = "no answer";
    operation.then(
      (value) => {
        result = value;
      },
      (error: unknown) => {
        result = problemOf(error);
      },
    );
    await this.system.idle();
    return result;
  }

  private async perform(op: TreeOp): Promise<unknown> {
    if (op === "start") {
      const [, id, strategy, intensity, autoShutdown, children] = this.tree;
      await this.system.start(this.supervisor(id, strategy, intensity, autoShutdown, children));
      return "ok";
    }
    const [name, id] = op;
    const pid = this.running.get(id);
    if (pid === undefined) return "skipped";
    const ref = supervisorRef(this.system, pid);
    switch (name) {
      case "exit":
        this.system.send(pid as Pid<ExitReason>, reasonOf(op[2]));
        return "ok";
      case "signal":
        this.system.exit(pid, reasonOf(op[2]));
        return "ok";
      case "stop":
        this.system.exit(pid, "shutdown");
        return "ok";
      case "terminate_child":
        await ref.terminateChild(op[2]);
        return "ok";
      case "restart_child":
        return (await ref.restartChild(op[2])) === undefined ? "ignored" : "ok";
      case "delete_child":
        await ref.deleteChild(op[2]);
        return "ok";
      case "start_child":
        return (await ref.startChild(this.child(op[2]))) === undefined ? "ignored" : "ok";
      case "which_children":
        return listed(ref);
      case "count_children":
        return Object.entries(await ref.countChildren()).sort();
    }
  }

  private supervisor(
    id: string,
    strategy: Strategy,
    intensity: number,
    autoShutdown: AutoShutdown,
    children: readonly ChildNode[],
  ): SupervisorDefinition {
    return supervisor({
      label: id,
      strategy,
      intensity,
      periodMs: PERIOD_MS,
      autoShutdown,
      children: children.map((child) => this.child(child)),
      onStart: (ctx) => this.started(id, ctx.self),
    });
  }

  private child(node: ChildNode): ChildSpec {
    if (node[0] === "worker") {
      const [, id, restart, shutdown, significant] = node;
      const limit = shutdown === "infinity" ? Number.POSITIVE_INFINITY : shutdown;
      return { id, start: this.worker(node), restart, shutdown: limit, significant };
    }
    const [, id, restart, strategy, intensity, autoShutdown, children] = node;
    const start = this.supervisor(id, strategy, intensity, autoShutdown, children);
    return { id, start, restart, shutdown: Number.POSITIVE_INFINITY };
  }

  /**
   * A message tells it to end itself, with the reason it is to have. It logs being told to stop by anybody else,
   * which only one that traps exits can, and ends with the reason of that EXIT.
   */
  private worker([, id, , , , trap, plan]: WorkerNode): Callbacks<ExitReason> {
    let leaving = false;
    return {
      init: (ctx) => {
        const start = this.starts.get(id) ?? 0;
        this.starts.set(id, start + 1);
        switch (plan[start]) {
          case "error":
            this.order.push(["start_failed", id]);
            throw new Error("refused to start");
          case "ignore":
            this.order.push(["start_ignored", id]);
            return ignore;
          default:
            leaving = false;
            ctx.trapExit(trap);
            this.started(id, ctx.self);
            return undefined;
        }
      },
      handle: (_ctx, reason) => {
        leaving = true;
        return stop(reason);
      },
      signal: (_ctx, signal) => (signal.type === "exit" ? stop(signal.reason) : undefined),
      terminate: (_ctx, reason) => {
        if (!leaving) this.order.push(["terminate", id, wordOf(reason)]);
      },
    };
  }

  private started(id: string, pid: Pid): void {
    this.running.set(id, pid);
    this.ids.set(pid, id);
    this.order.push(["started", id]);
  }
}

/** Children as a trace lists them; OTP calls one that does not run `undefined`. */
async function listed(ref: SupervisorRef): Promise<unknown> {
  const children = await ref.whichChildren();
  return children.map(({ id, status }) => [id, status === "stopped" ? "undefined" : status]);
}

/** A trace's word for how a request failed; anything unforeseen shows as what it is. */
function problemOf(error: unknown): string {
  if (error instanceof StartError) return "failed";
  if (error instanceof CalleeExitedError) return "sup_died";
  if (error instanceof ChildError) return error.problem === "start_failed" ? "start_error" : error.problem;
  return String(error);
}
