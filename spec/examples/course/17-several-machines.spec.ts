// The order host of the course: an order goes on in the west when the east has died, and one line chooses the store.

import { explore } from "signalbox/testing";
import { expect, it } from "vitest";
import { orderFlow, orderHost, sourceOf } from "../../../examples/course/17-several-machines.js";

it("takes the server of DATABASE_URL, or a file", () => {
  expect(sourceOf({}).kind).toBe("sqlite");
  expect(sourceOf({ DATABASE_URL: "postgres://shop@db.internal/shop" }).kind).toBe("postgres");
  for (const url of ["", "mysql://db", "postgres://"])
    expect(() => sourceOf({ DATABASE_URL: url })).toThrow(TypeError);
});

it("ships the order in the west when the east dies after the reservation, in any order of events", async () => {
  await explore(
    async (sim) => {
      const store = sim.store({ shared: true });
      const log: string[] = [];
      const machine = async (name: string) => {
        const flow = orderFlow((what) => log.push(`${name} ${what}`));
        const system = sim.system({ name });
        return { system, flow, flows: await system.start(orderHost(store, flow)) };
      };
      const [east, west] = [await machine("east"), await machine("west")];
      await east.flows.start(east.flow, "tea", { id: "order-42" });
      await sim.until("reserved", () => log.length > 0);
      east.system.exit("flows", "kill");

      const run = west.flows.get<string>("order-42");
      await run.send("paid", "by transfer");
      expect(await run.result({ timeoutMs: 60_000 })).toBe("tea, paid by transfer");
      // The death may come before the reservation is in the journal: then it is made again, under the same key.
      expect(log.filter((line) => line !== "west reserve tea")).toEqual([
        "east reserve tea",
        "west ship tea",
      ]);
    },
    { schedules: 10, seed: 1 },
  );
});
