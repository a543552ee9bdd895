// Who runs after a crash: hosts that die again and again, beside a model that knows who kills them.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  initial,
  type TriageEvent,
  type TriageState,
} from "../../../lib/flow/hospital/triage-machine.js";
import { sized } from "../../support/proof.js";

const CONFIG = { maxCrashes: 3, maxSuspects: 2 };

function sent(...events: readonly TriageEvent[]): readonly [TriageState, string] {
  let state = initial(CONFIG);
  let shown = "";
  for (const event of events) {
    const [next, effects] = decide(state, event);
    state = next;
    shown = effects.map((one) => ("flow" in one ? `${one.type} ${one.flow}` : one.type)).join(", ");
  }
  return [state, shown];
}

const found = (flow: string, crashes: number): TriageEvent => ({ type: "found", flow, crashes });
const calm = (flow: string): TriageEvent => ({ type: "calm", flow });

describe("a flow that the host finds", () => {
  it.each([
    ["never harmed anybody and runs", [found("a", 0)], "take a"],
    ["has one crash and runs", [found("a", 2), found("b", 1)], "take b"],
    ["is on its last chance and runs", [found("a", 2)], "take a"],
    ["waits while another is on its last chance", [found("a", 2), found("b", 2)], ""],
    ["runs when that one has calmed", [found("a", 2), found("b", 2), calm("a")], "take b"],
    [
      "waits on when an unsuspected one has calmed",
      [found("a", 2), found("b", 2), found("c", 0), calm("c")],
      "",
    ],
    ["does not run after too many crashes", [found("a", 3)], "admit a"],
    ["is taken once", [found("a", 2), found("a", 2)], ""],
  ])("%s", (_, events, effects) => {
    expect(sent(...events)[1]).toBe(effects);
  });

  it("stays in the store when too many wait, and the store is looked at again", () => {
    const crowd = ["a", "b", "c", "d"].map((flow) => found(flow, 2));
    expect(sent(...crowd)[0].waiting).toEqual(["b", "c"]);
    expect(sent(...crowd, calm("a"), calm("b"), calm("c"))[1]).toBe("look");
    expect(sent(...crowd.slice(0, 3), calm("a"), calm("b"), calm("c"))[1]).toBe("");
  });
});

describe("hosts that a flow kills whenever it runs", () => {
  /** Lives of hosts over one store. Returns which flows went to the hospital, and how many hosts died. */
  function lives(flows: number, guilty: ReadonlySet<number>, order: number): [string[], number] {
    const crashes = new Map(Array.from({ length: flows }, (_, i) => [`f${i}`, 0]));
    const admitted = new Set<string>();
    const done = new Set<string>();
    let deaths = 0;
    for (let life = 0; life < 100; life++) {
      let state = initial({ maxCrashes: 3, maxSuspects: 100 });
      let isDead = false;
      const taken: string[] = [];
      const send = (event: TriageEvent): void => {
        const [next, effects] = decide(state, event);
        state = next;
        for (const effect of effects) {
          if (effect.type === "admit") admitted.add(effect.flow);
          if (effect.type !== "take") continue;
          crashes.set(effect.flow, (crashes.get(effect.flow) ?? 0) + 1);
          taken.push(effect.flow);
        }
      };
      const ids = [...crashes.keys()].filter((id) => !admitted.has(id) && !done.has(id));
      for (let i = 0; i < ids.length; i++) {
        const id = ids[(i + order * life) % ids.length] as string;
        send(found(id, crashes.get(id) as number));
      }
      // All that was taken runs. The process dies with the first guilty one; only who ran before it has calmed.
      for (let i = 0; i < taken.length && !isDead; i++) {
        const id = taken[i] as string;
        isDead = guilty.has(Number(id.slice(1)));
        if (isDead) continue;
        done.add(id);
        send(calm(id));
      }
      if (!isDead) return [[...admitted].sort(), deaths];
      deaths++;
    }
    throw new Error("hosts die for ever");
  }

  it("put that flow into the hospital, and no other one, however many ran beside it [N11]", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.uniqueArray(fc.nat({ max: 11 }), { maxLength: 3 }),
        fc.nat({ max: 11 }),
        (flows, killers, order) => {
          const guilty = new Set(killers.filter((one) => one < flows));
          const [admitted, deaths] = lives(flows, guilty, order);
          expect(admitted).toEqual([...guilty].map((one) => `f${one}`).sort());
          expect(deaths).toBeLessThanOrEqual(3 * guilty.size + 2);
        },
      ),
      { numRuns: sized(100) },
    );
  });
});
