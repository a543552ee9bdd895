// The process of an acker: notifies spouts of the ends of their trees, and monitors these spouts.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Monitor } from "../../process/monitor.js";
import { ACK, AckerMessage, EXTEND, FAIL, type Order, TRACK } from "../runtime/messages.js";
import type { RunningTopology } from "../runtime/running-topology.js";
import type { Incarnation, TaskSlot } from "../runtime/task-slots.js";
import { AckerMachine, FAILED, RETURNED, type TreeEnd } from "../tracking/acker-machine.js";
import { processOf } from "./task.js";

export type AckerOrder = AckerMessage | Order;

/** The behaviour of the acker in this slot. */
export function ackerTask(run: RunningTopology, slot: TaskSlot): Callbacks<AckerOrder> {
  let machine: AckerMachine;
  /** The machine identifies spouts' processes by numbers. */
  const numbers = new Map<Incarnation, number>();
  const owners = new Map<number, { readonly incarnation: Incarnation; readonly ref: Monitor }>();
  let lastNumber = 0;

  const numberOf = (ctx: Context<AckerOrder>, incarnation: Incarnation): number => {
    const known = numbers.get(incarnation);
    if (known !== undefined) return known;
    const number = ++lastNumber;
    numbers.set(incarnation, number);
    owners.set(number, { incarnation, ref: ctx.monitor(incarnation.process.pid as never) });
    return number;
  };
  const decide = (ctx: Context<AckerOrder>, message: AckerMessage): TreeEnd | undefined => {
    const { kind, hi, lo } = message;
    if (kind === ACK) return machine.ack(hi, lo, message.xorHi, message.xorLo);
    if (kind === TRACK)
      return machine.track(hi, lo, message.xorHi, message.xorLo, numberOf(ctx, message.spout as Incarnation));
    if (kind !== EXTEND) return machine.fail(hi, lo, kind === FAIL ? FAILED : RETURNED);
    machine.extend(hi, lo);
    return undefined;
  };
  const notify = (end: TreeEnd): void => {
    const process = owners.get(end.spout)?.incarnation.process;
    if (process?.alive) process.deliver(end);
  };

  return {
    init: (ctx) => {
      machine = new AckerMachine({ capacity: run.registry.ackerCapacity });
      slot.trees = machine;
      run.incarnations.starting(slot);
      run.incarnations.started(slot, processOf(ctx as Context<never>));
      // Spouts whose emits found no acker wait for this one.
      for (const spout of run.registry.spouts) spout.order("go");
    },
    handle: (ctx, message) => {
      run.hooks.ackedTrees(slot, "write");
      if (message instanceof AckerMessage) {
        const end = decide(ctx, message);
        if (end !== undefined) notify(end);
      } else if (message === "tick") {
        slot.ticking = false;
        for (const end of machine.tick()) notify(end);
      } else if (message === "go") machine.capacity = run.registry.ackerCapacity;
    },
    signal: (_ctx, signal) => {
      if (signal.type !== "down") return;
      for (const [number, { incarnation, ref }] of owners) {
        if (ref !== signal.ref) continue;
        owners.delete(number);
        numbers.delete(incarnation);
        machine.spoutGone(number);
      }
    },
  };
}
