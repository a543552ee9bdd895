// Claims a name, and writes under the claim until that is refused.

import type { Claim } from "signalbox/store";
import { defineTable, postgres } from "signalbox/store";
import { storeContext } from "../store-context.js";

const [connection = "", schema = "", ttl = ""] = process.argv.slice(2);
const names = defineTable("names", { columns: { id: "text" }, key: ["id"] });
const store = await postgres(JSON.parse(connection), { schema, idleInTransactionMs: 200 }).open(
  [{ name: "claims", version: 1, tables: [names] }],
  storeContext(),
);
const claim = (await store.claim("host", { owner: "stopped", ttlMs: Number(ttl) })) as Claim;
claim.lost.addEventListener("abort", () => console.log("lost"));
for (let n = 0; ; n++)
  try {
    await store.commit({ claim, writes: [{ type: "put", table: names, row: { id: `${n}` } }] });
    if (n === 0) console.log("claimed");
  } catch (error) {
    if (!claim.lost.aborted)
      await new Promise((resolve) => claim.lost.addEventListener("abort", () => resolve(undefined)));
    console.log(`refused ${(error as { code: string }).code}`);
    break;
  }
await store.close();
