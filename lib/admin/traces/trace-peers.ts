// How the operations on a system reach the other nodes of its cluster, which is a floor above: a system that joins one offers this here.

import type { Kernel } from "../../process/kernel.js";
import type { RemoteNode } from "../../process/pid.js";

/** A question for the spans that another node keeps. It is sent as it is. */
export type SpanQuestion =
  | { readonly type: "spans"; readonly trace: string }
  | { readonly type: "traces"; readonly limit: number; readonly find?: string };

/** A node that was a member of the cluster, and is none any more. */
export interface LostNode {
  readonly node: RemoteNode;
  /** When, in milliseconds since 1970, by the clock here. */
  readonly at: number;
}

/** The other nodes of a cluster. */
export interface TracePeers {
  /** The members, without this node. */
  nodes(): readonly RemoteNode[];
  /** The last nodes that were lost or have left. */
  lost(): readonly LostNode[];
  /** Asks a member. The answer has any form: another release may have written it. @throws what a call throws */
  ask(node: RemoteNode, question: SpanQuestion, timeoutMs: number): Promise<unknown>;
}

const all = new WeakMap<Kernel, TracePeers>();

/** Offers the other nodes to the operations on a system, until the call that it gives. */
export function offerPeers(kernel: Kernel, peers: TracePeers): () => void {
  all.set(kernel, peers);
  return () => {
    if (all.get(kernel) === peers) all.delete(kernel);
  };
}

/** The other nodes of the cluster of a system. Undefined: it is in none. */
export function tracePeersOf(kernel: Kernel): TracePeers | undefined {
  return all.get(kernel);
}
