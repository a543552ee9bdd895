// The demonstration of the recipe: callers share a load, values become old, a load fails, a price changes, and the cache is killed.

import { System, supervisor } from "signalbox";
import { testClock } from "signalbox/testing";
import { cache } from "./cache.js";

const prices = new Map([["tea", 4]]);

const Prices = cache<number>({
  load: async (item) => {
    console.log(`  load ${item}`);
    const price = prices.get(item);
    if (price === undefined) throw new Error(`no price for ${item}`);
    return price;
  },
  freshMs: 60_000,
  staleMs: 600_000,
});

// The cache goes by the clock of its system. On a test clock an hour passes at once; without this option it is the clock of the host.
const clock = testClock();
const system = new System({ name: "shop", environment: clock.environment, report: false });
await system.start(supervisor({ children: [{ id: "prices", name: "prices", start: Prices }] }));
const { call, cast } = Prices.at(system, "prices");

async function ask(...items: readonly string[]): Promise<void> {
  const answers = items.map((item) => call.get(item).catch((error: Error) => error.message));
  console.log(`  ${(await Promise.all(answers)).join(", ")}`);
  await clock.settle();
}

console.log("three callers, one load");
await ask("tea", "tea", "tea");

console.log("a failed load is not cached");
await ask("cups", "cups");
prices.set("cups", 9);
await ask("cups");

console.log("old after a minute: given once more, while it is loaded again");
prices.set("tea", 5);
await clock.advance(60_000);
await ask("tea");
await ask("tea");

console.log("too old after an hour");
await clock.advance(3_600_000);
await ask("tea");

console.log("forgotten, because the price has changed");
prices.set("tea", 6);
cast.forget("tea");
await ask("tea");

console.log("killed: empty, and it works");
system.exit("prices", "kill");
await clock.settle();
await ask("tea");
await system.stop();
