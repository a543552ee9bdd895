// The answer to page 07 of the course: seats survive crashes at any step, and no seat is given twice.

import { System } from "signalbox";
import { memory } from "signalbox/store";
import { explore } from "signalbox/testing";
import { expect, it } from "vitest";
import { FullError, openSeats, type Seats } from "../../../examples/course/07-state.js";

it("gives each customer one seat, and a free seat to the next", async () => {
  await using system = new System({ report: false });
  const shop = await openSeats(system, memory(), 2);
  expect(await Promise.all([shop.sit("ada"), shop.sit("bob"), shop.sit("ada")])).toEqual([1, 2, 1]);
  await expect(shop.sit("cy")).rejects.toThrow(FullError);
  system.exit("seats", "kill");
  await system.idle();
  expect(await shop.sit("bob")).toBe(2);
  await shop.leave("ada");
  expect(await shop.sit("cy")).toBe(1);
  await shop.close();
});

/** A customer who asks until there is an answer. */
async function insist(shop: Seats, customer: string, wait: () => Promise<void>): Promise<number | "full"> {
  for (let tries = 0; tries < 20; tries++) {
    const answer = await shop.sit(customer).catch((error: unknown) => error);
    if (typeof answer === "number") return answer;
    if (answer instanceof FullError) return "full";
    await wait();
  }
  throw new Error(`${customer} stands at the door for ever`);
}

it.each(["error", "kill"] as const)("crashes at any step by %s, and gives no seat twice", async (reason) => {
  await explore(
    async (sim) => {
      sim.calm();
      const shop = await openSeats(sim.system({ report: false }), sim.store(), 2);
      sim.storm();
      const customers = ["ada", "bob", "cy"];
      const answers = await Promise.all(
        customers.map((customer) => insist(shop, customer, () => sim.sleep(10))),
      );
      sim.calm();
      expect([...answers].sort()).toEqual([1, 2, "full"]);
      const sitting = customers.flatMap((customer, i) =>
        answers[i] === "full" ? [] : [{ customer, seat: answers[i] }],
      );
      expect(await shop.rows()).toEqual(sitting);
      await shop.close();
    },
    { faults: { crash: { of: "**/seats", reason, atMost: 2 } }, schedules: 30, seed: 4 },
  );
});
