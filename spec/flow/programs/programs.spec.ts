// The programs, their model and the comparison itself, without flows.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sized } from "../../support/proof.js";
import type { World } from "./interpret.js";
import { plain } from "./plain.js";
import { mailOf, type Node, named, programs } from "./program.js";
import { type Deed, findingsOf, isClean } from "./record.js";

function recorded(): { readonly deeds: Deed[]; readonly world: World } {
  const deeds: Deed[] = [];
  return {
    deeds,
    world: {
      ran: (flow, step, attempt, token) => deeds.push({ type: "ran", flow, step, attempt, token }),
      seen: (flow, step, booked) => deeds.push({ type: "seen", flow, step, booked }),
    },
  };
}

describe("a random program", () => {
  it("ends on plain promises as its model says, whatever is faster", async () => {
    await fc.assert(
      fc.asyncProperty(programs({ sleepMs: 20, mail: true }), fc.nat(), async (program, seed) => {
        const { deeds, world } = recorded();
        const outcome = await plain("f", program, seed, world);
        deeds.push({ type: "ended", flow: "f", outcome });
        const findings = findingsOf(new Map([["f", program]]), deeds);
        expect(findings).toEqual({ ended: 1, lost: [], repeated: [], bookings: [], wrong: [] });
      }),
      { numRuns: sized(80) },
    );
  });

  it("has every kind of node", () => {
    const kinds = new Set<string>();
    const visit = (node: Node): void => {
      kinds.add(node.type);
      for (const part of "of" in node ? node.of : []) visit(part);
    };
    for (const program of fc.sample(programs({ sleepMs: 20, mail: true }), { numRuns: 200, seed: 1 }))
      visit(program);
    expect(kinds.size).toBe(18);
  });

  it("gets the messages of every round of its loops, and none in a child", () => {
    const mail = { type: "mail", name: "" } as const;
    const loop = { type: "loop", name: "", times: 2, of: [mail] } as const;
    const program = named({
      type: "sequence",
      name: "",
      of: [{ ...loop, of: [loop] }, mail, { type: "child", name: "", of: [mail] }],
    });
    expect(mailOf(program)).toEqual(["mai3.0.0", "mai3.0.1", "mai3.1.0", "mai3.1.1", "mai4"]);
  });
});

describe("a record", () => {
  const program = named({
    type: "sequence",
    name: "",
    of: [
      { type: "step", name: "", value: 7, failures: 1 },
      {
        type: "race",
        name: "",
        of: [
          { type: "sleep", name: "", ms: 1 },
          { type: "book", name: "", value: 8 },
        ],
      },
    ],
  });
  const ran = (step: string, attempt: number, token = 1): Deed => ({
    type: "ran",
    flow: "f",
    step,
    attempt,
    token,
  });
  const seen = (step: string, booked = false): Deed => ({ type: "seen", flow: "f", step, booked });
  const ended: Deed = { type: "ended", flow: "f", outcome: { ok: true, value: [7, 8] } };
  const first = [ran("ste1", 1), ran("ste1", 2), seen("ste1")];
  const won = [seen("boo4", true), ran("rac2=1", 1), seen("rac2=1")];
  const good = [...first, ...won, ended];
  const found = (deeds: readonly Deed[], booked = 1) =>
    findingsOf(new Map([["f", program]]), deeds, new Map([["f boo4", booked]]));

  it("of a right run has nothing in it, also when the code ran again", () => {
    expect(isClean(found(good))).toBe(true);
    expect(isClean(found([...first, seen("ste1"), ...won, seen("ste1"), ended]))).toBe(true);
    expect(isClean(found([ran("ste1", 1), ...good]))).toBe(true);
  });

  it("shows a flow without an end, or with two", () => {
    expect(found([...first, ...won]).lost).toEqual(["f"]);
    const other: Deed = { type: "ended", flow: "f", outcome: { ok: false, thrown: "x" } };
    expect(found([...good, other]).wrong).not.toEqual([]);
  });

  it("shows a completed step that ran again, but not the attempt of a host whose token is old", () => {
    expect(found([...first, ran("ste1", 2), ...won, ended]).repeated).toEqual(["f ste1 ran again"]);
    expect(found([ran("ste1", 2), ...good]).repeated).toEqual(["f ste1 began again with attempt 1"]);
    const later = [ran("ste1", 1, 2), ran("ste1", 2, 2), seen("ste1")];
    expect(found([...later, ran("ste1", 1, 1), ...won, ended]).repeated).toEqual([]);
  });

  it("shows a booking that is missing or doubled", () => {
    expect(found(good, 2).bookings).toEqual(["f boo4 is booked 2 times"]);
    expect(findingsOf(new Map([["f", program]]), good, new Map()).bookings).toEqual(["f boo4 is not booked"]);
  });

  it("shows another winner than before, another result, and a step left out", () => {
    expect(found([...first, ...won, seen("rac2=0"), ended]).wrong).not.toEqual([]);
    const other: Deed = { type: "ended", flow: "f", outcome: { ok: true, value: [7, 9] } };
    expect(found([...first, ...won, other]).wrong).not.toEqual([]);
    expect(found([...won, ended]).wrong).toEqual(["f ended without ste1"]);
    expect(found([...first, seen("boo4", true), ended]).wrong).not.toEqual([]);
  });
});
