// A store whose user has died answers nothing.

import { memory } from "signalbox/store";
import { expect, it } from "vitest";
import { MortalSource } from "../../../lib/testing/flows/mortal-store.js";
import { storeContext } from "../../support/store-context.js";

it("gives a dead user a promise for each call, so that nothing keeps those who wait", async () => {
  const source = new MortalSource(memory());
  const store = await source.open([], storeContext());
  source.kill();
  const asked = [store.clock(), store.clock(), source.open([], storeContext())];
  expect(new Set(asked).size).toBe(3);
  const waiting = new Set(asked.map((answer) => Promise.race([answer, "waits"])));
  expect(await Promise.all(waiting)).toEqual(["waits", "waits", "waits"]);
  await source.bury();
});
