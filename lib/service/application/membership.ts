// The place of a service in a cluster: it joins before its tree starts, and leaves when the tree has stopped.

import type { CarrierSource } from "../../node/cluster/carrier-source.js";
import type { ClusterNode, ClusterOptions } from "../../node/cluster/cluster-node.js";
import type { Programs } from "../../node/cluster/programs.js";
import type { FrameCarrier } from "../../node/session/carrier.js";
import { OptionError } from "../../process/errors.js";
import type { System } from "../../system.js";
import type { ClusterHealth } from "../health/report.js";

/** The cluster that a service joins: the option `cluster` of `run`. */
export interface ServiceCluster extends ClusterOptions {
  /** Carries frames to the other nodes, such as `nats({ … })`. */
  readonly carrier: CarrierSource | FrameCarrier;
  /** The programs that other nodes may start here, by name. Default none. */
  readonly programs?: Programs;
}

/** Longest wait for children that run here for other nodes, in milliseconds. Then they are killed. */
const CHILDREN_MS = 5_000;

export class Membership {
  readonly #system: System;
  #joining: Promise<ClusterNode> | undefined;
  #node: ClusterNode | undefined;

  constructor(system: System) {
    this.#system = system;
  }

  /** @throws OptionError until the service has joined */
  get node(): ClusterNode {
    if (this.#node === undefined)
      throw new OptionError(
        "cluster",
        undefined,
        "given to `run`, and joined: the function of the tree may use it",
      );
    return this.#node;
  }

  /** What the health of the service says of it. */
  get health(): ClusterHealth | undefined {
    const node = this.#node;
    return node && { isConnected: node.isConnected, nodes: node.nodes().length };
  }

  /** @throws what joinCluster throws */
  async join(cluster: ServiceCluster): Promise<void> {
    const { carrier, programs: given, ...options } = Object(cluster) as ServiceCluster;
    if (carrier === undefined)
      throw new OptionError("cluster", cluster, "an object with a carrier, such as { carrier: nats({ … }) }");
    const join = async (): Promise<ClusterNode> => {
      const { joinCluster, programs } = await import("../../node/cluster/cluster-node.js");
      const node = await joinCluster(this.#system, carrier, options);
      if (given !== undefined) programs(node, given);
      return node;
    };
    this.#joining = join();
    this.#node = await this.#joining;
  }

  /** The service stops soon: nothing more is placed here. */
  withdraw(): void {
    this.#node?.withdraw();
  }

  /**
   * A join that is not done is not waited for: it finds its system stopped, or leaves later.
   *
   * @param atOnce - children that run here for other nodes are killed, and nothing is waited for
   */
  async leave(atOnce: boolean, limitMs: number): Promise<void> {
    const left = this.#joining?.then(
      (node) => node.leave({ timeoutMs: atOnce ? 0 : Math.min(limitMs, CHILDREN_MS) }),
      () => undefined,
    );
    if (!atOnce && this.#node !== undefined) await left;
  }
}
