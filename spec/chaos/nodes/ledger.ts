// The account of a kill test, kept outside of the nodes: which dispatch was ordered of whom, and how it ended. A dispatch whose node dies is
// ordered again, of another one, with the same id.

import { answerTo, type Ended } from "./words.js";

export class Ledger {
  readonly total: number;
  /** How each dispatch ended: with the reply, or with a code. */
  readonly #ends = new Map<number, Ended>();
  /** Ordered and not ended: the node that was told. */
  readonly #ordered = new Map<number, string>();
  /** Not ordered of anybody: first those whose node has died. */
  readonly #again: number[] = [];
  #next = 0;
  readonly wrong: string[] = [];

  constructor(total: number) {
    this.total = total;
  }

  get isDone(): boolean {
    return this.#ends.size === this.total;
  }

  get acknowledged(): number {
    return [...this.#ends.values()].filter(({ code }) => code === undefined).length;
  }

  /** How often each code ended a dispatch. */
  get failures(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { code } of this.#ends.values())
      if (code !== undefined) counts.set(code, (counts.get(code) ?? 0) + 1);
    return counts;
  }

  /** How many a node has been told that have not ended. */
  openAt(node: string): number {
    let count = 0;
    for (const one of this.#ordered.values()) if (one === node) count++;
    return count;
  }

  /** The dispatches to order next of a node, in runs of numbers. */
  take(node: string, most: number, upTo: number): { readonly from: number; readonly to: number }[] {
    const taken: { from: number; to: number }[] = [];
    for (let left = most; left > 0; left--) {
      const n = this.#again.pop() ?? (this.#next < Math.min(upTo, this.total) ? this.#next++ : undefined);
      if (n === undefined) break;
      this.#ordered.set(n, node);
      const last = taken.at(-1);
      if (last?.to === n) last.to++;
      else taken.push({ from: n, to: n + 1 });
    }
    return taken;
  }

  ended(node: string, ends: readonly Ended[]): void {
    for (const end of ends) {
      const { n, reply, code } = end;
      if (this.#ends.has(n)) this.wrong.push(`dispatch ${n} ended twice`);
      if (this.#ordered.get(n) !== node)
        this.wrong.push(`dispatch ${n} ended at ${node}, which was not told`);
      if (code === undefined && reply !== answerTo(n)) this.wrong.push(`dispatch ${n} got ${reply}`);
      this.#ordered.delete(n);
      this.#ends.set(n, end);
    }
  }

  died(node: string): void {
    for (const [n, at] of this.#ordered)
      if (at === node) {
        this.#ordered.delete(n);
        this.#again.push(n);
      }
  }

  /** Ordered of a node that lives, and without an end. */
  get lost(): readonly number[] {
    return [...this.#ordered.keys()];
  }
}
