// The machine of dead letters against its rule: a letter leaves the dead ones once, with a record, and is copied only by whoever asks.

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  FATES,
  type LetterEffect,
  type LetterEvent,
  type LetterState,
} from "../../../lib/pipeline/messages/dead-machine.js";
import { sized } from "../../support/proof.js";

/** A message that was never given up. */
const ALIVE: LetterState = { turn: 0, dead: false, fate: undefined };

const event: fc.Arbitrary<LetterEvent> = fc.oneof(
  fc.constantFrom<LetterEvent>({ type: "died" }, { type: "retry" }, { type: "edit" }, { type: "drop" }),
  fc.boolean().map((again): LetterEvent => ({ type: "replay", again })),
);

/** One event after another. Gives the accepted ones with their effects. */
function played(events: readonly LetterEvent[], check: (state: LetterState) => void = () => undefined) {
  let state = ALIVE;
  const accepted: { readonly event: LetterEvent; readonly effects: readonly LetterEffect[] }[] = [];
  for (const one of events) {
    const [next, effects] = decide(state, one);
    if (effects.some(({ type }) => type === "refused")) expect(next).toBe(state);
    else accepted.push({ event: one, effects });
    state = next;
    check(state);
  }
  return { state, accepted, effects: accepted.flatMap((one) => one.effects) };
}

const histories = (check: (events: readonly LetterEvent[]) => void): void =>
  fc.assert(fc.property(fc.array(event, { maxLength: 30 }), check), { numRuns: sized(200), seed: 440 });

describe("a dead letter", () => {
  it("leaves the dead ones once for each time that it was given up, with a record of what became of it [Y440]", () => {
    const fates = new Set<string>();
    histories((events) => {
      const { state, accepted, effects } = played(events);
      const deaths = accepted.filter((one) => one.event.type === "died").length;
      const records = effects.flatMap((one) => (one.type === "record" ? [one] : []));
      expect(records.map(({ turn }) => turn)).toEqual(
        Array.from({ length: records.length }, (_, i) => i + 1),
      );
      expect(deaths - records.length).toBe(state.dead ? 1 : 0);
      expect(state.turn).toBe(deaths);
      for (const { fate } of records) fates.add(fate);
    });
    expect([...fates].sort()).toEqual([...FATES].sort());
  });

  it("is put back or copied only out of the dead state, unless a replay asks for it again [Y440]", () => {
    let again = 0;
    histories((events) => {
      const { accepted } = played(events);
      for (const { event: of, effects } of accepted) {
        const types = effects.map(({ type }) => type);
        if (of.type === "drop") expect(types).toEqual(["record"]);
        if (of.type === "retry" || of.type === "edit") expect(types).toEqual(["record", "put back"]);
        if (of.type !== "replay") continue;
        expect(types).toEqual([types[0] === "count" ? "count" : "record", "copy"]);
        if (types[0] === "count") expect(of.again).toBe(true);
        if (types[0] === "count") again++;
      }
    });
    expect(again).toBeGreaterThan(0);
  });

  it("that was replayed finds no second replay, and says what it became", () => {
    const replay: LetterEvent = { type: "replay", again: false };
    const { state } = played([{ type: "died" }, replay]);
    expect(decide(state, replay)[1]).toEqual([{ type: "refused", why: "replayed" }]);
    expect(decide(state, { type: "retry" })[1]).toEqual([{ type: "refused", why: "replayed" }]);
    expect(decide(state, { type: "replay", again: true })[1]).toEqual([
      { type: "count", turn: 1 },
      { type: "copy" },
    ]);
  });
});
