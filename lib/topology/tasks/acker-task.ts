// The process of an acker: tells spouts what became of their trees, and watches over the spouts that it may have to tell.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Monitor } from "../../process/monitor.js";
import { ACK, AckerMessage, EXTEND, FAIL, type Order, TRACK } from "../runtime/messages.js";
import type { Run } from "../runtime/run.js";
import type { Life, Slot } from "../runtime/slot.js";
import { AckerMachine, FAILED, RETURNED, type TreeEnd } from "../tracking/acker-machine.js";
import { processOf } from "./task.js";

export type AckerOrder = AckerMessage | Order;

/** The behaviour of the acker in this slot. */
export function ackerTask(run: Run, slot: Slot): Callbacks<AckerOrder> {
  let machine: AckerMachine;
  /** The numbers that the machine knows spouts' processes by, and these by number. */
  const numbers = new Map<Life, number>();
  const owners = new Map<number, { readonly life: Life; readonly ref: Monitor }>();
  let lastNumber = 0;

  const numberOf = (ctx: Context<AckerOrder>, life: Life): number => {
    const known = numbers.get(life);
    if (known !== undefined) return known;
    const number = ++lastNumber;
    numbers.set(life, number);
    owners.set(number, { life, ref: ctx.monitor(life.process.pid as never) });
    return number;
  };
  const decide = (ctx: Context<AckerOrder>, message: AckerMessage): TreeEnd | undefined => {
    const { kind, hi, lo } = message;
    if (kind === ACK) return machine.ack(hi, lo, message.xorHi, message.xorLo);
    if (kind === TRACK)
      return machine.track(hi, lo, message.xorHi, message.xorLo, numberOf(ctx, message.spout as Life));
    if (kind !== EXTEND) return machine.fail(hi, lo, kind === FAIL ? FAILED : RETURNED);
    machine.extend(hi, lo);
    return undefined;
  };
  const notify = (end: TreeEnd): void => {
    const process = owners.get(end.spout)?.life.process;
    if (process?.alive) process.deliver(end);
  };

  return {
    init: (ctx) => {
      machine = new AckerMachine({ capacity: run.ackerCapacity });
      slot.trees = machine;
      run.begins(slot);
      run.enter(slot, processOf(ctx as Context<never>));
      // Spouts that had none to track for them wait for this one.
      for (const spout of run.spouts) run.order(spout, "go");
    },
    handle: (ctx, message) => {
      if (run.kernel.interception !== undefined) run.expiry.changes(slot);
      if (message instanceof AckerMessage) {
        const end = decide(ctx, message);
        if (end !== undefined) notify(end);
      } else if (message === "tick") {
        slot.ticking = false;
        for (const end of machine.tick()) notify(end);
      } else if (message === "go") machine.capacity = run.ackerCapacity;
    },
    signal: (_ctx, signal) => {
      if (signal.type !== "down") return;
      for (const [number, { life, ref }] of owners) {
        if (ref !== signal.ref) continue;
        owners.delete(number);
        numbers.delete(life);
        machine.spoutGone(number);
      }
    },
  };
}
