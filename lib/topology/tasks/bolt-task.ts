// The process of a bolt's task, from its start to its end. `bolt-work.ts` works on the tuples.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { BoltDefinition, BoltOptions } from "../definition/component.js";
import type { Streams } from "../definition/field.js";
import { Tuple } from "../definition/tuple.js";
import { Lineage } from "../runtime/lineage.js";
import type { Order } from "../runtime/messages.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { TaskSlot } from "../runtime/task-slots.js";
import { BoltWork } from "./bolt-work.js";
import { endWithLinked, processOf, slotContext, starting, whenDone } from "./task.js";

export type BoltMessage = Tuple | Order;

/** The behaviour of a task of the bolt in this slot. */
export function boltTask(run: RunningTopology, slot: TaskSlot): Callbacks<BoltMessage> {
  const task = new BoltTask(run, slot);
  return {
    init: (ctx) => starting(run, slot, () => task.start(ctx as Context<never>)),
    handle: (_ctx, message) =>
      message instanceof Tuple ? (task.work as BoltWork).take(message) : task.obey(message),
    signal: (_ctx, signal) => endWithLinked(signal),
    terminate: (_ctx, reason) => (reason.type === "crash" ? undefined : task.end()),
  };
}

class BoltTask {
  /** From the end of `init` on. */
  work: BoltWork | undefined = undefined;
  readonly #run: RunningTopology;
  readonly #slot: TaskSlot;
  readonly #options: BoltOptions<Streams, unknown, Tuple>;
  #active = false;

  constructor(run: RunningTopology, slot: TaskSlot) {
    this.#run = run;
    this.#slot = slot;
    this.#options = (slot.component.plan.definition as BoltDefinition).options;
  }

  start(ctx: Context<never>): unknown {
    const run = this.#run;
    const slot = this.#slot;
    const known = new Lineage(run, slot).into(slotContext(run, slot, ctx));
    return whenDone(this.#options.init?.(known), (state) => {
      if (!ctx.alive) return undefined;
      const incarnation = run.incarnations.started(slot, processOf(ctx));
      const work = new BoltWork(run, incarnation, ctx, known, state);
      this.work = work;
      return run.switches.running && !run.switches.paused ? this.#activate(work) : undefined;
    });
  }

  obey(order: Order): unknown {
    const work = this.work as BoltWork;
    switch (order) {
      case "activate":
        return this.#activate(work);
      case "deactivate":
        return this.#deactivate(work);
      case "tick":
        this.#slot.ticking = false;
        return work.after(this.#options.tick?.(work.context), "its tick", () => undefined);
      case "flush":
        return work.after(this.#options.flush?.(work.context), "its flush", () => {
          work.tuples.flushing = false;
        });
      case "go":
        return undefined;
      default:
        return order satisfies never;
    }
  }

  end(): unknown {
    const { work } = this;
    if (work === undefined) return undefined;
    const final = (): boolean => this.#run.switches.ending || this.#slot.leaving;
    return whenDone(
      whenDone(work.quiet(), () => this.#deactivate(work)),
      () => this.#options.close?.(work.context, final()),
    );
  }

  #activate({ context }: BoltWork): unknown {
    if (this.#active) return undefined;
    this.#active = true;
    return this.#options.activate?.(context);
  }

  #deactivate({ context }: BoltWork): unknown {
    if (!this.#active) return undefined;
    this.#active = false;
    return this.#options.deactivate?.(context);
  }
}
