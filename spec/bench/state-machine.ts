// Events of a state machine: calls that turn a lamp on and off, and say how often that was.

import {
  type Call,
  defineStateMachine,
  type Reply,
  type StateMachineDefinition,
  startIn,
  to,
} from "signalbox";
import { onSystem, type Program } from "./program.js";

type Lamp =
  | { readonly name: "off"; readonly flips: number }
  | { readonly name: "on"; readonly flips: number };
type LampEvent = Call<{ readonly type: "flip" }, number>;

const Lamp: StateMachineDefinition<Lamp, LampEvent, []> = defineStateMachine<Lamp, LampEvent>({
  init: startIn("off", () => ({ name: "off", flips: 0 })),
  states: {
    off: {
      on: {
        flip: to("on", ({ flips }, _flip, m) => m.next({ name: "on", flips: flips + 1 }, m.reply(flips + 1))),
      },
    },
    on: {
      on: {
        flip: to("off", ({ flips }, _flip, m) =>
          m.next({ name: "off", flips: flips + 1 }, m.reply(flips + 1)),
        ),
      },
    },
  },
});

/** Every event is a change of state with new data and a reply; the next event is sent from the reply of the one before. */
export function stateMachine(events: number): Program {
  return onSystem(events, events, async (system, done) => {
    const lamp = await system.start(Lamp);
    system.spawn<never>({
      init: (ctx) => {
        const { ask } = lamp.with({ from: ctx });
        let left = events;
        const next = (reply: Reply<number>): void => {
          if (!reply.ok) throw reply.error;
          if (--left > 0) ask.flip(next);
          else done(reply.value);
        };
        ask.flip(next);
      },
      handle: () => undefined,
    });
  });
}
