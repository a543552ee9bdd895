// `npm run checkout`: an order that waits for an approval, in a service that is killed three times: while the bank works, while the
// order waits, and while the parcel is on its way. It goes on each time, and nothing is done twice.
//
//   checkout.ts         the flows               partners.ts   requests to the bank and the carrier
//   main.ts             the service             routes.ts     orders and approvals by HTTP
//   service-process.ts  kills and starts it     outside.ts    the bank and the carrier

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Doing, Receipt } from "./checkout.js";
import { openOutside } from "./outside.js";
import { ServiceProcess } from "./service-process.js";

type State = { readonly status: string } & Partial<Doing & Receipt>;

const ORDER = { id: "order-1", total: 4_200 };
const POLL_MS = 10;

const folder = await mkdtemp(join(tmpdir(), "checkout-"));
await using outside = await openOutside();
await using service = new ServiceProcess({
  CHECKOUT_FILE: join(folder, "flows.db"),
  CHECKOUT_PARTNERS: outside.url,
});

async function send(path: string, body: object): Promise<void> {
  const response = await fetch(service.url + path, { method: "POST", body: JSON.stringify(body) });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
}

/** Shows what the order does, until it does this. After a kill its code runs over the journal, and tells of that, too. */
async function until(goal: string): Promise<State> {
  for (let shown = ""; ; await pause(POLL_MS)) {
    const state = (await (await fetch(`${service.url}/orders/${ORDER.id}`)).json()) as State;
    const doing = state.end ?? state.doing ?? state.status;
    if (doing !== shown) console.log(`  ${ORDER.id} ${doing}`);
    shown = doing;
    if (doing === goal) return state;
  }
}

async function killAndOpen(when: string): Promise<void> {
  console.log(`kill -9 ${when}`);
  await service.end("SIGKILL");
  await service.open();
  console.log("  the service is open again");
}

await service.open();
console.log("an order comes in");
const charging = outside.hold("/charges");
await send("/orders", ORDER);
await until("charges the card");
await charging;
await killAndOpen("while the bank works");
await until("waits for approval");
await killAndOpen("while the order waits");
await until("waits for approval");
console.log("Ada approves");
const sending = outside.hold("/parcels");
await send(`/orders/${ORDER.id}/approval`, { by: "Ada", ok: true });
await send(`/orders/${ORDER.id}/approval`, { by: "Ada", ok: true });
await until("ships");
await sending;
await killAndOpen("while the parcel is handed over");
const { history = [] } = await until("shipped");
const code = await service.end("SIGTERM");

console.log("history");
for (const line of history) console.log(`  ${line}`);
const WORK = ["/charges", "/picks", "/parcels"];
console.log(
  `outside: ${WORK.map((path) => `${path} asked ${outside.asked(path)}, done ${outside.done(path)}`).join("; ")}`,
);
const exact =
  WORK.every((path) => outside.done(path) === 1) && history.at(-1) === "bookings: 1" && code === 0;
console.log(exact ? "exact: nothing lost, nothing done twice" : `NOT EXACT, exit code ${code}`);
await rm(folder, { recursive: true });
process.exitCode = exact ? 0 : 1;
