// The other process of nats.ts: `nats-far.js SERVERS PREFIX`. It counts messages and echoes questions.

import { connect } from "@nats-io/transport-node";
import { serveNear } from "./far.js";

const [servers = "", prefix = ""] = process.argv.slice(2);
const connection = await connect({ servers });

let counted = 0;
connection.subscribe(`${prefix}.count`, {
  callback: (_error, message) => {
    if ("order" in message.json<object>()) counted++;
  },
});
connection.subscribe(`${prefix}.counted`, {
  callback: (_error, message) => {
    message.respond(JSON.stringify(counted));
    counted = 0;
  },
});
connection.subscribe(`${prefix}.echo`, {
  callback: (_error, message) => void message.respond(JSON.stringify(message.json<{ n: number }>().n)),
});
await connection.flush();
serveNear();
