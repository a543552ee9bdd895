// Which processes have to do with another node, and how they learn that it is lost. The loss costs nothing for all others. Many are told in
// slices, so that no turn becomes long. Whoever comes into touch with the node before its turn is told first: for each process, the loss comes
// before whatever the next connection brings.

import type { Kernel } from "./kernel.js";
import { exclude, include, members, type OneOrMany } from "./one-or-many.js";
import type { Pid } from "./pid.js";
import type { Process } from "./process.js";
import type { LostCalls } from "./remote-calls.js";

/** The most ends of links, monitors and calls that are told at once. More take several turns. */
const AT_ONCE = 500;

/** The processes that have had a link or a monitor with a process of one node, or were watched from there. */
class Related {
  readonly pids: Set<Pid> = new Set();
}

/** A lost connection that somebody has not been told of. */
interface Loss {
  /** The id of the node. */
  readonly id: string;
  readonly related: Related;
  readonly calls: LostCalls;
}

/** How a process and a call learn of a loss. */
interface LossPort {
  /** Ends links and monitors between a process and a node, at most so many. Returns how many. */
  untie(process: Process, id: string, most: number): number;
  readonly calls: {
    /** From now on the calls between this node and another one are lost ones. */
    lose(id: string): LostCalls;
    /** Ends the lost calls that a process has made or has to answer. */
    endOf(process: Process, lost: LostCalls): void;
  };
}

export class NodeLosses {
  readonly #kernel: Kernel;
  readonly #port: LossPort;
  /** By the id of the other node. */
  readonly #related = new Map<string, Related>();
  /** The same by process. */
  readonly #nodesOf = new Map<Pid, OneOrMany<Related>>();
  readonly #open = new Set<Loss>();

  constructor(kernel: Kernel, port: LossPort) {
    this.#kernel = kernel;
    this.#port = port;
  }

  /** How many processes are known to have to do with other nodes. For tests. */
  get related(): number {
    return this.#nodesOf.size;
  }

  /** How many losses are being told. For tests. */
  get open(): number {
    return this.#open.size;
  }

  /** A process has to do with a node, until it ends or the node is lost. */
  relate(pid: Pid, id: string): void {
    const related = this.#related.get(id) ?? new Related();
    if (related.pids.has(pid)) return;
    this.#related.set(id, related);
    related.pids.add(pid);
    this.#nodesOf.set(pid, include(this.#nodesOf.get(pid), related));
  }

  /** The process has ended. */
  forget(pid: Pid): void {
    if (this.#nodesOf.size === 0) return;
    for (const related of members(this.#nodesOf.get(pid))) related.pids.delete(pid);
    this.#nodesOf.delete(pid);
  }

  /** The connection to a node is lost. */
  begin(id: string): void {
    const related = this.#related.get(id) ?? new Related();
    this.#related.delete(id);
    const loss: Loss = { id, related, calls: this.#port.calls.lose(id) };
    this.#open.add(loss);
    this.#goOn(loss);
  }

  /** Before a process meets a node, it learns of the losses that it has not been told of. It may end by that. */
  catchUp(process: Process): void {
    if (this.#open.size === 0) return;
    for (const loss of [...this.#open]) {
      if (loss.related.pids.has(process.pid)) this.#tell(process.pid, loss, Number.POSITIVE_INFINITY);
      if (process.alive) this.#port.calls.endOf(process, loss.calls);
    }
  }

  /** Tells all that are left, as the system stops. */
  finish(): void {
    for (const loss of [...this.#open]) while (!this.#slice(loss));
  }

  #goOn(loss: Loss): void {
    if (!this.#open.has(loss)) return;
    let isLast = false;
    try {
      isLast = this.#slice(loss);
    } finally {
      if (!isLast) this.#kernel.addTimer(0, { fire: () => this.#goOn(loss) });
    }
  }

  /** Tells some. True when these were the last. */
  #slice(loss: Loss): boolean {
    let left = AT_ONCE;
    for (const pid of this.#inOrder(loss)) {
      left -= this.#tell(pid, loss, left);
      if (left <= 0) return false;
    }
    while (loss.calls.endNext()) if (--left <= 0) return false;
    this.#open.delete(loss);
    return true;
  }

  /** A search needs an order that does not depend on who came first. */
  #inOrder({ related: { pids } }: Loss): Iterable<Pid> {
    return this.#kernel.interception === undefined ? pids : [...pids].sort((a, b) => a.id - b.id);
  }

  /** Tells a process of at most so many ends. Returns how many it was told of, and at least 1. */
  #tell(pid: Pid, { id, related }: Loss, most: number): number {
    const { process } = pid;
    const told = process === undefined ? 0 : this.#port.untie(process as Process, id, most);
    if (told < most) this.#unrelate(pid, related);
    return Math.max(told, 1);
  }

  #unrelate(pid: Pid, related: Related): void {
    related.pids.delete(pid);
    const others = exclude(this.#nodesOf.get(pid), related);
    if (others === undefined) this.#nodesOf.delete(pid);
    else this.#nodesOf.set(pid, others);
  }
}
