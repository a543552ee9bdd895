// The entrances of nodes.

import { defineServer, System } from "signalbox";
import {
  byKey,
  byLabel,
  type ClusterNode,
  type FrameCarrier,
  holderAddress,
  job,
  joinCluster,
  type KeyEntry,
  keyed,
  keyedSchema,
  kvLeases,
  leastLoaded,
  localNetwork,
  nats,
  programs,
  Sessions,
  singleton,
  storeLeases,
  threadProgram,
  threads,
} from "signalbox/nodes";
import { memory, openStore } from "signalbox/store";
import { ProgramNodes } from "../../lib/node/cluster/placement.js";
import { Threads } from "../../lib/node/threads/threads.js";
import { type Lines, made, nothing, on } from "./lines.js";

/** Reaches nobody. */
const CARRIER: FrameCarrier = { notices: true, send: () => false, open: nothing, close: nothing };

/** A system joins once. */
const joined = (): Promise<ClusterNode> =>
  joinCluster(new System({ report: false }), CARRIER, { settleMs: 0 });

export async function nodes(system: System): Promise<Lines> {
  const store = await openStore(system, memory(), []);
  const only = singleton(system, { name: "only", lease: store, start: nothing });
  const ref = await system.start(only);
  const node = await joined();
  const keyStore = await openStore(system, memory(), [keyedSchema]);
  const entries: KeyEntry<unknown>[] = [];
  const Entry = defineServer({ init: (_ctx, entry: KeyEntry<unknown>) => void entries.push(entry) });
  const keys = keyed(node, { name: "key", store: keyStore, start: Entry, shards: 1, ttlMs: 3_600_000 });
  await node.system.start(keys);
  await keys.pid("k");
  const entry = entries[0] as KeyEntry<unknown>;
  const sessions = new Sessions(new System({ report: false }), CARRIER);
  const placing = { placement: () => undefined, placeTimeoutMs: 0 };
  const pid = system.spawn({ handle: nothing });
  const threadless = new Threads(system as never, pid, new ProgramNodes(), placing, async () => undefined);
  return {
    threadProgram: () => [threadProgram, { programs: {} }],
    threads: () => [threads, new System({ report: false }), { program: "data:text/javascript,", size: 1 }],
    "Threads.on": () => [on(threadless, "on"), "picker", []],
    "Threads.start": () => [on(threadless, "start"), "picker", []],
    "Threads.run": () => [on(threadless, "run"), "sum", [], {}],
    job: () => [job, nothing],
    holderAddress: () => [holderAddress, "{}"],
    keyed: () => [keyed, node, { name: "other", store: keyStore, start: nothing }],
    "Keyed.at": () => [on(keys, "at"), "k", {}],
    "Keyed.pid": () => [on(keys, "pid"), "k", {}],
    "Keyed.send": () => [on(keys, "send"), "k", "hello", {}],
    "KeyEntry.save": () => [on(entry, "save"), 1, { writes: [] }],
    "KeyEntry.remove": () => [on(entry, "remove"), { writes: [] }],
    kvLeases: () => [kvLeases, system, { servers: "127.0.0.1:1" }],
    localNetwork: () => [localNetwork],
    "LocalNetwork.connect": () => [on(localNetwork(), "connect"), new System({ report: false })],
    "LocalNetwork.lose": () => [on(localNetwork(), "lose"), node.node],
    nats: () => [nats, { servers: "127.0.0.1:1", cluster: "shop" }],
    "new Sessions": () => [made(Sessions), new System({ report: false }), CARRIER, {}],
    "Sessions.watch": () => [on(sessions, "watch"), {}],
    "SingletonRef.here": () => [on(ref, "here"), {}],
    singleton: () => [singleton, system, { name: "only", lease: store, start: nothing }],
    storeLeases: () => [storeLeases, store, {}],
    byKey: () => [byKey, () => "key"],
    byLabel: () => [byLabel, "disk", "fast", leastLoaded()],
    joinCluster: () => [joinCluster, new System({ report: false }), CARRIER, { settleMs: 0 }],
    programs: () => [programs, node, { picker: { handle: nothing } }],
    "ClusterNode.watch": () => [on(node, "watch"), {}],
    "ClusterNode.whereis": () => [on(node, "whereis"), "stock", {}],
    "ClusterNode.on": () => [on(node, "on"), "picker", [], {}],
    "ClusterNode.run": () => [on(node, "run"), "sum", [], {}],
    "ClusterNode.leave": async () => [on(await joined(), "leave"), {}],
  };
}
