// The load of the consumers here, for their stand-ins on other nodes. A stand-in knows how many deliveries its own node has in flight. This
// file sends it how many all other nodes have in flight. Changes are sent together, a short time after the first one.

import type { Member } from "../../dispatch/member.js";
import type { Kernel } from "../../process/kernel.js";
import type { Timer } from "../../process/timer-queue.js";
import type { Load } from "./messages.js";

/** Milliseconds from the first change until changes are sent. */
const NEWS_MS = 50;

interface PeerLoads {
  /** Deliveries that the node itself has in flight at each consumer. */
  readonly own: Map<Member, number>;
  /** The load of each consumer that was last sent to the node. */
  readonly last: Map<Member, number>;
}

export class Loads {
  readonly #kernel: Kernel;
  readonly #tell: (node: string, loads: readonly Load[]) => void;
  readonly #nodes = new Map<string, PeerLoads>();
  readonly #groups = new Map<Member, string>();
  readonly #changed = new Set<Member>();
  #timer: Timer | undefined;

  constructor(kernel: Kernel, tell: (node: string, loads: readonly Load[]) => void) {
    this.#kernel = kernel;
    this.#tell = tell;
  }

  /** The function to call at each change of a consumer's slots. */
  watch(group: string, member: Member): () => void {
    this.#groups.set(member, group);
    return () => this.#change(member);
  }

  forget(member: Member): void {
    member.onLoad = undefined;
    this.#groups.delete(member);
    this.#changed.delete(member);
    for (const { last } of this.#nodes.values()) last.delete(member);
  }

  up(node: string): void {
    this.#nodes.set(node, { own: new Map(), last: new Map() });
    for (const member of this.#groups.keys()) if (member.inFlight > 0) this.#change(member);
  }

  down(node: string): void {
    this.#nodes.delete(node);
  }

  /** A dispatch of the node begins to use one of the consumer's slots. {@link ended} is its counterpart. */
  began(node: string, member: Member): void {
    this.#count(node, member, 1);
  }

  /** The node counts the slot no more. The consumer may hold it still: it finishes a withdrawn delivery, unless it heeds its signal. */
  ended(node: string, member: Member): void {
    this.#count(node, member, -1);
    if (this.#groups.has(member)) this.#change(member);
  }

  close(): void {
    if (this.#timer !== undefined) this.#kernel.cancelTimer(this.#timer);
    for (const member of [...this.#groups.keys()]) this.forget(member);
    this.#nodes.clear();
  }

  #count(node: string, member: Member, by: number): void {
    const own = this.#nodes.get(node)?.own;
    if (own === undefined) return;
    const count = (own.get(member) ?? 0) + by;
    if (count > 0) own.set(member, count);
    else own.delete(member);
  }

  #change(member: Member): void {
    if (this.#nodes.size === 0) return;
    this.#changed.add(member);
    this.#timer ??= this.#kernel.addTimer(NEWS_MS, { fire: () => this.#publish() });
  }

  #publish(): void {
    this.#timer = undefined;
    const changed = [...this.#changed];
    this.#changed.clear();
    for (const [node, told] of this.#nodes) {
      const loads = changed.flatMap((member) => this.#newsFor(told, member));
      if (loads.length > 0) this.#tell(node, loads);
    }
  }

  #newsFor({ own, last }: PeerLoads, member: Member): Load[] {
    const group = this.#groups.get(member);
    const elsewhere = Math.max(0, member.inFlight - (own.get(member) ?? 0));
    if (group === undefined || (last.get(member) ?? 0) === elsewhere) return [];
    last.set(member, elsewhere);
    return [{ group, id: member.id, elsewhere }];
  }
}
