// The shop of the course is ready while its supplier answers, and a stop waits for the order in work.

import { System } from "signalbox";
import { expect, it } from "vitest";
import { openShop } from "../../../examples/course/15-service.js";

it("is ready only while the supplier answers", async () => {
  await using system = new System({ report: false });
  let answers = false;
  const { service } = openShop({ system, supplierAnswers: () => answers, walk: async () => undefined });
  await service.started;
  expect((await service.health.read()).ready).toBe(false);
  answers = true;
  expect((await service.health.read()).ready).toBe(true);
  await service.stop();
  expect((await service.health.read()).ready).toBe(false);
});

it("finishes an order in work before it ends", async () => {
  await using system = new System({ report: false });
  const walk = { begun: () => {}, end: () => {} };
  const begun = new Promise<void>((resolve) => (walk.begun = resolve));
  const { service, pickers } = openShop({
    system,
    supplierAnswers: () => true,
    walk: () => {
      walk.begun();
      return new Promise((resolve) => (walk.end = resolve));
    },
  });
  await service.started;
  const order = system.dispatch(pickers, { item: "tea", n: 3 });
  await begun;
  const stopped = service.stop();
  await system.idle();
  expect(service.phase).not.toBe("ended");
  walk.end();
  expect((await order).reply).toBe(97);
  await stopped;
  expect((await service.ended).outcome).toBe("clean");
});
