// A demonstration: one connection crashes, one reads nothing, and the others do not notice.

import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { System } from "signalbox";
import { WebSocket } from "ws";
import { Connections, chat } from "./chat.js";

const system = new System({ name: "chat", report: false });
const port = await new Promise<number>((resolve) => {
  const onListening = (address: { readonly port: number }) => resolve(address.port);
  void system.start(chat(system, { port: 0, host: "127.0.0.1", onListening }));
});
const connections = Connections.at(system, "connections");
const here = async () => (await connections.countChildren()).active;

async function join(name: string): Promise<WebSocket> {
  const client = new WebSocket(`ws://127.0.0.1:${port}/rooms/tea`);
  const [welcome] = await once(client, "message");
  console.log(`${name}: ${welcome}`);
  client.on("close", (code, reason) => console.log(`${name} is out: ${code} ${reason}`.trim()));
  return client;
}
const ada = await join("ada");
const bob = await join("bob");
const eve = await join("eve");

const heard = once(bob, "message");
ada.send('{"say":"hello"}');
console.log(`bob hears: ${(await heard)[0]}`);

eve.send("no JSON");
await once(eve, "close");
while ((await here()) > 2) await sleep(1);
console.log("two are still here");

bob.pause(); // reads nothing any more
while ((await here()) > 1) {
  ada.send(JSON.stringify({ say: "tea ".repeat(4_000) }));
  await once(ada, "message");
}
console.log("bob was too slow, one is still here");

void system.stop();
await once(ada, "close");
bob.terminate();
