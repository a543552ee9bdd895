// A network of frames in memory, which a test may cut, hold and disturb.

import type { FrameCarrier, FrameReceiver } from "../../../lib/node/session/carrier.js";
import type { RemoteNode } from "../../../lib/process/pid.js";

interface Joined {
  readonly node: RemoteNode;
  readonly receiver: FrameReceiver;
}

export class FrameNetwork {
  /** All frames, in the order of their sending, as `from>to frame`. */
  readonly log: string[] = [];
  readonly closed: string[] = [];
  /** Loses a frame for which this returns true. */
  lose: (from: RemoteNode, to: RemoteNode, frame: string) => boolean = () => false;
  /** Changes a frame on its way, as another release might have written it. */
  rewrite: (from: RemoteNode, to: RemoteNode, frame: string) => string = (_from, _to, frame) => frame;
  /** What waits in a carrier for a node. Undefined where the carrier does not know. */
  pending: ((to: RemoteNode) => number) | undefined = undefined;
  notices = false;
  /** Its carriers know the nodes that they reach. */
  knows = false;
  maxFrameBytes: number | undefined = undefined;
  readonly #joined = new Map<string, Joined>();

  carrier(node: RemoteNode): FrameCarrier {
    const { pending, maxFrameBytes } = this;
    return {
      notices: this.notices,
      open: (receiver) => void this.#joined.set(node.id, { node, receiver }),
      send: (to, frame) => this.#send(node, to, frame),
      ...(pending === undefined ? {} : { pending }),
      ...(maxFrameBytes === undefined ? {} : { maxFrameBytes }),
      ...(this.knows ? { reaches: ({ id }) => this.#joined.has(id) } : {}),
      close: () => {
        this.closed.push(node.name);
        this.#joined.delete(node.id);
      },
    };
  }

  /** The node is gone without a word. */
  kill(node: RemoteNode): void {
    this.#joined.delete(node.id);
  }

  receiver(node: RemoteNode): FrameReceiver {
    return (this.#joined.get(node.id) as Joined).receiver;
  }

  /** The nodes see each other. */
  meet(): void {
    for (const one of this.#joined.values())
      for (const other of this.#joined.values()) if (one !== other) one.receiver.seen(other.node);
  }

  /** Cuts two nodes off, without notice. */
  cut(...between: RemoteNode[]): void {
    this.lose = (from, to) => between.includes(from) && between.includes(to);
  }

  heal(): void {
    this.lose = () => false;
  }

  #send(from: RemoteNode, to: RemoteNode, frame: string): boolean {
    this.log.push(`${from.name}>${to.name} ${frame}`);
    const there = this.#joined.get(to.id);
    if (there === undefined) return false;
    if (this.lose(from, there.node, frame)) return true;
    const arriving = this.rewrite(from, there.node, frame);
    setImmediate(() => this.#joined.get(to.id)?.receiver.frame(from, arriving));
    return true;
  }
}
