// The answer to page 08 of the course: orders find a barista who knows them, also after crashes, and a dead letter harms no other.

import { AttemptsExhaustedError, System } from "signalbox";
import { explore } from "signalbox/testing";
import { expect, it } from "vitest";
import { type Order, serve } from "../../../examples/course/08-dispatch.js";

const order = (kind: Order["kind"], crashes = 0): Order => ({ tea: `${kind} tea`, kind, crashes });

it("gives green tea to Mei alone, also after a crash of hers", async () => {
  await using system = new System({ report: false });
  expect(await serve(system, [order("green", 1), order("green"), order("green")])).toEqual(
    Array.from({ length: 3 }, () => "mei"),
  );
});

it("lets both serve black tea", async () => {
  await using system = new System();
  expect(new Set(await serve(system, [order("black"), order("black")]))).toEqual(new Set(["kim", "mei"]));
});

it("gives up an order that crashes three baristas, and serves the others, in any order of events", async () => {
  await explore(
    async (sim) => {
      const system = sim.system({ report: false });
      const [dead, black, green] = await serve(system, [
        order("black", 3),
        order("black"),
        order("green", 2),
      ]);
      expect(dead).toBeInstanceOf(AttemptsExhaustedError);
      expect(["kim", "mei"]).toContain(black);
      expect(green).toBe("mei");
    },
    { schedules: 20, seed: 1 },
  );
});
