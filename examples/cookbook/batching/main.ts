// The demonstration of the recipe: orders that are written in batches, a bad one among them, a kill, and a stop in order.

import { CalleeExitedError, System, supervisor } from "signalbox";
import { retryPolicy } from "signalbox/service";
import { batcher, halving } from "./batching.js";

interface Order {
  readonly id: string;
  readonly item: string;
}

class UnknownItemError extends Error {}

// A database whose insert refuses the whole batch because of one bad row. An order that it has already is not written again.
const rows = new Map<string, string>();
let kills = false;
async function insert(orders: readonly Order[]): Promise<readonly string[]> {
  console.log(`  insert ${orders.map(({ id }) => id).join(" ")}`);
  for (const { id, item } of orders)
    if (item !== "tea") throw new UnknownItemError(`order ${id}: no such item`);
  for (const { id, item } of orders) rows.set(id, item);
  if (kills) {
    kills = false;
    system.exit("writer", "kill"); // the orders are written, and no caller has an answer
  }
  return orders.map(({ id }) => `order ${id} is written`);
}

const Writer = batcher<Order, string>({
  write: halving(insert, (error) => error instanceof UnknownItemError),
  maxItems: 4,
  maxWaitMs: 50,
});

const system = new System({ name: "shop", report: false });
await system.start(supervisor({ children: [{ id: "writer", name: "writer", start: Writer }] }));
const writer = Writer.at(system, "writer");
const add = (id: string, item = "tea"): Promise<string> => writer.call.add({ id, item });
const show = (what: string): void => console.log(`  ${what}`);
const say = (error: Error): void => console.log(`  refused: ${error.message}`);

console.log("four orders, one of them bad");
await Promise.all([add("1"), add("2"), add("3", "tee"), add("4")].map((answer) => answer.then(show, say)));

console.log("one order alone, after its time");
await add("5").then(show, say);

console.log("the batcher is killed while it writes");
const retry = retryPolicy({
  backoff: { minMs: 50, maxMs: 50, jitter: 0 },
  retryIf: (error) => error instanceof CalleeExitedError,
});
const insist = retry.local(system)((_attempt, id: string) => add(id));
kills = true;
for (const answer of ["6", "7", "8", "9"].map(insist)) await answer.then(show, say);

console.log("a stop in order writes what waits");
const last = add("10").then(show, say);
await system.stop();
await last;
console.log(`${rows.size} orders are in the database`);
