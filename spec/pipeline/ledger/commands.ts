// The commands that drive a ledger: what hosts do, what people do, and what happens to the process and to its store. fast-check chooses
// among them by weight, and leaves out of a failing run what it does not need.

import * as fc from "fast-check";
import type { Drive } from "./drive.js";
import type { Oracle } from "./oracle.js";

/** Each is a method of {@link Drive}. */
export type Deed =
  | ("want" | "settle" | "dead" | "retry" | "emit" | "source" | "close" | "end")
  | ("pass" | "check" | "crash" | "fail" | "unknown" | "unread" | "hold")
  | ("cancel" | "give up" | "move" | "put back" | "drop");

/** How often each command is chosen, in relation to the others. */
export type Mix = Readonly<Partial<Record<Deed, number>>>;

const OF_MESSAGES: ReadonlySet<Deed> = new Set(["settle", "dead", "retry", "emit"]);
const OF_LETTERS: ReadonlySet<Deed> = new Set(["put back", "drop"]);
/** What may be done behind the end of the execution. */
const AFTER_END: ReadonlySet<Deed> = new Set([...OF_MESSAGES, "source", "close", "end", "crash", "check"]);

/** One command. Numbers choose among what there is. */
export class Act implements fc.AsyncCommand<Oracle, Drive> {
  readonly what: Deed;
  readonly which: number;
  readonly count: number;
  /** About a message that was stepped on before, or from a place that a source has left. */
  readonly stale: boolean;

  constructor(what: Deed, which: number, count: number, stale: boolean) {
    this.what = what;
    this.which = which;
    this.count = count;
    this.stale = stale;
  }

  check({ ended, live, letters }: Readonly<Oracle>): boolean {
    if (OF_LETTERS.has(this.what)) return letters.size > 0;
    if (ended !== undefined) return AFTER_END.has(this.what);
    if (this.what === "give up" || this.what === "move") return live.size > 0;
    return this.stale || !OF_MESSAGES.has(this.what) || live.size > 0;
  }

  async run(_: Oracle, drive: Drive): Promise<void> {
    await drive.act(this);
  }

  toString(): string {
    return `${this.stale ? "stale " : ""}${this.what}(${this.which}, ${this.count})`;
  }
}

/** Runs of commands, chosen by their weights. */
export function commands(mix: Mix): fc.Arbitrary<Iterable<fc.AsyncCommand<Oracle, Drive>>> {
  const deeds = (Object.entries(mix) as [Deed, number][]).map(([deed, weight]) => ({
    weight,
    arbitrary: fc.constant(deed),
  }));
  const act = fc
    .tuple(
      fc.oneof(...deeds),
      fc.nat(50),
      fc.nat(6),
      fc.nat(7).map((n) => n === 0),
    )
    .map((all) => new Act(...all));
  return fc.commands([act], { maxCommands: 60, size: "max" });
}
