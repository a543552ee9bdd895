// The process of a spout's task, from its start to its end. `pump.ts` decides when `next` is called, `spout-settlement.ts` settles
// the tuples.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import { OptionError } from "../../process/errors.js";
import type { InitContext, SpoutDefinition, SpoutEmitOptions } from "../definition/component.js";
import type { Order } from "../runtime/messages.js";
import { Outlet } from "../runtime/outlet.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { Incarnation, TaskSlot } from "../runtime/task-slots.js";
import { TreeEnd } from "../tracking/acker-machine.js";
import { emitters } from "./emitters.js";
import { InFlightTuples } from "./in-flight.js";
import { Pump } from "./pump.js";
import { type AnySpoutContext, type SpoutParts, SpoutSettlement } from "./spout-settlement.js";
import { endWithLinked, processOf, refuseDead, slotContext, starting, whenDone } from "./task.js";

export type SpoutMessage = TreeEnd | Order;

const NO_OPTIONS: SpoutEmitOptions<unknown> = {};

/** The behaviour of a task of the spout in this slot. */
export function spoutTask(run: RunningTopology, slot: TaskSlot): Callbacks<SpoutMessage> {
  let task: SpoutTask | undefined;
  const { options } = slot.component.plan.definition as SpoutDefinition;
  return {
    init: (ctx) =>
      starting(run, slot, () => {
        const known = slotContext(run, slot, ctx as Context<never>);
        return whenDone(options.init?.(known), (state) => {
          if (!ctx.alive) return undefined;
          const incarnation = run.incarnations.started(slot, processOf(ctx as Context<never>));
          task = new SpoutTask(run, incarnation, ctx as Context<never>, options, { ...known, state });
          return task.start();
        });
      }),
    handle: (_ctx, message) => {
      const { settlement } = task as SpoutTask;
      return message instanceof TreeEnd ? settlement.treeEnded(message) : (task as SpoutTask).obey(message);
    },
    signal: (_ctx, signal) =>
      signal.type === "down" ? task?.settlement.ackerEnded(signal.ref) : endWithLinked(signal),
    terminate: (_ctx, reason) => (reason.type === "crash" ? undefined : task?.end()),
  };
}

class SpoutTask {
  readonly settlement: SpoutSettlement;
  readonly #spout: SpoutParts;

  constructor(
    run: RunningTopology,
    incarnation: Incarnation,
    ctx: Context<never>,
    options: SpoutDefinition["options"],
    known: InitContext & { readonly state: unknown },
  ) {
    const outlet = new Outlet(run, incarnation);
    const inFlight = new InFlightTuples(run, incarnation, ctx, outlet);
    const pump: Pump = new Pump(run, incarnation, ctx, inFlight, () => options.next(own));
    const own: AnySpoutContext = {
      ...known,
      emit: this.#emitters(incarnation, outlet, inFlight, pump),
      wake: () => pump.goLater(),
      done: () => this.#finish(),
    };
    this.#spout = { run, incarnation, ctx, options, outlet, inFlight, pump, own };
    this.settlement = new SpoutSettlement(this.#spout);
  }

  start(): unknown {
    this.settlement.takeOver();
    return this.#spout.run.switches.flowing ? this.obey("activate") : undefined;
  }

  obey(order: Order): unknown {
    const { incarnation, options, own, pump } = this.#spout;
    switch (order) {
      case "activate":
        this.settlement.takeOver();
        if (!pump.activate()) return undefined;
        incarnation.active = true;
        return this.settlement.after(options.activate?.(own));
      case "deactivate":
        return this.#deactivate();
      case "go":
        pump.called();
        this.settlement.takeOver();
        this.settlement.emitWaiting();
        return pump.go();
      case "tick":
      case "flush":
        return undefined;
      default:
        return order satisfies never;
    }
  }

  /** The task ends without a crash. When the topology ends for good, all tuples that are not settled have failed. */
  end(): unknown {
    const { run, incarnation, options, own } = this.#spout;
    const ending = run.switches.ending || incarnation.slot.leaving;
    return whenDone(
      whenDone(ending ? this.settlement.abandon() : undefined, () => this.#deactivate()),
      () => options.close?.(own, ending),
    );
  }

  #finish(): void {
    const { run, incarnation } = this.#spout;
    refuseDead(incarnation.process);
    incarnation.slot.spout.done = true;
    run.settlements.notify();
  }

  #emitters(
    { process, slot }: Incarnation,
    outlet: Outlet,
    inFlight: InFlightTuples,
    pump: Pump,
  ): AnySpoutContext["emit"] {
    return emitters(slot.component.plan, (name, check) => {
      const out = outlet.stream(name);
      return (values: object, options: SpoutEmitOptions<unknown> = NO_OPTIONS): void => {
        refuseDead(process);
        check?.(values);
        pump.emits();
        if (options.id !== undefined) this.settlement.emit(inFlight.add(name, values, options));
        else if ("id" in options)
          throw new OptionError(
            `emit.${name}(…).id`,
            undefined,
            "given, or left out for a tuple that is not tracked",
          );
        else outlet.emit(out, values, undefined, options === NO_OPTIONS ? undefined : options);
      };
    });
  }

  #deactivate(): unknown {
    const { run, incarnation, options, own, pump } = this.#spout;
    if (!pump.deactivate()) return undefined;
    return whenDone(options.deactivate?.(own), () => {
      incarnation.active = false;
      run.settlements.notify();
    });
  }
}
