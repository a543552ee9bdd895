// The second node of nodes.ts: `nodes-far.js SERVERS CLUSTER [consumer]`. It has a process that counts and one that echoes, and consumes what nobody
// settles until the process is killed.

import { ConsumerGroup, consumer, System } from "signalbox";
import { joinCluster, nats } from "signalbox/nodes";
import { serveNear, tellNear } from "./far.js";
import { COUNTER, ECHO, type Echoed, WORK } from "./nodes.js";
import type { Counted } from "./thread-work.js";

const [servers = "", cluster = "", role = ""] = process.argv.slice(2);
const system = new System({ name: "far", report: false });
const node = await joinCluster(system, nats({ servers, cluster }));

let counted = 0;
system.spawn<Counted>(
  {
    handle: (ctx, message) => {
      if (!("replyTo" in message)) {
        counted++;
        return;
      }
      ctx.reply(message.replyTo, counted);
      counted = 0;
    },
  },
  { name: COUNTER },
);
system.spawn<Echoed>({ handle: (ctx, { n, replyTo }) => ctx.reply(replyTo, n) }, { name: ECHO });
if (role === "consumer") {
  const group = new ConsumerGroup<number, number>({ name: WORK, scope: node });
  const keep = (): Promise<number> => {
    tellNear({ type: "taken" });
    return new Promise(() => undefined);
  };
  system.spawn(consumer(keep, { group }));
}
serveNear();
