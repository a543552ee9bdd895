/**
 * signalbox/nodes: several systems as one. Each system is a node, and pids of other nodes work like its own.
 *
 *     codec/      signals as text, and what may be sent
 *     session/    the seam to what carries frames between two nodes
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
export { ClusterConnectError } from "./nats/errors.js";
export { type NatsCarrier, type NatsOptions, type NatsState, nats } from "./nats/nats.js";
export type { FrameCarrier, FrameReceiver } from "./session/carrier.js";
