/**
 * signalbox/nodes: several systems as one. Each system is a node, and pids of other nodes work like its own.
 *
 *     codec/      signals as text, and what may be sent
 *     session/    the session between two nodes: epochs, numbers, credit, heartbeats, and the seam to what carries its frames
 *     lease/      leases with rising tokens, kept by a store or a bucket of JetStream; singletons, which run where a lease is held
 *     cluster/    joinCluster: the nodes that are there, names on all of them, and children that are started on other nodes
 *     keyed/      a process for each key, with a durable state that another node takes over
 *     groups/     consumer groups that span the nodes: a stand-in for each consumer elsewhere
 *     local/      a network inside one program: a cluster without a server, for tests and demonstrations
 *     nats/       NATS as the carrier of a cluster: it finds the nodes, and says at once that one is gone
 *     threads/    a system in each of several worker threads, joined by message ports
 *
 * @example
 * const node = await joinCluster(system, nats({ servers: "127.0.0.1:4222", cluster: "shop" }));
 * programs(node, { picker: async (ctx) => console.log(await ctx.receive()) });
 * await system.start(supervisor({ children: [{ id: "p", start: node.on("picker") }] }));
 */

export type { SessionView } from "../process/session-view.js";
export type { CarrierSource } from "./cluster/carrier-source.js";
export { byKey, byLabel, leastLoaded } from "./cluster/choices.js";
export {
  type ClusterListener,
  type ClusterMember,
  ClusterNode,
  type ClusterOptions,
  joinCluster,
  type PlaceOptions,
  programs,
} from "./cluster/cluster-node.js";
export { NoNodeError, UnknownProgramError } from "./cluster/errors.js";
export { type JobArguments, type JobContext, job, type RunOptions } from "./cluster/job.js";
export { fewestChildren, type Placement, type ProgramNode } from "./cluster/placement.js";
export type { Programs } from "./cluster/programs.js";
export { FrameError, SignalTooLargeError, UnsendableError } from "./codec/errors.js";
export { KeyBusyError, KeySaveError, KeyShardsError, KeyUnavailableError } from "./keyed/errors.js";
export type { KeyedView } from "./keyed/host-process.js";
export { KeyEntry, type KeyLease, keyedSchema, type SaveWith } from "./keyed/key-entry.js";
export {
  type Keyed,
  type KeyedArgs,
  type KeyedBody,
  type KeyedOptions,
  type KeyedStart,
  type KeyHandle,
  type KeyOptions,
  keyed,
} from "./keyed/keyed.js";
export { LeaseBucketError, LeaseLostError } from "./lease/errors.js";
export { holderAddress } from "./lease/holder.js";
export { type KvLeases, type KvLeasesOptions, kvLeases } from "./lease/kv-leases.js";
export type { HeldLease, LeaseHolder, LeaseSource } from "./lease/lease-source.js";
export {
  type HasSystem,
  type Lease,
  type LeasedArgs,
  type SingletonBody,
  type SingletonDefinition,
  type SingletonHandle,
  type SingletonOptions,
  SingletonRef,
  type SingletonStart,
  singleton,
} from "./lease/singleton.js";
export { type StoreLeasesOptions, storeLeases } from "./lease/store-leases.js";
export { type LocalNetwork, localNetwork } from "./local/local-network.js";
export { ClusterConnectError } from "./nats/errors.js";
export { type NatsCarrier, type NatsOptions, type NatsState, nats } from "./nats/nats.js";
export type { FrameCarrier, FrameReceiver } from "./session/carrier.js";
export { SESSION_DEFAULTS, type SessionLimits } from "./session/limits.js";
export type { NodeDown, NodeRefused, NodeUp, SessionListener } from "./session/session-events.js";
export { type SessionOptions, Sessions } from "./session/sessions.js";
export { ThreadHungError } from "./threads/errors.js";
export { type ThreadProgram, type ThreadProgramOptions, threadProgram } from "./threads/thread-program.js";
export {
  THREADS_DEFAULTS,
  type ThreadNode,
  type Threads,
  type ThreadsOptions,
  threads,
} from "./threads/threads.js";
