import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import { neighbourOf } from "../../../lib/node/nats/neighbour.js";

const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 12 });

test.prop([ids])("each node is watched by one other, and all of them make one ring [N1230]", (all) => {
  const [first = ""] = all;
  const ring: string[] = [];
  for (let at: string | undefined = first; at !== undefined && !ring.includes(at); at = neighbourOf(at, all))
    ring.push(at);
  expect(new Set(ring)).toEqual(new Set(all));
});

test.prop([ids])("a node that is alone watches none, and never itself", (all) => {
  for (const id of all) {
    expect(neighbourOf(id, [id])).toBeUndefined();
    expect(neighbourOf(id, all)).not.toBe(id);
  }
});
