// The system task of a topology: one timer ticks the ackers, one each bolt that asks for it; and it watches over the
// tasks of bolts, to fail at once what one that has ended held.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Monitor } from "../../process/monitor.js";
import { isOrderly } from "../../process/reason.js";
import type { BoltDefinition } from "../definition/component.js";
import { textOf } from "../definition/errors.js";
import type { Run } from "../runtime/run.js";
import { type ComponentRun, Life } from "../runtime/slot.js";
import { processOf } from "./task.js";

/** A life to watch over, or a component that is to tick. */
type SystemMessage = Life | ComponentRun;

export function systemTask(run: Run): Callbacks<SystemMessage> {
  const watched = new Map<Monitor, Life>();
  const known = new Set<Life>();
  const watch = (ctx: Context<SystemMessage>, life: Life): void => {
    if (known.has(life)) return;
    known.add(life);
    watched.set(ctx.monitor(life.process.pid as never), life);
  };
  return {
    init: (ctx) => {
      run.watchedBy(processOf(ctx as Context<never>));
      // Those that began, or ended, while there was no system task.
      for (const life of run.lives) watch(ctx, life);
      ctx.sendInterval(ctx.self, run.ackers, run.blueprint.config.messageTimeoutMs / 2);
      for (const bolt of run.bolts) {
        const { definition, config } = bolt.plan;
        if (config.tickMs !== undefined && (definition as BoltDefinition).options.tick !== undefined)
          ctx.sendInterval(ctx.self, bolt, config.tickMs);
      }
    },
    handle: (ctx, message) => {
      if (message instanceof Life) watch(ctx, message);
      else tick(run, message);
    },
    signal: (_ctx, signal) => {
      if (signal.type !== "down") return;
      const life = watched.get(signal.ref);
      if (life === undefined) return;
      watched.delete(signal.ref);
      known.delete(life);
      const reason = life.process.exitReason ?? signal.reason;
      if (!isOrderly(reason)) run.lastCrash = reason;
      // One that was killed was so by somebody, who knows.
      if (reason.type === "crash")
        run.log("error", life.slot.component.name, life.slot.task, () => `crashed: ${textOf(reason.error)}`);
      run.settle(life);
    },
  };
}

/** A task that has not come to its last tick gets no second one. */
function tick(run: Run, component: ComponentRun): void {
  if (component === run.ackers) {
    run.expiry.tick();
    run.expiry.sweep();
  }
  for (const slot of run.slotsOf(component)) {
    if (slot.ticking || slot.process === undefined) continue;
    slot.ticking = true;
    slot.process.deliver("tick");
  }
}
