// A node that sends far more than another one takes, at SIGUSR2, and measures its own memory meanwhile. Needs --expose-gc.

import { System } from "signalbox";
import { joinCluster, nats } from "signalbox/nodes";

const [servers = "", name = ""] = process.argv.slice(2);
const MESSAGES = 100_000;
const BYTES = 8_000;
const IN_A_TURN = 100;
const LOOK_EVERY = 1_000;

const system = new System({ name, report: false });
const node = await joinCluster(system, nats({ servers, cluster: "shop", presenceMs: 200 }));
let dead = 0;
system.events.on("deadLetter", ({ message }) => {
  if (typeof (message as { readonly n?: unknown }).n === "number") dead++;
});
if (name === "sink") {
  system.spawn({ handle: () => undefined }, { name: "sink" });
  console.log("ready");
} else {
  let to = await node.whereis("sink");
  while (to === undefined) to = await node.whereis("sink");
  const sink = to;
  /** What is used now, and what the host has given to this process. */
  const used = (): { readonly heap: number; readonly rss: number } => {
    (globalThis as { gc?(): void }).gc?.();
    const { heapUsed, external, rss } = process.memoryUsage();
    return { heap: heapUsed + external, rss };
  };
  process.once("SIGUSR2", async () => {
    const before = used();
    let heap = 0;
    let rss = 0;
    const look = (): void => {
      const now = used();
      heap = Math.max(heap, now.heap - before.heap);
      rss = Math.max(rss, now.rss - before.rss);
    };
    for (let n = 0; n < MESSAGES; n++) {
      system.send(sink, { n, text: "x".repeat(BYTES) });
      if (n % LOOK_EVERY === 0) look();
      if (n % IN_A_TURN === 0) await new Promise<void>((go) => setImmediate(go));
    }
    look();
    // The limit of silence, at which all that waited comes back.
    while (dead < MESSAGES) await new Promise<void>((go) => setTimeout(go, 10));
    console.log(`result ${JSON.stringify({ heap, rss, dead })}`);
  });
  console.log("ready");
}
