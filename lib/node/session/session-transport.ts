// The transport of a system with sessions. A system may have sessions over several carriers: message ports to its threads, NATS to other
// machines. Each other node has a session over one of them.
//
// A node that two carriers reach has its session over the one that notices the end of a node at once. Both nodes choose in the same way.

import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { contained, listenerFailed } from "../../process/listening.js";
import { OutOfReach } from "../../process/out-of-reach.js";
import type { RemoteNode } from "../../process/pid.js";
import { remoteNodes, type Transport } from "../../process/remote.js";
import type { RemotePort } from "../../process/remote-port.js";
import type { SessionView } from "../../process/session-view.js";
import type { WireSignal } from "../../process/wire-signal.js";
import type { SessionListener } from "./session-events.js";

/** The sessions over one carrier, as the transport sees them. */
export interface CarrierSessions extends Transport {
  /** The carrier notices the end of a node at once. */
  readonly notices: boolean;
  /** There is a session with this node, and it is not over. */
  has(nodeId: string): boolean;
  /** The carrier may reach this node. */
  reaches(node: RemoteNode): boolean;
  /** Takes leave of one node: its session goes over another carrier. */
  release(nodeId: string): void;
  view(): SessionView[];
}

const transports = new WeakMap<Kernel, SessionTransport>();

export class SessionTransport implements Transport {
  readonly #kernel: Kernel;
  readonly #port: RemotePort;
  readonly #all: CarrierSessions[] = [];
  readonly #listeners = new Set<SessionListener>();

  private constructor(kernel: Kernel) {
    this.#kernel = kernel;
    this.#port = remoteNodes(this).connect(kernel);
  }

  /** The transport of a system, which sessions become a part of. @throws OptionError when it has a transport of another kind */
  static join(kernel: Kernel, sessions: CarrierSessions): SessionTransport {
    let transport = transports.get(kernel);
    if (transport === undefined || kernel.remote !== transport.#port) {
      if (!(kernel.remote instanceof OutOfReach))
        throw new OptionError("system", kernel.node.name, "a system without a transport of its own");
      transport = new SessionTransport(kernel);
      transports.set(kernel, transport);
      kernel.remote = transport.#port;
    }
    transport.#all.push(sessions);
    return transport;
  }

  /** The system may get another transport when its last sessions have left. */
  leave(sessions: CarrierSessions): void {
    const index = this.#all.indexOf(sessions);
    if (index >= 0) this.#all.splice(index, 1);
    if (this.#all.length > 0 || this.#kernel.remote !== this.#port) return;
    this.#kernel.remote = new OutOfReach(this.#kernel);
  }

  send(node: RemoteNode, signal: WireSignal): boolean {
    const all = this.#all;
    if (all.length === 1) return (all[0] as CarrierSessions).send(node, signal);
    const sessions = all.find((one) => one.has(node.id)) ?? all.find((one) => one.reaches(node));
    return sessions?.send(node, signal) ?? false;
  }

  /** Whether a node that was met over a carrier has its session there. */
  admits(sessions: CarrierSessions, node: RemoteNode): boolean {
    if (this.#all.length === 1) return true;
    for (const other of this.#all) {
      if (other === sessions) continue;
      if (sessions.notices && !other.notices) other.release(node.id);
      else if (other.has(node.id)) return false;
    }
    return true;
  }

  /** The sessions with all nodes, over all carriers. */
  view(): SessionView[] {
    return this.#all.flatMap((one) => one.view());
  }

  /** Calls a listener at the beginning and the end of each session, over any carrier. Returns the call that ends that. */
  watch(listener: SessionListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A session has begun or ended. */
  tell(call: (listener: SessionListener) => void): void {
    for (const listener of [...this.#listeners])
      contained(
        () => call(listener),
        (error) => listenerFailed(this.#kernel, "a listener of sessions", listener, error),
      );
  }
}
