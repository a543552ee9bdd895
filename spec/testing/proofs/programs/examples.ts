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
const TWO_STOPS: Program = {
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

/** The power of the disk is lost once, by whoever comes first. The theme is `world`. */
const TWO_POWER_LOSSES: Program = {
  procs: [body([{ op: "power loss" }]), body([{ op: "power loss" }])],
  scenario: [{ op: "remove a file", file: "f" } as Instruction],
  faults: {},
  network: undefined,
};

/** A caller crashes before or after its call is taken. The theme is `faults`. */
const CRASHED_CALLER: Program = {
  procs: [
    { ...body([]), kind: "server", manners: "answers late" },
    body([{ op: "call in the background", to: 0 } as Instruction], { variant: 1 }),
    body([]),
  ],
  scenario: [],
  faults: { crash: { of: "system/b", reason: "shutdown" } },
  network: undefined,
};

/** A request may be refused, and then uses nothing. The theme is `requests`. */
const REFUSED_REQUEST: Program = {
  procs: [
    { ...body([{ op: "get a row", row: "u" } as Instruction, { op: "dump all rows" }]), kind: "callbacks" },
    { ...body([{ op: "append to a row", row: "u" } as Instruction]), kind: "callbacks" },
  ],
  scenario: [{ op: "append to a row", row: "u" } as Instruction],
  faults: {},
  network: undefined,
};

/** Programs by what they show, and the themes that they are of. */
export const EXAMPLES: readonly (readonly [title: string, theme: string, Program])[] = [
  ["two processes stop the system, and a third spawns", "names", TWO_STOPS],
  ["two processes let the power fail unless it has failed", "world", TWO_POWER_LOSSES],
  ["a request is refused after another one has been answered", "requests", REFUSED_REQUEST],
  ["a caller crashes before or after its call is taken", "faults", CRASHED_CALLER],
];
