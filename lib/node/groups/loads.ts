// How busy the consumers of this node are, for the stand-ins elsewhere: a stand-in knows what its own node has sent, and is told what the
// rest of the cluster has. News go out together, a short time after the first change, and not at all while nothing changes.

import type { Member } from "../../dispatch/member.js";
import type { Kernel } from "../../process/kernel.js";
import type { Timer } from "../../process/timer-queue.js";
import type { Load } from "./messages.js";

/** Milliseconds from a change to the news of it. */
const NEWS_MS = 50;

interface Told {
  /** What the node itself has in flight at each consumer. */
  readonly own: Map<Member, number>;
  /** What it was told last. */
  readonly last: Map<Member, number>;
}

export class Loads {
  readonly #kernel: Kernel;
  readonly #tell: (node: string, loads: readonly Load[]) => void;
  readonly #nodes = new Map<string, Told>();
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

  /** A dispatch of the node takes one of the consumer's slots, or does so no more. */
  began(node: string, member: Member): void {
    this.#count(node, member, 1);
  }

  ended(node: string, member: Member): void {
    this.#count(node, member, -1);
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

  #newsFor({ own, last }: Told, member: Member): Load[] {
    const group = this.#groups.get(member);
    const elsewhere = Math.max(0, member.inFlight - (own.get(member) ?? 0));
    if (group === undefined || (last.get(member) ?? 0) === elsewhere) return [];
    last.set(member, elsewhere);
    return [{ group, id: member.id, elsewhere }];
  }
}
