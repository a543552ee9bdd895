// The system task of a topology: it ticks the ackers and each bolt with a `tick`; and it monitors all tasks, so that the
// tuples of a bolt's task that has ended fail at once.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Monitor } from "../../process/monitor.js";
import { isOrderly } from "../../process/reason.js";
import type { BoltDefinition } from "../definition/component.js";
import { textOf } from "../definition/errors.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import { type ComponentRun, Incarnation } from "../runtime/task-slots.js";
import { processOf } from "./task.js";

/** A process to monitor, or a component to tick. */
type SystemMessage = Incarnation | ComponentRun;

export function systemTask(run: RunningTopology): Callbacks<SystemMessage> {
  const watched = new Map<Monitor, Incarnation>();
  const known = new Set<Incarnation>();
  const watch = (ctx: Context<SystemMessage>, incarnation: Incarnation): void => {
    if (known.has(incarnation)) return;
    known.add(incarnation);
    watched.set(ctx.monitor(incarnation.process.pid as never), incarnation);
  };
  return {
    init: (ctx) => {
      run.incarnations.systemStarted(processOf(ctx as Context<never>));
      // Processes that started or ended while the system task did not run.
      for (const incarnation of run.incarnations.running) watch(ctx, incarnation);
      ctx.sendInterval(ctx.self, run.registry.ackers, run.blueprint.config.messageTimeoutMs / 2);
      for (const bolt of run.registry.bolts) {
        const { definition, config } = bolt.plan;
        if (config.tickMs !== undefined && (definition as BoltDefinition).options.tick !== undefined)
          ctx.sendInterval(ctx.self, bolt, config.tickMs);
      }
    },
    handle: (ctx, message) => {
      if (message instanceof Incarnation) watch(ctx, message);
      else tick(run, message);
    },
    signal: (_ctx, signal) => {
      if (signal.type !== "down") return;
      const incarnation = watched.get(signal.ref);
      if (incarnation === undefined) return;
      watched.delete(signal.ref);
      known.delete(incarnation);
      const reason = incarnation.process.exitReason ?? signal.reason;
      if (!isOrderly(reason)) run.lastCrash = reason;
      // A kill is deliberate, so it is not logged; only crashes are.
      if (reason.type === "crash")
        run.log(
          "error",
          incarnation.slot.component.name,
          incarnation.slot.task,
          () => `crashed: ${textOf(reason.error)}`,
        );
      run.incarnations.ended(incarnation);
    },
  };
}

/** A task whose last tick is still in its mailbox gets no second one. */
function tick(run: RunningTopology, component: ComponentRun): void {
  if (component === run.registry.ackers) {
    run.expiry.tick();
    run.expiry.sweep();
  }
  for (const slot of component.allSlots) {
    if (slot.ticking || slot.process === undefined) continue;
    slot.ticking = true;
    slot.process.deliver("tick");
  }
}
