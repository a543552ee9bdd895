// What becomes of an operation whose host ends: the machine, for every order of events.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  type HostCall,
  type HostCallEffect,
  type HostCallEvent,
  initial,
  type Repeat,
} from "../../../lib/host/handles/call-machine.js";

const events: fc.Arbitrary<HostCallEvent> = fc.oneof(
  fc.record({
    type: fc.constant("exited" as const),
    request: fc.constantFrom("withdrawn", "taken", "kept"),
    prospect: fc.constantFrom("now", "perhaps", "never"),
  }),
  fc.constantFrom<HostCallEvent>(
    { type: "failed" },
    { type: "host" },
    { type: "abandoned" },
    { type: "alone" },
  ),
);
const repeats = fc.constantFrom<Repeat>("always", "if untaken");

/** The states and effects of a run, from the first ask on. */
function run(repeat: Repeat, all: readonly HostCallEvent[]) {
  let call: HostCall = initial(repeat);
  return all.map((event) => {
    const before = call;
    const [next, effects] = decide(call, event);
    call = next;
    return { before, event, after: next, effects };
  });
}

const types = (effects: readonly HostCallEffect[]): readonly string[] => effects.map(({ type }) => type);

describe("an operation whose host may end", () => {
  it("ends once, with one effect, and does nothing after its end", () => {
    fc.assert(
      fc.property(repeats, fc.array(events, { maxLength: 12 }), (repeat, all) => {
        const steps = run(repeat, all);
        const ends = steps.filter(({ before, after }) => before.phase !== "ended" && after.phase === "ended");
        expect(ends.length).toBeLessThanOrEqual(1);
        for (const { effects } of ends) expect(effects).toHaveLength(1);
        for (const { before, effects } of steps) if (before.phase === "ended") expect(effects).toEqual([]);
      }),
    );
  });

  it("is not asked again when a host had begun with it, unless its repeat does no harm", () => {
    fc.assert(
      fc.property(repeats, fc.array(events, { maxLength: 12 }), (repeat, all) => {
        let hasBegun = false;
        for (const { before, event, effects } of run(repeat, all)) {
          if (event.type === "exited" && before.phase === "asking" && event.request !== "withdrawn")
            hasBegun = true;
          if (hasBegun && repeat === "if untaken") expect(types(effects)).not.toContain("ask");
        }
      }),
    );
  });

  it("asks the next host when there is one, waits when there may be one, and gives up when there is none", () => {
    fc.assert(
      fc.property(fc.array(events, { maxLength: 12 }), (all) => {
        for (const { before, event, effects, after } of run("always", all)) {
          if (before.phase === "ended") continue;
          if (event.type === "exited" && before.phase === "asking")
            expect(types(effects)).toEqual([{ now: "ask", perhaps: "wait", never: "gone" }[event.prospect]]);
          if (before.phase !== "waiting") continue;
          if (event.type === "host") expect(types(effects)).toEqual(["ask"]);
          if (event.type === "alone") expect(types(effects)).toEqual(["gone"]);
          if (event.type === "abandoned") expect(after.phase).toBe("ended");
        }
      }),
    );
  });

  it("knows for ever that a host had begun with it", () => {
    fc.assert(
      fc.property(repeats, fc.array(events, { maxLength: 12 }), (repeat, all) => {
        for (const { before, after } of run(repeat, all))
          if (before.isTaken) expect(after.isTaken).toBe(true);
      }),
    );
  });
});
