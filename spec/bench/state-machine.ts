// Events of a state machine: casts that turn a lamp on and off, and a call at the end that says how often.

import { type Call, defineStateMachine, type StateMachineDefinition, startIn, to } from "signalbox";
import { onSystem, type Program } from "./program.js";

type Lamp =
  | { readonly name: "off"; readonly flips: number }
  | { readonly name: "on"; readonly flips: number };
type LampEvent = { readonly type: "flip" } | Call<{ readonly type: "flips" }, number>;

const Lamp: StateMachineDefinition<Lamp, LampEvent, []> = defineStateMachine<Lamp, LampEvent>({
  init: startIn("off", () => ({ name: "off", flips: 0 })),
  states: {
    off: {
      on: {
        flip: to("on", ({ flips }, _flip, m) => m.next({ name: "on", flips: flips + 1 })),
        flips: ({ flips }, _event, m) => m.keep(m.reply(flips)),
      },
    },
    on: {
      on: {
        flip: to("off", ({ flips }, _flip, m) => m.next({ name: "off", flips: flips + 1 })),
        flips: ({ flips }, _event, m) => m.keep(m.reply(flips)),
      },
    },
  },
});

/** Casts before a call waits until they are handled: a mailbox of a million casts would measure the collector. */
const BATCH = 500;

/** Every event is a change of state with new data. */
export function stateMachine(events: number): Program {
  return onSystem(events, events, (system, done) => {
    system.spawn<never>(async (ctx) => {
      const lamp = await ctx.start(Lamp);
      let flips = 0;
      for (let left = events; left > 0; left -= BATCH) {
        for (let sent = Math.min(BATCH, left); sent > 0; sent--) lamp.cast.flip();
        flips = await lamp.call.flips();
      }
      done(flips);
    });
  });
}
