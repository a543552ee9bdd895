// A demonstration: SIGTERM comes while an order is in flight.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openFile } from "./journal.js";
import { startShop } from "./service.js";

const folder = mkdtempSync(join(tmpdir(), "shop-"));
const path = join(folder, "orders.jsonl");
const url = { health: "", http: "" };
let pays = () => {};
const slowPayment = new Promise<void>((resolve) => {
  pays = resolve;
});

const service = startShop(
  {
    port: 0,
    healthPort: 0,
    host: "127.0.0.1",
    pay: async (item) => (item === "slow-tea" ? slowPayment : undefined),
    openLog: () => openFile(path),
    onListening: (name, at) => {
      url[name] = at;
    },
  },
  { drainDelayMs: 500, system: { report: false } },
);
await service.started;

const ready = async () => (await fetch(`${url.health}/readyz`)).status;
const order = async (item: string) => (await fetch(`${url.http}/orders/${item}`, { method: "POST" })).status;
const isOpen = () =>
  fetch(url.http).then(
    () => true,
    () => false,
  );

console.log(`ready: ${await ready()}`);
const slow = order("slow-tea");
console.log(`an order: ${await order("green-tea")}`);

process.kill(process.pid, "SIGTERM"); // the platform does this
while (service.phase === "running") await sleep(1);
console.log(`after SIGTERM, ready: ${await ready()}`);
console.log(`an order from a load balancer that has not noticed: ${await order("black-tea")}`);
while (await isOpen()) await sleep(5);
console.log("after the delay, a new connection: refused");
pays();
console.log(`the order in flight: ${await slow}`);

const { text, exitCode } = await service.ended;
console.log(`${text}, exit code ${exitCode}`);
console.log(`in the journal:\n${readFileSync(path, "utf8").trim()}`);
rmSync(folder, { recursive: true });
