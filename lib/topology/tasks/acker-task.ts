// The process of an acker: tells spouts what became of their trees, and watches over the spouts that it may have to tell.

import type { Callbacks } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Monitor } from "../../process/monitor.js";
import {
  ACK,
  AckerMessage,
  DONE,
  EXPIRED,
  EXTEND,
  FAIL,
  FAILED,
  type Order,
  RETURNED,
  TRACK,
  Verdict,
} from "../runtime/messages.js";
import type { Run } from "../runtime/run.js";
import type { Life, Slot } from "../runtime/slot.js";
import { AckerMachine, COMPLETED, PENDING, type Verdict as Told } from "../tracking/acker-machine.js";
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
  const tell = (told: Told, hi: number, lo: number, failed: Verdict["kind"] = FAILED): void => {
    if (told === PENDING) return;
    tellSpout(machine.spout, new Verdict(told === COMPLETED ? DONE : failed, hi, lo));
  };
  const tellSpout = (owner: number, verdict: Verdict): void => {
    const process = owners.get(owner)?.life.process;
    if (process?.alive) process.deliver(verdict);
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
        const { kind, hi, lo } = message;
        if (kind === ACK) tell(machine.ack(hi, lo, message.xorHi, message.xorLo), hi, lo);
        else if (kind === TRACK)
          tell(
            machine.track(hi, lo, message.xorHi, message.xorLo, numberOf(ctx, message.spout as Life)),
            hi,
            lo,
          );
        else if (kind === EXTEND) machine.extend(hi, lo);
        else tell(machine.fail(hi, lo), hi, lo, kind === FAIL ? FAILED : RETURNED);
      } else if (message === "tick") {
        slot.ticking = false;
        machine.tick((hi, lo, owner) => tellSpout(owner, new Verdict(EXPIRED, hi, lo)));
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
