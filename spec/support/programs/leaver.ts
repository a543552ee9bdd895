// A node that meets others and, at SIGUSR2, leaves or stops. Then nothing keeps its process alive.

import { ConsumerGroup, consumer, System } from "signalbox";
import { joinCluster, nats } from "signalbox/nodes";

const [servers = "", name = "", how = "", nodes = "1"] = process.argv.slice(2);
const system = new System({ name, report: false });
const node = await joinCluster(system, nats({ servers, cluster: "shop", presenceMs: 200 }), {
  limitMs: 60_000,
});
const group = new ConsumerGroup<number, number>({ name: "work", scope: node });
group.join(system.spawn(consumer((n: number) => n)));
const met = (): void => {
  if (node.nodes().length >= Number(nodes)) console.log("met");
};
const TURNS = 10_000;
/** What could be a socket or a timer of the node. The pipes are those of the test. */
const left = (): string[] => process.getActiveResourcesInfo().filter((kind) => /TCP|TLS|Timeout/.test(kind));

process.once("SIGUSR2", async () => {
  const began = performance.now();
  await (how === "leave" ? node.leave() : system.stop());
  console.log(`ms: ${Math.round(performance.now() - began)}`);
  await system.stop();
  for (let turn = 0; turn < TURNS && left().length > 0; turn++)
    await new Promise<void>((go) => setImmediate(go));
  console.log(`left: ${left().join() || "nothing"}, ${system.kernel.pendingTimers} timers`);
});
node.watch({ up: met });
met();
