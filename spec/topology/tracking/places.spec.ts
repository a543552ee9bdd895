// Where the tuples of windows are, and which of them are outstanding: held against models written from the rules.

import { fc, test } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { Losses } from "../../../lib/topology/tracking/losses.js";
import { newPendingTuple, type PendingTuple, traceOf } from "../../../lib/topology/tracking/pending-tuple.js";
import { type Arriving, type Place, Places } from "../../../lib/topology/tracking/places.js";
import { sized } from "../../support/proof.js";

const pendingTuple = (): PendingTuple => newPendingTuple("numbers", {}, { id: 1 });

/** A copy that comes at each try. */
interface Copy {
  readonly input: string;
  readonly time: number;
  readonly values: object;
}

const arriving = (pending: PendingTuple, copy: Copy, attempt: number, task: number): Arriving => ({
  pending,
  attempt,
  ...copy,
  task,
  roams: true,
});

/** The try has ended, and another follows. */
const tryAgain = (pending: PendingTuple, attempt: number): void =>
  void traceOf(pending).trees.push(`0:${attempt}`);

describe("the place of a tuple", () => {
  const copies = fc.array(
    fc.record({
      input: fc.constantFrom("a.one", "a.two"),
      time: fc.constantFrom(1, 2),
      values: fc.record({ word: fc.constantFrom("x", "y", "z"), size: fc.constantFrom(1, 2) }),
    }),
    { minLength: 1, maxLength: 8 },
  );
  const orders = fc.array(fc.array(fc.record({ roll: fc.double({ noNaN: true }), task: fc.nat(3) })), {
    minLength: 1,
    maxLength: 5,
  });
  test.prop([copies, orders], { numRuns: sized(200) })(
    "is the same at every try, in whatever order and at whichever tasks its copies come [O54]",
    (all, tries) => {
      const [places, pending] = [new Places(), pendingTuple()];
      const homes = new Map<Place, { readonly copy: Copy; readonly task: number }>();
      for (const [attempt, rolls] of tries.entries()) {
        const claimed = new Set<Place>();
        const order = all
          .map((copy, i) => ({ copy, roll: rolls[i]?.roll ?? i, task: rolls[i]?.task ?? 0 }))
          .sort((a, b) => a.roll - b.roll);
        for (const { copy, task } of order) {
          // A copy of the values, as the bolt before makes them anew.
          const again = { ...copy, values: { ...copy.values } };
          const place = places.claim(arriving(pending, again, attempt + 1, task));
          expect(claimed.has(place)).toBe(false);
          claimed.add(place);
          const known = homes.get(place) ?? { copy, task };
          homes.set(place, known);
          expect({ ...place }).toMatchObject({ ...known.copy, task: known.task });
        }
        tryAgain(pending, attempt + 1);
        // All copies come at every try, so no place is made after the first one.
        expect(homes.size).toBe(all.length);
      }
      for (const { copy } of homes.values()) expect(all).toContainEqual(copy);
    },
  );

  it("is another one at each task when every task gets a copy", () => {
    const [places, pending] = [new Places(), pendingTuple()];
    const copy = { input: "a.one", time: 1, values: { n: 1 } };
    const come = (attempt: number, task: number): Place =>
      places.claim({ ...arriving(pending, copy, attempt, task), roams: false });
    const first = [come(1, 1), come(1, 2)];
    tryAgain(pending, 1);
    expect([come(2, 2), come(2, 1), come(2, 3)].map((place) => first.indexOf(place))).toEqual([1, 0, -1]);
  });

  it("is found by its time where values cannot be compared, or are others at each try", () => {
    const [places, pending] = [new Places(), pendingTuple()];
    const first = places.claim(
      arriving(pending, { input: "a.one", time: 1, values: { n: 1n, o: {} } }, 1, 1),
    );
    tryAgain(pending, 1);
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(places.claim(arriving(pending, { input: "a.one", time: 1, values: circle }, 2, 2))).toBe(first);
    tryAgain(pending, 2);
    expect(places.find(arriving(pending, { input: "a.one", time: 2, values: {} }, 3, 1))).toBeUndefined();
    expect(
      new Places().find(arriving(pending, { input: "a.one", time: 1, values: {} }, 3, 1)),
    ).toBeUndefined();
  });

  it("costs a look at each try, not one for each sibling, when the copies come in order", () => {
    const [places, pending] = [new Places(), pendingTuple()];
    let looks = 0;
    const counted = new Proxy([] as Place[], {
      get: (target, key) => {
        looks++;
        return Reflect.get(target, key);
      },
    });
    Object.assign(traceOf(pending), { places: counted });
    for (let attempt = 1; attempt < 4; attempt++) {
      for (let n = 0; n < 2_000; n++)
        places.claim(arriving(pending, { input: "a.one", time: 7, values: { n } }, attempt, 1));
      tryAgain(pending, attempt);
    }
    expect(counted.length).toBe(2_000);
    expect(looks).toBeLessThan(60_000);
  });
});

describe("the losses of a task", () => {
  const PATIENCE_MS = 100;
  const TASK = 1;
  const event = fc.oneof(
    fc.record({ type: fc.constantFrom("lost", "back", "over", "moved"), which: fc.nat(5) }),
    fc.record({ type: fc.constant("wait"), which: fc.nat(80) }),
  );
  test.prop([fc.array(fc.nat(9), { minLength: 6, maxLength: 6 }), fc.array(event, { maxLength: 40 })], {
    numRuns: sized(200),
  })("are outstanding until they come back, are over, move, or the patience ends [O24]", (times, events) => {
    const losses = new Losses(PATIENCE_MS);
    const places = times.map((time) =>
      new Places().claim(arriving(pendingTuple(), { input: "a", time, values: {} }, 1, TASK)),
    );
    /** When each place was lost, if it is outstanding. */
    const model = new Map<Place, number>();
    let now = 0;
    for (const { type, which } of events) {
      const place = places[which % places.length] as Place;
      if (type === "wait") now += which;
      else if (type === "lost" && place.task === TASK) {
        losses.add(place, now);
        if (!place.pending.settled) model.set(place, now);
      } else if (type !== "lost") model.delete(place);
      if (type === "back") place.isLost = false;
      if (type === "over") place.pending.settled = true;
      if (type === "moved") Object.assign(place, { task: 2, queued: false });
      const outstanding = [...model].filter(([, since]) => now - since < PATIENCE_MS);
      expect(losses.earliest(TASK, now)).toBe(Math.min(...outstanding.map(([{ time }]) => time)));
    }
  });
});
