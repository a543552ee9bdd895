// The connection of two systems, alone: what a cut, its end and a power loss do to what the two send.

import { test as check, fc } from "@fast-check/vitest";
import { describe, expect, test } from "vitest";
import {
  CONNECTED,
  type Connection,
  type ConnectionEffect,
  type ConnectionEvent,
  decide,
  fateOf,
  type SideIndex,
} from "../../../lib/testing/devices/connection-machine.js";

const side = fc.constantFrom<SideIndex>(0, 1);
const event: fc.Arbitrary<ConnectionEvent> = fc.oneof(
  fc.record({
    type: fc.constant("cut" as const),
    ways: fc.constantFrom<readonly SideIndex[]>([0], [1], [0, 1]),
    silent: fc.boolean(),
  }),
  fc.record({ type: fc.constant("heal" as const) }),
  fc.record({ type: fc.constant("notified" as const), side }),
  fc.record({ type: fc.constant("gone" as const), side }),
);

interface Run {
  readonly state: Connection;
  readonly effects: readonly ConnectionEffect[];
  /** Sides with a notice on its way. */
  readonly pending: ReadonlySet<SideIndex>;
}

/** A notice arrives only if it was sent. */
function played(events: readonly ConnectionEvent[]): Run {
  let state = CONNECTED;
  const effects: ConnectionEffect[] = [];
  const pending = new Set<SideIndex>();
  for (const one of events) {
    if (one.type === "notified" && !pending.delete(one.side)) continue;
    const [next, made] = decide(state, one);
    state = next;
    effects.push(...made);
    for (const effect of made) {
      if (effect.type !== "notify") continue;
      expect(pending.has(effect.side)).toBe(false);
      pending.add(effect.side);
    }
  }
  return { state, effects, pending };
}

const both: readonly SideIndex[] = [0, 1];
const fates = (state: Connection): string => both.map((one) => fateOf(state, one)).join();
const events = fc.array(event, { maxLength: 12 });

describe("a connection", () => {
  test("sends both ways at first", () => {
    expect(fates(CONNECTED)).toBe("sent,sent");
  });

  test("is lost to each side until it is notified, and refused then", () => {
    const cut: ConnectionEvent = { type: "cut", ways: [0, 1], silent: false };
    expect(fates(played([cut]).state)).toBe("lost,lost");
    expect(fates(played([cut, { type: "notified", side: 1 }]).state)).toBe("lost,refused");
    expect(fates(played([cut, { type: "notified", side: 1 }, { type: "heal" }]).state)).toBe("lost,sent");
  });

  test("holds what goes the ways of a silent cut", () => {
    expect(fates(played([{ type: "cut", ways: [1], silent: true }]).state)).toBe("sent,held");
  });

  check.prop([events])("is mended by a heal and the notices that are on their way", (history) => {
    const { state, pending } = played(history.filter(({ type }) => type !== "gone"));
    let now = decide(state, { type: "heal" })[0];
    for (const one of pending) now = decide(now, { type: "notified", side: one })[0];
    expect(now).toEqual(CONNECTED);
  });

  check.prop([events])(
    "loses nothing without notice: a side that is not up was notified, or will be",
    (history) => {
      const { state, effects } = played(history);
      for (const one of both) {
        if (fateOf(state, one) === "sent" || fateOf(state, one) === "held" || state.gone[one]) continue;
        expect(effects).toContainEqual({ type: "notify", side: one });
      }
    },
  );

  check.prop([events])("sends nothing to a side that has lost power, whatever is healed", (history) => {
    const { state } = played([...history, { type: "gone", side: 0 }, { type: "heal" }]);
    expect(["lost", "refused"]).toContain(fateOf(state, 1));
  });

  check.prop([events, event])("changes no state that it was given", (history, one) => {
    const { state } = played(history);
    const before = structuredClone(state);
    decide(state, one);
    expect(state).toEqual(before);
  });

  check.prop([events])("releases a way as often as it holds or loses it", (history) => {
    const { effects, state } = played(history);
    for (const way of both) {
      let held = false;
      for (const effect of effects) {
        if (!("way" in effect) || effect.way !== way) continue;
        if (effect.type === "hold") {
          expect(held).toBe(false);
          held = true;
        } else if (effect.type === "release" || effect.type === "lose") held = false;
      }
      expect(state.ways[way] === "held").toBe(held);
    }
  });
});
