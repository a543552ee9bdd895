// The system task of a topology: one timer ticks the ackers, one each bolt that asks for it; and it watches over the
// tasks of bolts, to fail at once what one that has ended held.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Monitor } from "../../process/monitor.js";
import { isOrderly } from "../../process/reason.js";
import type { BoltDefinition } from "../definition/component.js";
import { textOf } from "../definition/errors.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import { type ComponentRun, Incarnation } from "../runtime/task-slots.js";
import { processOf } from "./task.js";

/** A life to watch over, or a component that is to tick. */
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
      // Those that began, or ended, while there was no system task.
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
      // One that was killed was so by somebody, who knows.
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

/** A task that has not come to its last tick gets no second one. */
function tick(run: RunningTopology, component: ComponentRun): void {
  if (component === run.registry.ackers) {
    run.expiry.tick();
    run.expiry.sweep();
  }
  for (const slot of run.registry.slotsOf(component)) {
    if (slot.ticking || slot.process === undefined) continue;
    slot.ticking = true;
    slot.process.deliver("tick");
  }
}
