/**
 * signalbox/nodes: several systems as one. Each system is a node, and pids of other nodes work like its own.
 *
 *     codec/      signals as text, and what may be sent
 *     session/    the seam to what carries frames between two nodes
 *     lease/      leases with rising tokens, kept by a store; singletons, which run where a lease is held
 *     cluster/    where carriers come from
 *     nats/       NATS as the carrier of a cluster: it finds the nodes, and says at once that one is gone
 *
 * @example
 * const source = nats({ servers: "127.0.0.1:4222", cluster: "shop" });
 * const carrier = await source.connect(new System({ name: "till" }));
 * console.log(carrier.state.isConnected);
 */

export type { CarrierSource } from "./cluster/carrier-source.js";
export { FrameError, SignalTooLargeError, UnsendableError } from "./codec/errors.js";
export { LeaseLostError } from "./lease/errors.js";
export { holderAddress } from "./lease/holder.js";
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
export { ClusterConnectError } from "./nats/errors.js";
export { type NatsCarrier, type NatsOptions, type NatsState, nats } from "./nats/nats.js";
export type { FrameCarrier, FrameReceiver } from "./session/carrier.js";
