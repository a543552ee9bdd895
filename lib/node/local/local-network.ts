// A network inside one program: it carries frames between systems of one thread, so that a cluster needs no server. Frames are the same text
// that travels over NATS, and each arrives in a turn of the system that it goes to.

import { OptionError } from "../../process/errors.js";
import { kernelOf } from "../../process/options.js";
import type { RemoteNode } from "../../process/pid.js";
import type { ProcessSystem } from "../../process/system.js";
import type { CarrierSource } from "../cluster/carrier-source.js";
import type { FrameCarrier, FrameReceiver } from "../session/carrier.js";
import { SystemPace } from "../session/system-pace.js";

interface End {
  readonly node: RemoteNode;
  readonly receiver: FrameReceiver;
  /** Carries frames out in the order in which they came, at the end of a turn of the system. */
  readonly arrive: (fire: () => void) => void;
}

/** A network of systems of one program; made by {@link localNetwork}. */
export class LocalNetwork implements CarrierSource {
  readonly label = "a network inside this program";
  readonly #ends = new Map<string, End>();

  async connect(system: ProcessSystem): Promise<FrameCarrier> {
    const kernel = kernelOf(system);
    const { node } = kernel;
    const pace = new SystemPace(kernel);
    return {
      notices: true,
      open: (receiver) => {
        const others = [...this.#ends.values()];
        this.#ends.set(node.id, { node, receiver, arrive: (fire) => pace.endOfTurn(fire) });
        for (const other of others) {
          other.receiver.seen(node);
          receiver.seen(other.node);
        }
      },
      reaches: ({ id }) => this.#ends.has(node.id) && this.#ends.has(id),
      send: (to, frame) => this.#send(node, to, frame),
      close: () => this.#remove(node),
    };
  }

  /**
   * Cuts a node off for good: the other nodes learn that it is gone, and it learns that they are. Its system goes on, as that of a machine
   * without a network. A node that is not there is gone already.
   *
   * @throws OptionError
   * @example
   * const network = localNetwork();
   * const east = await joinCluster(new System({ name: "east" }), network);
   * const west = await joinCluster(new System({ name: "west" }), network);
   * network.lose(east.node);
   * console.log(west.nodes().length); // 1
   */
  lose(node: RemoteNode): void {
    if (typeof (node as Partial<RemoteNode> | undefined)?.id !== "string")
      throw new OptionError("node", node, "a node, such as the `node` of a member of the cluster");
    const lost = this.#ends.get(node.id);
    if (lost === undefined) return;
    const others = [...this.#ends.values()].filter((end) => end !== lost);
    this.#remove(node);
    for (const other of others) lost.receiver.unreachable(other.node);
  }

  #send(from: RemoteNode, to: RemoteNode, frame: string): boolean {
    const end = this.#ends.get(to.id);
    if (end === undefined || !this.#ends.has(from.id)) return false;
    end.arrive(() => {
      if (this.#ends.get(to.id) === end && this.#ends.has(from.id)) end.receiver.frame(from, frame);
    });
    return true;
  }

  #remove(node: RemoteNode): void {
    if (!this.#ends.delete(node.id)) return;
    for (const { receiver } of this.#ends.values()) receiver.unreachable(node);
  }
}

/**
 * A network inside one program, for `joinCluster` in tests and demonstrations: the systems that join over it are a cluster without a server. All else is
 * as over `nats`: frames are text, and what cannot be sent throws. To test how a program bears cuts and pauses, use the simulator of
 * `signalbox/testing`.
 *
 * @example
 * const network = localNetwork();
 * const till = await joinCluster(new System({ name: "till" }), network);
 * const depot = await joinCluster(new System({ name: "depot" }), network);
 * console.log(till.nodes().map(({ node }) => node.name)); // [ "till", "depot" ]
 */
export function localNetwork(): LocalNetwork {
  return new LocalNetwork();
}
