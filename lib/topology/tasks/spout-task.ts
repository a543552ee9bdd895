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
import { type AnySpoutContext, SpoutSettlement } from "./spout-settlement.js";
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
          task = new SpoutTask(run, incarnation, ctx as Context<never>, known, state);
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
  readonly #run: RunningTopology;
  readonly #incarnation: Incarnation;
  readonly #outlet: Outlet;
  readonly #inFlight: InFlightTuples;
  readonly #pump: Pump;
  readonly #own: AnySpoutContext;

  constructor(
    run: RunningTopology,
    incarnation: Incarnation,
    ctx: Context<never>,
    known: InitContext,
    state: unknown,
  ) {
    this.#run = run;
    this.#incarnation = incarnation;
    this.#outlet = new Outlet(run, incarnation);
    this.#inFlight = new InFlightTuples(run, incarnation, ctx, this.#outlet);
    const options = this.#options;
    this.#pump = new Pump(run, incarnation, ctx, this.#inFlight, () => options.next(this.#own));
    this.settlement = new SpoutSettlement(
      run,
      incarnation,
      ctx,
      this.#outlet,
      this.#inFlight,
      this.#pump,
      () => this.#own,
    );
    this.#own = {
      ...known,
      state,
      emit: this.#emitters(),
      wake: () => this.#pump.goLater(),
      done: () => this.#finish(),
    };
  }

  start(): unknown {
    this.settlement.takeOver();
    return this.#run.switches.flowing ? this.obey("activate") : undefined;
  }

  obey(order: Order): unknown {
    switch (order) {
      case "activate":
        this.settlement.takeOver();
        if (this.#pump.active) return undefined;
        this.#pump.active = true;
        this.#incarnation.active = true;
        return this.settlement.after(this.#options.activate?.(this.#own));
      case "deactivate":
        return this.#deactivate();
      case "go":
        this.#pump.going = false;
        this.settlement.takeOver();
        this.settlement.emitWaiting();
        return this.#pump.go();
      case "tick":
      case "flush":
        return undefined;
      default:
        return order satisfies never;
    }
  }

  /** The task ends without a crash. When the topology ends for good, all tuples that are not settled have failed. */
  end(): unknown {
    const ending = this.#run.switches.ending || this.#incarnation.slot.leaving;
    return whenDone(
      whenDone(ending ? this.settlement.abandon() : undefined, () => this.#deactivate()),
      () => this.#options.close?.(this.#own, ending),
    );
  }

  get #options(): SpoutDefinition["options"] {
    return (this.#incarnation.slot.component.plan.definition as SpoutDefinition).options;
  }

  #finish(): void {
    refuseDead(this.#incarnation.process);
    this.#incarnation.slot.spout.done = true;
    this.#run.settlements.notify();
  }

  #emitters(): AnySpoutContext["emit"] {
    const pump = this.#pump;
    const outlet = this.#outlet;
    const { process, slot } = this.#incarnation;
    return emitters(slot.component.plan, (name, check) => {
      const out = outlet.stream(name);
      return (values: object, options: SpoutEmitOptions<unknown> = NO_OPTIONS): void => {
        refuseDead(process);
        check?.(values);
        pump.emitted++;
        if (options.id !== undefined) this.settlement.emit(this.#inFlight.add(name, values, options));
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
    if (!this.#pump.active) return undefined;
    this.#pump.active = false;
    this.#pump.rest();
    return whenDone(this.#options.deactivate?.(this.#own), () => {
      this.#incarnation.active = false;
      this.#run.settlements.notify();
    });
  }
}
