// Programs whose outcomes once differed, as fast-check made them small.

import type { Instruction, Proc, Program } from "./language.js";

function body(script: readonly Instruction[], options: Partial<Proc> = {}): Proc {
  return {
    kind: "body",
    script,
    reaction: [],
    manners: "answers",
    trap: false,
    mailbox: "unbounded",
    variant: 0,
    ...options,
  };
}

/** A process stops the system, another one has done so before or not, and a third spawns. The theme is `names`. */
export const TWO_STOPS: Program = {
  procs: [
    body([{ op: "stop the system" }], { variant: 1 }),
    body([], { trap: true, variant: 6 }),
    body([{ op: "stop the system" }]),
    body([{ op: "spawn outside" }], { trap: true }),
  ],
  scenario: [{ op: "population" }],
  faults: {},
  network: undefined,
};
