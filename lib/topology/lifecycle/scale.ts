// Adds tasks to a running component, or takes tasks out. A task that is taken out gets no more tuples and finishes those
// that it has.

import type { Body } from "../../process/behaviour.js";
import type { BodyContext } from "../../process/body-context.js";
import type { Context } from "../../process/context.js";
import { CalleeExitedError, OptionError, ReceiveTimeoutError } from "../../process/errors.js";
import { count } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import type { ReplyTo } from "../../process/request.js";
import { ChildError } from "../../supervisor/errors.js";
import type { Answer } from "../../supervisor/protocol.js";
import type { SupervisorMessage } from "../../supervisor/ref.js";
import { capacityFor } from "../definition/check.js";
import { ACKERS } from "../runtime/acker-plan.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { ComponentRun, TaskSlot } from "../runtime/task-slots.js";
import { executorSpec, taskSpec } from "./tree.js";

export interface ScaleMessage {
  readonly type: "scale";
  readonly component: string;
  readonly tasks: number;
  readonly replyTo: ReplyTo<undefined>;
}

/** The scaling has ended, with an error if it failed. */
export interface ScaledMessage {
  readonly type: "scaled";
  readonly error: Error | undefined;
}

/** The scaling of a topology, one component at a time. A process of its own does the work. */
export class Scaling {
  readonly #run: RunningTopology;
  #replyTo: ReplyTo<undefined> | undefined = undefined;

  constructor(run: RunningTopology) {
    this.#run = run;
  }

  get isRunning(): boolean {
    return this.#replyTo !== undefined;
  }

  begin(ctx: Context<ScaledMessage>, { component: name, tasks, replyTo }: ScaleMessage): void {
    const run = this.#run;
    try {
      const component = checkScale(run, name, tasks);
      this.#replyTo = replyTo;
      const { self } = ctx;
      ctx.spawnLink(
        scaler(run, component, tasks, (helper, error) => helper.send(self, { type: "scaled", error })),
        { label: "scaler" },
      );
    } catch (error) {
      ctx.refuse(replyTo, error as Error);
    }
  }

  /** The scaling has ended: answers its caller. */
  end(ctx: Context<ScaledMessage>, error: Error | undefined): void {
    const replyTo = this.#replyTo;
    this.#replyTo = undefined;
    if (replyTo === undefined) return;
    if (error === undefined) ctx.reply(replyTo, undefined);
    else ctx.refuse(replyTo, error);
  }
}

/** @throws OptionError */
function checkScale(run: RunningTopology, name: string, tasks: number): ComponentRun {
  const component = run.registry.components.find((one) => one.name === name && name !== ACKERS);
  if (component === undefined) {
    const known = run.blueprint.components.map((one) => one.name).join(", ");
    throw new OptionError("component", name, `one of ${known}`);
  }
  count("tasks", tasks, 1);
  const { ackerCapacity } = run.blueprint.config;
  const needed = capacityFor(
    run.registry.spouts.map(
      (spout) => (spout === component ? tasks : spout.slots.length) * spout.plan.config.maxPending,
    ),
  );
  if (ackerCapacity !== undefined && needed > ackerCapacity)
    throw new OptionError(
      "tasks",
      tasks,
      `so few that the ackers can track their trees: ackerCapacity is ${ackerCapacity}, not ${needed}`,
    );
  return component;
}

/** A process that changes the number of a component's tasks. @param done - called at the end, with an error if it failed */
function scaler(
  run: RunningTopology,
  component: ComponentRun,
  tasks: number,
  done: (ctx: BodyContext<"settled">, error: Error | undefined) => void,
): Body<"settled"> {
  return async (ctx) => {
    try {
      while (component.slots.length < tasks) await grow(ctx, run, component);
      while (component.slots.length > tasks) await shrink(ctx, run, component);
      done(ctx, undefined);
    } catch (error) {
      if (!ctx.alive) throw error;
      done(ctx, error as Error);
    }
  };
}

async function grow(
  ctx: BodyContext<"settled">,
  run: RunningTopology,
  component: ComponentRun,
): Promise<void> {
  const before = component.executors.length;
  const slot = run.registry.addSlot(component);
  run.registry.ackers.order("go");
  const { executor } = slot;
  const group = run.groups.get(component.plan.kind === "spout" ? "spouts" : "bolts");
  const isNew = component.executors.length > before;
  const spec = isNew ? executorSpec(run, executor) : taskSpec(run, slot);
  const answer = await ask(ctx, isNew ? group : executor.pid, (replyTo) => ({ type: "add", spec, replyTo }));
  // A supervisor that is down or starting reads the new list of children when it runs.
  if (answer === undefined || answer.ok || answer.problem === "already_started") {
    run.registry.open(slot);
    return;
  }
  run.registry.remove(slot);
  if (isNew) component.executors.pop();
  throw new ChildError(component.name, spec.id, answer.problem, answer.reason);
}

async function shrink(
  ctx: BodyContext<"settled">,
  run: RunningTopology,
  component: ComponentRun,
): Promise<void> {
  const slot = run.registry.retire(component);
  if (component.plan.kind === "spout") slot.process?.deliver("deactivate");
  await finish(ctx, run, slot);
  slot.leaving = true;
  run.registry.remove(slot);
  // A supervisor that is down starts again without this child.
  const { pid } = slot.executor;
  const { id } = slot;
  await ask(ctx, pid, (replyTo) => ({ type: "terminate", id, replyTo }));
  await ask(ctx, pid, (replyTo) => ({ type: "delete", id, replyTo }));
}

/** Undefined when the supervisor does not run. */
async function ask(
  ctx: BodyContext<"settled">,
  supervisor: Pid | undefined,
  build: (replyTo: ReplyTo<Answer<Pid>>) => SupervisorMessage,
): Promise<Answer<Pid> | undefined> {
  if (supervisor?.process === undefined) return undefined;
  try {
    return await ctx.call(supervisor as Pid<SupervisorMessage>, build, {
      timeoutMs: Number.POSITIVE_INFINITY,
    });
  } catch (error) {
    if (error instanceof CalleeExitedError) return undefined;
    throw error;
  }
}

/** Waits until the task has settled its tuples, or the time to drain is over. */
async function finish(ctx: BodyContext<"settled">, run: RunningTopology, slot: TaskSlot): Promise<void> {
  const deadline = ctx.now() + run.blueprint.config.drainMs;
  let flushedAt = -1;
  const isBusy = (): boolean =>
    slot.pending > 0 ||
    (slot.process !== undefined && slot.incarnation?.asking === true) ||
    // Tuples that the task has lost come back to it.
    slot.outstanding(ctx.now()) < Number.POSITIVE_INFINITY;
  for (let left = deadline - ctx.now(); isBusy() && left > 0; left = deadline - ctx.now()) {
    run.settlements.watch(ctx.self.process as Process);
    // One flush, unless more tuples come.
    if (slot.buffer.queued === 0 && slot.delivered !== flushedAt) {
      flushedAt = slot.delivered;
      slot.process?.deliver("flush");
    }
    try {
      await ctx.receive({ timeoutMs: left });
    } catch (error) {
      if (!(error instanceof ReceiveTimeoutError)) throw error;
    }
  }
}
