// What this node knows of each other one: its calls in both directions, and the pids of it that code here may have. Nodes get a new id at
// each boot, so whatever belongs to a node goes when nothing refers to it any more: a node that runs for months meets many.

import { CallTable } from "./call-table.js";
import type { Kernel } from "./kernel.js";
import { Pid, type RemoteNode } from "./pid.js";
import type { AnswerEnd, CallerEnd } from "./remote-calls.js";
import type { PidAddress } from "./wire-signal.js";

/** One other node, or this one: its own processes that have ended, and its own calls that other nodes know. */
export class Peer {
  /** The one object for the node. */
  readonly node: RemoteNode;
  /** Pids that code here may have. With this map, the same address is always the same object. */
  readonly pids: Map<number, WeakRef<Pid<unknown>>> = new Map();
  /** Calls made here: to processes there, or, for this node itself, to its own processes, when their reply addresses have travelled. */
  calls: CallTable<CallerEnd> = new CallTable();
  /** Calls made there. */
  requests: CallTable<AnswerEnd> = new CallTable();

  constructor(node: RemoteNode) {
    this.node = node;
  }

  get isUnused(): boolean {
    return this.pids.size === 0 && this.calls.size === 0 && this.requests.size === 0;
  }
}

/** A pid that may be gone. */
interface PidKey {
  readonly peer: Peer;
  readonly number: number;
}

export class Peers {
  readonly #here: Peer;
  readonly #peers = new Map<string, Peer>();
  /** The one that was looked up last, which is most often the next one, too. */
  #last: Peer;
  /** All pids, in a simulation: labels of foreign ones must not depend on when memory is collected. */
  readonly #kept: Set<Pid<unknown>> | undefined;
  readonly #vanished = new FinalizationRegistry<PidKey>(({ peer, number }) => {
    if (peer.pids.get(number)?.deref() !== undefined) return;
    peer.pids.delete(number);
    this.release(peer.node.id);
  });

  constructor({ node, interception }: Kernel) {
    this.#here = new Peer(node);
    this.#peers.set(node.id, this.#here);
    this.#last = this.#here;
    this.#kept = interception === undefined ? undefined : new Set();
  }

  /** How many other nodes something is kept of. */
  get size(): number {
    return this.#peers.size - 1;
  }

  /** This node, too. */
  all(): Iterable<Peer> {
    return this.#peers.values();
  }

  get(id: string): Peer | undefined {
    return this.#last.node.id === id ? this.#last : this.#peers.get(id);
  }

  of(node: RemoteNode): Peer {
    if (this.#last.node.id === node.id) return this.#last;
    const { name, id } = node;
    const peer = this.#peers.get(id) ?? new Peer({ name, id });
    this.#peers.set(id, peer);
    this.#last = peer;
    return peer;
  }

  /** Forgets a node that nothing refers to. */
  release(id: string): void {
    const peer = this.#peers.get(id);
    if (peer === undefined || peer === this.#here || !peer.isUnused) return;
    this.#peers.delete(id);
    if (this.#last === peer) this.#last = this.#here;
  }

  /** The pid with a number, if code here has it. */
  known(node: RemoteNode, number: number): Pid<unknown> | undefined {
    return this.get(node.id)?.pids.get(number)?.deref();
  }

  /** Stores a foreign pid, or the pid of a local process that has ended, for as long as any code references the pid. */
  remember(pid: Pid<unknown>): void {
    const peer = this.of(pid.node);
    if (peer.pids.get(pid.id)?.deref() === pid) return;
    peer.pids.set(pid.id, new WeakRef(pid));
    this.#kept?.add(pid);
    this.#vanished.register(pid, { peer, number: pid.id });
  }

  /** A pid that code here has not, which is stored. */
  made({ node, id }: PidAddress, label: string | undefined): Pid<unknown> {
    const pid = new Pid<unknown>(this.of(node).node, id, label, undefined);
    this.remember(pid);
    return pid;
  }
}
