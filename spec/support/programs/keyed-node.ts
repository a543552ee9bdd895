// A node over NATS that runs its part of the keys over PostgreSQL, and sends numbered messages to the keys of the whole cluster, one
// after the other. It prints each one that was acknowledged.

import { defineServer, System, supervisor } from "signalbox";
import { joinCluster, type KeyEntry, keyed, keyedSchema, nats } from "signalbox/nodes";
import { openStore, postgres } from "signalbox/store";

const [connection = "", schema = "", servers = "", name = ""] = process.argv.slice(2);
const KEYS = 12;
const system = new System({ name, report: false });
const store = await openStore(system, postgres(JSON.parse(connection), { schema }), [keyedSchema]);
const node = await joinCluster(system, nats({ servers, cluster: schema.replaceAll("_", "-") }));
const Log = defineServer({
  label: "log",
  init: (_ctx, entry: KeyEntry<readonly string[]>) => entry,
  calls: {
    async add(entry, id: string): Promise<void> {
      const ids = entry.state ?? [];
      if (!ids.includes(id)) await entry.save([...ids, id]);
    },
  },
});
const logs = keyed(node, { name: "log", store, start: Log, shards: 16 });
await system.start(supervisor({ children: [{ id: "logs", start: logs }] }));
console.log(`${name} runs`);
for (let n = 0; ; n++) {
  const [key, id] = [`log-${n % KEYS}`, `${name}.${n}`];
  await logs
    .at(key, { repeat: true, timeoutMs: 30_000 })
    .call.add(id)
    .then(
      () => console.log(`acknowledged ${key} ${id};`),
      (error: { readonly code: string }) => console.log(`failed ${key} ${id} ${error.code};`),
    );
}
