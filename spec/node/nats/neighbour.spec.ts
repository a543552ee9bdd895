import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { watchOf } from "../../../lib/node/nats/neighbour.js";

const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 2, maxLength: 12 });

test.prop([ids])("each node is asked by another one, or heard by the one that it asks [N1230]", (all) => {
  const watches = all.map((id) => ({ id, ...watchOf(id, all) }));
  for (const id of all) expect(watches.some(({ asks, hears }) => asks === id || hears === id)).toBe(true);
  // A node is heard by the one that it asks, and by no other one.
  for (const { id, hears } of watches) expect(hears).toBe(watches.find(({ asks }) => asks === id)?.id);
});

test.prop([ids])("half of the nodes ask, so each sends and receives little [N1230]", (all) => {
  const asking = all.filter((id) => watchOf(id, all).asks !== undefined);
  expect(asking).toHaveLength(Math.ceil(all.length / 2));
});

test.prop([ids])("a node that is alone watches none, and never itself", (all) => {
  for (const id of all) {
    expect(watchOf(id, [id])).toEqual({ asks: undefined, hears: undefined });
    const { asks, hears } = watchOf(id, all);
    expect([asks, hears]).not.toContain(id);
  }
});
