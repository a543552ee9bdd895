// Frames between the threads of one program: a pair of message ports for each two of them. A port that closes says at once that the
// thread at its other end is gone, after the last frame from there. Then it may not be asked for messages any more, which ends Node 20
// with a segmentation fault. How much may be on its way is the session's credit: a port has no limit of its own.

import type { RemoteNode } from "../../process/pid.js";
import type { HostPort } from "../../process/thread.js";
import type { FrameCarrier, FrameReceiver } from "../session/carrier.js";

interface Line {
  readonly node: RemoteNode;
  readonly port: HostPort;
}

/** Carries frames over message ports, which its owner adds. */
export class PortCarrier implements FrameCarrier {
  readonly notices = true;
  readonly #lines = new Map<string, Line>();
  readonly #gone: (node: RemoteNode) => void;
  #receiver: FrameReceiver | undefined;

  /** @param gone - called when a thread has ended, before its sessions do */
  constructor(gone: (node: RemoteNode) => void = () => undefined) {
    this.#gone = gone;
  }

  open(receiver: FrameReceiver): void {
    this.#receiver = receiver;
  }

  /** The port to a node. What has arrived there already is received. */
  add(node: RemoteNode, port: HostPort): void {
    const line: Line = { node, port };
    this.#lines.set(node.id, line);
    port.on("message", (frame) => {
      if (this.#isOpen(line)) this.#receiver?.frame(node, frame as string);
    });
    // A frame that cannot be read here: what is missing ends the session.
    port.on("messageerror", () => port.close());
    // Comes after the last message.
    port.on("close", () => {
      if (!this.#isOpen(line)) return;
      this.#lines.delete(node.id);
      this.#gone(node);
      this.#receiver?.unreachable(node);
    });
    this.#receiver?.seen(node);
  }

  #isOpen({ node, port }: Line): boolean {
    return this.#lines.get(node.id)?.port === port;
  }

  /** A node without a line is no thread of this program. */
  reaches({ id }: RemoteNode): boolean {
    return this.#lines.has(id);
  }

  send(to: RemoteNode, frame: string): boolean {
    const line = this.#lines.get(to.id);
    // A closed port takes messages and drops them; its notice is on its way.
    line?.port.postMessage(frame);
    return line !== undefined;
  }

  /** The thread of this node has ended: resolves when all that it has sent is received. */
  async ended(nodeId: string): Promise<void> {
    const port = this.#lines.get(nodeId)?.port;
    if (port !== undefined) await new Promise<void>((resolve) => port.once("close", () => resolve()));
  }

  close(): void {
    const lines = [...this.#lines.values()];
    this.#lines.clear();
    this.#receiver = undefined;
    for (const { port } of lines) port.close();
  }
}
