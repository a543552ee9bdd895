// Carries frames between the threads of one program, over a pair of message ports for each two threads. When a thread ends, its ports close
// at once, after the last frame from there. Do not receive from a port that has closed: Node 20 ends with a segmentation fault. A port has
// no limit; the credit of the session bounds the frames in flight.

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

  /** Adds the port to a node, and receives the frames that have already arrived there. */
  add(node: RemoteNode, port: HostPort): void {
    const line: Line = { node, port };
    this.#lines.set(node.id, line);
    port.on("message", (frame) => {
      if (this.#isOpen(line)) this.#receiver?.frame(node, frame as string);
    });
    // The frame could not be read. The session notices the gap and ends.
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

  /** A node without a port is no thread of this program. */
  reaches({ id }: RemoteNode): boolean {
    return this.#lines.has(id);
  }

  send(to: RemoteNode, frame: string): boolean {
    const line = this.#lines.get(to.id);
    // A closed port drops messages. Its `close` event follows.
    line?.port.postMessage(frame);
    return line !== undefined;
  }

  /** Called when the thread of a node has ended. Resolves when all frames from it are received. */
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
