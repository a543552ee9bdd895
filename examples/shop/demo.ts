// `npm run shop`: a shop over real HTTP under load, whose processes and threads are killed all the time, with a flaky bank and a
// flaky carrier. It stops under load, starts again, is killed as a whole, starts again, and finishes what it has
// accepted. Then the sums are compared: what customers, bank, carrier and journal say.
//
//   main.ts         the service: configuration, signals, exit code
//   shop.ts         the tree                       routes.ts       orders by HTTP
//   journal.ts      facts on the disk              stock.ts        the shelves
//   order.ts        orders and facts               fulfilment.ts   the steps of one order
//   payment.ts      a state machine                picking.ts      consumers of a dispatch
//   partners.ts     bank and carrier, behind circuit breakers and retries
//   desk.ts         who works on which order       closing.ts      the ordered end
//   label-worker.ts runs on the threads of a pool  chaos.ts        kills processes
//   outside.ts      the bank and the carrier       load.ts         customers
//   report.ts       sums, inside against outside   traces.ts       `--traces`: OpenTelemetry on the console
//   branch.ts       the service as a process       patience.ts     calls to servers that crash

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Branch } from "./branch.js";
import { type Customers, ordersOf, send } from "./load.js";
import { openOutside } from "./outside.js";
import { faultsOf, reportLines, reportOf } from "./report.js";

const ARTICLES = ["tea", "pots", "cups"] as const;
/** One card in so many is declined. */
const BAD_CARDS = 20;
const CUSTOMERS = 20;
const FLAKY = { refuse: 0.1, cutOff: 0.05 };

const { values } = parseArgs({
  options: {
    orders: { type: "string", default: "1500" },
    chaos: { type: "string", default: "25" },
    traces: { type: "boolean", default: false },
  },
});
const orders = ordersOf("order", Number(values.orders), ARTICLES, BAD_CARDS);
const third = Math.ceil(orders.length / 3);

const folder = await mkdtemp(join(tmpdir(), "shop-"));
const journal = join(folder, "journal.jsonl");
await using outside = await openOutside(FLAKY, Math.random);
await using branch = new Branch(
  {
    SHOP_JOURNAL: journal,
    SHOP_PARTNERS: outside.url,
    SHOP_CHAOS_MS: values.chaos,
    SHOP_TRACES: values.traces ? "console" : "off",
  },
  (text) => void (values.traces && process.stdout.write(text)),
);

/** Has customers send a third of the orders, during which `disturb` is called once half of them have been accepted. */
async function serve(part: number, disturb: () => Promise<void>): Promise<Customers> {
  const some = orders.slice(part * third, (part + 1) * third);
  let disturbed: Promise<void> | undefined;
  const customers = await send({
    orders: some,
    connections: CUSTOMERS,
    url: () => branch.url,
    onAccepted: (count) => {
      if (count >= some.length / 2) disturbed ??= disturb();
    },
  });
  await disturbed;
  return customers;
}

await branch.open();
const parts = [
  await serve(0, async () => {
    console.log("SIGTERM under load: the shop closes in order, and opens again");
    console.log(`  it ended with exit code ${await branch.end("SIGTERM")}`);
    await branch.open();
  }),
  await serve(1, async () => {
    console.log("SIGKILL under load: all that is left of the shop is its journal");
    await branch.end("SIGKILL");
    await branch.open();
  }),
  await serve(2, async () => undefined),
];
const code = await branch.end("SIGTERM");

const report = await reportOf(journal);
const accepted = new Set(parts.flatMap((part) => [...part.accepted]));
const faults = faultsOf(report, accepted.size, outside.books);
for (const line of [
  ...reportLines(report),
  branch.killLine,
  `partners  ${outside.troubles} requests refused or cut off`,
])
  console.log(line);
if (code !== 0) faults.push(`exit code ${code}`);
console.log(faults.length === 0 ? "exact: no accepted order lost, none doubled" : faults.join("\n"));
await rm(folder, { recursive: true });
process.exitCode = faults.length === 0 ? 0 : 1;
