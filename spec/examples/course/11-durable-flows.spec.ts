// The order of the course is shipped when it is paid in time and put back when it is not, and reserves once whatever crashes.

import { flowKit } from "signalbox/testing";
import { expect, it } from "vitest";
import { orderFlow } from "../../../examples/course/11-durable-flows.js";

const TEA = { item: "tea", n: 3 };

it("ships what is paid, after crashes around every wait", async () => {
  const log: string[] = [];
  const note = (what: string) => (key: string) => void log.push(`${what} ${key}`);
  const flow = orderFlow({ reserve: note("reserve"), putBack: note("put back"), ship: note("ship") });
  await using kit = await flowKit({ flows: [flow] });
  const run = await kit.start(flow, TEA, { id: "order-42" });
  await kit.crash();
  await kit.advance("47 hours");
  await run.send("paid", "by transfer");
  await kit.crash();
  expect(await run.result()).toBe("shipped");
  expect(log).toEqual(["reserve order-42/reserve", "ship order-42/ship"]);
});

it("puts back orders that are not paid", async () => {
  const log: string[] = [];
  const note = (what: string) => () => void log.push(what);
  const flow = orderFlow({ reserve: note("reserve"), putBack: note("put back"), ship: note("ship") });
  await using kit = await flowKit({ flows: [flow] });
  const run = await kit.start(flow, TEA, { id: "order-43" });
  await kit.advance("47 hours");
  expect(await run.status()).toBe("waiting");
  await kit.crash();
  expect(await run.result()).toBe("cancelled");
  expect(log).toEqual(["reserve", "put back"]);
});
