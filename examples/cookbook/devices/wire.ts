// Carries frames between nodes of one process, so that the demonstration needs no server. On machines: `nats({ servers, cluster })`.

import type { RemoteNode } from "signalbox";
import type { CarrierSource, FrameCarrier, FrameReceiver } from "signalbox/nodes";

export class Wire implements CarrierSource {
  readonly label = "wire";
  readonly #nodes = new Map<string, { readonly node: RemoteNode; readonly receiver: FrameReceiver }>();

  async connect({ node }: { readonly node: RemoteNode }): Promise<FrameCarrier> {
    return {
      notices: true,
      open: (receiver) => {
        const others = [...this.#nodes.values()];
        this.#nodes.set(node.id, { node, receiver });
        for (const other of others) {
          other.receiver.seen(node);
          receiver.seen(other.node);
        }
      },
      send: (to, frame) => {
        if (!this.#nodes.has(node.id) || !this.#nodes.has(to.id)) return false;
        setImmediate(() => this.#nodes.get(to.id)?.receiver.frame(node, frame));
        return true;
      },
      close: () => this.lose(node),
    };
  }

  /** The node is gone without a word, as after `kill -9`. */
  lose({ id }: RemoteNode): void {
    const gone = this.#nodes.get(id);
    if (!this.#nodes.delete(id) || gone === undefined) return;
    for (const { receiver } of this.#nodes.values()) receiver.unreachable(gone.node);
  }
}
