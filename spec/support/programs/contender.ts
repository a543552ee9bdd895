// Contends for a singleton over PostgreSQL, and writes under its lease for as long as it runs. At SIGUSR2 its system stops, at the next one its store closes.

import { System } from "signalbox";
import { singleton, storeLeases } from "signalbox/nodes";
import { defineTable, openStore, postgres } from "signalbox/store";

const [connection = "", schema = "", name = "", ttlMs = "2000"] = process.argv.slice(2);
const names = defineTable("names", { columns: { id: "text" }, key: ["id"] });
const system = new System({ name, report: false });
const store = await openStore(system, postgres(JSON.parse(connection), { schema }), [
  { name: "contenders", version: 1, tables: [names] },
]);
const writer = singleton(system, {
  name: "writer",
  lease: storeLeases(store, { ttlMs: Number(ttlMs) }),
  start: async (ctx, lease) => {
    lease.lost.addEventListener("abort", () => console.log(`${name} lost ${lease.token}`));
    for (let n = 0; ctx.alive; n++)
      await store
        .commit({ claim: lease, writes: [{ type: "put", table: names, row: { id: `${lease.token}.${n}` } }] })
        .then(() => n === 0 && console.log(`${name} wrote ${lease.token}`))
        .catch((error: { readonly code: string }) => console.log(`${name} refused ${error.code}`));
  },
});
await system.start(writer);
console.log(`${name} contends`);
process.once("SIGUSR2", async () => {
  // The singleton gives its lease back while the system stops, so the store is closed after it.
  const close = new Promise((resolve) => process.once("SIGUSR2", resolve));
  await system.stop();
  console.log(`${name} stopped`);
  // The test closes the store when it has seen what the stop does.
  await close;
  await store.close();
});
