// The flow's transition in every state that a few events reach: it throws nothing, repeats nothing, and can always go on.

import { describe, expect, it } from "vitest";
import type { Entry } from "../../../lib/flow/journal/entry.js";
import { decide, initial } from "../../../lib/flow/machine/flow-machine.js";
import type { FlowEvent, How } from "../../../lib/flow/machine/state.js";
import { sized } from "../../support/proof.js";
import {
  BrokenRule,
  type Budget,
  begin,
  happenings,
  identity,
  type Script,
  type World,
} from "./machine-world.js";

const STEP: How = { type: "run", commits: false };
const NAP: How = { type: "sleep", until: { ms: 50 } };
const MAIL: How = { type: "wait", topic: "t", withinMs: undefined, prepares: false };
const MAIL_FOR_A_WHILE: How = { type: "wait", topic: "t", withinMs: 30, prepares: false };
const CHILD: How = { type: "wait", topic: "t", withinMs: undefined, prepares: true };
const SEND: How = { type: "write", value: null };

const scripts: readonly (readonly [name: string, Script])[] = [
  [
    "two steps side by side, one after them",
    {
      start: [
        { key: "a", how: STEP },
        { key: "b", how: STEP },
      ],
      after: { a: [{ key: "c", how: STEP }] },
      returnsAfter: ["b", "c"],
    },
  ],
  [
    "a step that races a sleep",
    {
      start: [
        { key: "a", how: STEP },
        { key: "s", how: NAP },
      ],
      after: { s: [{ key: "late", how: STEP }], a: [{ key: "early", how: SEND }] },
      returnsAfter: ["s"],
    },
  ],
  [
    "a message for a while, and a second one without end",
    {
      start: [
        { key: "m", how: MAIL_FOR_A_WHILE },
        { key: "n", how: MAIL },
      ],
      after: { m: [{ key: "a", how: STEP }] },
      returnsAfter: ["a"],
      topic: "t",
    },
  ],
  [
    "a child, a send and a step",
    {
      start: [
        { key: "child", how: CHILD },
        { key: "send", how: SEND },
      ],
      after: { send: [{ key: "a", how: STEP }] },
      returnsAfter: ["a", "child"],
      topic: "t",
    },
  ],
];

const NOTHING: Budget = { failures: 0, retries: 0, mail: 2, cancels: 0, kills: 0, holds: 0, crashes: 0 };
/** Few kinds of trouble lead deep with few states; many kinds lead wide. */
const BUDGETS: readonly (readonly [name: string, Budget])[] = [
  ["crashes", { ...NOTHING, crashes: 2 }],
  ["failures and retries", { ...NOTHING, failures: 1, retries: 1, crashes: 1 }],
  ["cancellation, kill and hold", { ...NOTHING, cancels: 1, kills: 1, holds: 1, crashes: 1 }],
];

/** Any event, whether it makes sense or not. */
const EVENTS: readonly FlowEvent[] = [
  { type: "drained", now: 5 },
  { type: "waited" },
  { type: "threw" },
  { type: "ran", key: "a", ok: true, value: null },
  { type: "ran", key: "a", ok: false, value: null, retryAt: 7 },
  { type: "ran", key: "nobody", ok: true, value: null },
  { type: "prepared", key: "a" },
  { type: "transacted", key: "a", value: null, at: 5 },
  { type: "written", at: 5 },
  { type: "mail", messages: [{ position: 99, topic: "t", value: null }], now: 5 },
  { type: "mail", messages: [], now: 5 },
  { type: "due", now: 1_000 },
  { type: "versioned", key: "v", from: 1, to: 2 },
  { type: "asked", kind: "sleep", key: "z", how: NAP, now: 5 },
  { type: "returned", ending: { status: "failed", value: null } },
  { type: "cancel", now: 5 },
  { type: "kill" },
  { type: "hold", why: "pause" },
  { type: "idle" },
];

/** Lets it go on, without any further trouble, until it has ended. */
function goesOn(script: Script, from: World): void {
  let world: World = { ...from, state: structuredClone(from.state), budget: NOTHING };
  const trail: string[] = [];
  for (let i = 0; i < 200; i++) {
    if (world.end !== undefined) return;
    const [first] = happenings(script, world).filter(({ label }) => label !== "idle");
    if (first === undefined) break;
    trail.push(first.label);
    world = first.next();
  }
  throw new BrokenRule(`it cannot end: ${trail.slice(-10).join(", ")}\n${identity(world)}`);
}

/** All worlds within `depth` events, the shortest way first. Returns how many there are. */
function explore(script: Script, budget: Budget, most: number): number {
  const known = new Set<string>();
  let layer: { readonly world: World; readonly way: readonly string[] }[] = [
    { world: begin(script, budget), way: [] },
  ];
  while (layer.length > 0 && known.size < most) {
    const next: typeof layer = [];
    for (const { world, way } of layer) {
      try {
        for (const event of EVENTS) decide(structuredClone(world.state), event);
        goesOn(script, world);
      } catch (error) {
        throw new Error(`after ${way.join(", ")}`, { cause: error });
      }
      for (const { label, next: happen } of happenings(script, world)) {
        const further = [...way, label];
        let after: World;
        try {
          after = happen();
        } catch (error) {
          throw new Error(`after ${further.join(", ")}`, { cause: error });
        }
        const id = identity(after);
        if (known.has(id)) continue;
        known.add(id);
        next.push({ world: after, way: further });
      }
    }
    layer = next;
  }
  return known.size;
}

describe.each(scripts)("the transition of %s", (_name, script) => {
  it.each(BUDGETS)(
    "throws nothing, repeats nothing and can go on in every state, with %s [J51]",
    (_trouble, budget) => {
      const most = sized(150);
      expect(explore(script, budget, most)).toBeGreaterThanOrEqual(Math.min(most, 100));
    },
  );
});

it("does what a transition that threw began no more with the next one", () => {
  const thrown = new Error("unreadable");
  let isDamaged = false;
  const how: How = {
    get type(): "run" {
      if (isDamaged) throw thrown;
      return "run";
    },
    commits: false,
  };
  const failed: Entry = {
    at: 0,
    asks: [{ kind: "step", key: "a" }],
    decision: { type: "failed", key: "a", attempt: 1, due: 0 },
    value: null,
  };
  const state = initial([failed]);
  decide(state, { type: "asked", kind: "step", key: "a", how, now: 0 });
  isDamaged = true;
  expect(() => decide(state, { type: "drained", now: 0 })).toThrow(thrown);
  expect(decide(state, { type: "mail", messages: [], now: 0 })[1]).toEqual([{ type: "quiet", quiet: true }]);
});
