// A node of a kill test: consumers under a supervisor, and dispatches to those of all nodes that the ledger orders.

import { setTimeout as pause } from "node:timers/promises";
import { ConsumerGroup, consumer, type Pid, System, supervisor } from "signalbox";
import { joinCluster, type KvLeases, kvLeases, type Lease, nats, singleton } from "signalbox/nodes";
import { NAMES } from "./names.js";
import { answerTo, type Ended, linkEnds, type Order, type Word } from "./words.js";

const [name = "", given = "", cluster = "", ttlMs = "0"] = process.argv.slice(2);
const servers = given.split(",");

/** Dispatches that are open at a time. */
const OPEN = 64;
const CONSUMERS = 2;
/** One in so many envelopes crashes a consumer that meets it first. */
const CRASH_EVERY = 500;

const system = new System({ name, report: false });
const node = await joinCluster(system, nats({ servers, cluster }));
const work = new ConsumerGroup<number, number>({ name: "work", scope: node });
const crashed = new Set<number>();
const worker = consumer(
  async (n: number) => {
    if (n % CRASH_EVERY === 1 && !crashed.has(n)) {
      crashed.add(n);
      throw new Error(`consumer of ${name} met ${n}`);
    }
    await new Promise((done) => setImmediate(done));
    return answerTo(n);
  },
  { group: work, concurrency: 8 },
);
const children = Array.from({ length: CONSUMERS }, (_, i) => ({ id: `worker ${i}`, start: worker }));
await system.start(supervisor({ children, intensity: 1_000 }));

/** It is linked to the same process of each other node. */
const tie = system.spawn<Pid>(
  { handle: (ctx, other) => ctx.link(other), signal: () => undefined },
  { name: `tie of ${name}`, trapExit: true },
);
const tieTo = async (other: string): Promise<void> => {
  const pid = await node.whereis(`tie of ${other}`).catch(() => undefined);
  if (pid !== undefined) system.send(tie, pid as Pid);
};
for (const { node: other, isHere } of node.nodes()) if (!isHere) void tieTo(other.name);
node.watch({ up: (other) => void tieTo(other.name) });

const tell = (word: Word): void => void process.send?.(word);

/** The leases of the names that this node has, or had. */
const leases = new Map<string, Lease>();
/** How often the holder of a name writes. */
const WRITE_MS = 25;

/** Contends for the names. Servers may elect a leader while it begins. */
async function contend(): Promise<void> {
  let lease: KvLeases | undefined;
  while (lease === undefined) {
    const options = { servers, replicas: servers.length, answerMs: 2_000, ttlMs: Number(ttlMs) };
    lease = await kvLeases(system, options).catch(() => pause(WRITE_MS, undefined));
  }
  const source = lease;
  const named = NAMES.map((of) => ({
    id: of,
    start: singleton(node, {
      name: of,
      lease: source,
      start: async (ctx, held: Lease) => {
        leases.set(of, held);
        for (; ctx.alive; await pause(WRITE_MS))
          if (held.isHeld) tell({ type: "wrote", held: { name: of, token: held.token } });
      },
    }),
  }));
  await system.start(supervisor({ children: named, intensity: 1_000 }));
}
if (ttlMs !== "0") void contend();

/** Numbers to dispatch, and how many dispatches are open. */
const queue: number[] = [];
let open = 0;
let ends: Ended[] = [];

function goOn(): void {
  for (; open < OPEN && queue.length > 0; open++) {
    const n = queue.shift() as number;
    system
      .dispatch(work, system.envelope(n, { id: `order ${n}` }))
      .then(
        ({ reply }) => ({ n, reply }),
        (error: { readonly code?: string; readonly message: string }) => ({
          n,
          code: error.code ?? error.message,
        }),
      )
      .then((end) => {
        open--;
        ends.push(end);
        if (ends.length === 1) setImmediate(report);
        goOn();
      });
  }
}

function report(): void {
  tell({ type: "ended", ends });
  ends = [];
}

process.on("message", (order: Order) => {
  if (order.type === "dispatch") {
    for (let n = order.from; n < order.to; n++) queue.push(n);
    goOn();
  } else if (order.type === "links") {
    const held = [...leases].filter(([, one]) => one.isHeld).map(([of, { token }]) => ({ name: of, token }));
    tell({ type: "links", ends: linkEnds(system), held });
  } else
    void node
      .leave()
      .then(() => system.stop())
      .then(() => process.disconnect());
});
tell({ type: "ready" });
