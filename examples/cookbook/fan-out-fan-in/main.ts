// The demonstration: three suppliers of whom one answers in time, and an index whose replicas crash.

import { System, supervisor } from "signalbox";
import { askAll } from "./ask-all.js";
import { part, searchAll } from "./search.js";

await using system = new System({ name: "shop", report: false });

const offers = await askAll(
  system,
  ["north", "south", "west"],
  async (supplier, ctx) => {
    if (supplier === "south") throw new Error("no such tea");
    if (supplier === "west") await new Promise<void>((resolve) => ctx.runAfter(60_000, resolve));
    return 250;
  },
  { withinMs: 2_000 },
);
for (const { from, answer } of offers.answers) console.log(`${from} offers ${answer} cents`);
for (const { from, why } of offers.missing) console.log(`${from}: ${why}`);
console.log(`processes left: ${system.population}`);

const teas = ["assam", "darjeeling", "oolong", "sencha"];
let crashes = 0;
const early = part<string, string[]>("a to m", 2, (word) => {
  if (++crashes === 1) throw new Error("the first replica runs out of memory");
  return teas.filter((tea) => tea < "n" && tea.includes(word));
});
const late = part<string, string[]>("n to z", 2, () => {
  throw new Error("the index is damaged");
});
await system.start(
  supervisor({
    children: [
      { id: "early", start: early.tree },
      { id: "late", start: late.tree },
    ],
  }),
);
const found = await searchAll(system, [early, late], "a", 1_000);
for (const { from, answer } of found.answers) console.log(`${from}: ${answer.join(", ")}`);
for (const { from, why } of found.missing) console.log(`${from}: ${why.split(";")[0]}`);
