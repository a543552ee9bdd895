// The counts of the course name the child that is restarted most, and say when a supervisor has given up.

import { defineServer, System, supervisor } from "signalbox";
import { expect, it } from "vitest";
import { GaveUpError, restartCounts } from "../../../examples/course/14-observe.js";

const Kettle = defineServer({
  init: () => ({}),
  casts: {
    boil: () => {
      throw new RangeError("boiled over");
    },
  },
});

it("counts restarts by child, and throws once a supervisor has given up", async () => {
  await using system = new System({ name: "shop", report: false });
  const counts = restartCounts(system);
  const children = ["big", "small"].map((id) => ({ id, start: Kettle, name: id }));
  await system.start(supervisor({ label: "floor", intensity: 3, children }));
  expect(counts.worst()).toBeUndefined();

  for (const name of ["small", "big", "small"]) {
    Kettle.at(system, name).cast.boil();
    await system.idle();
  }
  expect(counts.worst()).toEqual(["shop/floor/small", 2]);

  Kettle.at(system, "big").cast.boil();
  await system.idle();
  expect(() => counts.worst()).toThrow(GaveUpError);
  counts.close();
});
