// A schedule as a list of constraints: steps in a wanted order, and the draws that are not 0. The address of a constraint names its step
// or draw, such as "the third run of actor 5", and not a position in a list. So constraints can be left out one by one, and the others
// keep their meaning; in a list of choices a change would shift all later ones.

import type { Chooser, PossibleStep } from "../strategies/strategy.js";
import { FAULT_KINDS } from "../strategies/swarm.js";

/** A step, or a draw other than 0. */
export interface Constraint {
  readonly address: string;
  /** Number of the actor that it is about; undefined for a draw that belongs to none. */
  readonly actor: number | undefined;
  /** Of a draw. */
  readonly draw: { readonly value: number; readonly label: string; readonly isFault: boolean } | undefined;
}

/** Faults that are not among the kinds with rates. */
const OTHER_FAULTS: readonly string[] = ["cut off", "io", "ms", "latency", "partition"];

function isFault(label: string): boolean {
  const kind = label.split(":", 1)[0] as string;
  return (FAULT_KINDS as readonly string[]).includes(kind) || OTHER_FAULTS.includes(kind);
}

/** Names steps and draws. */
class Addresses {
  readonly #steps = new Map<number, number>();
  readonly #draws = new Map<string, number>();
  #last = "";

  /** The address of a task if it ran now. */
  step({ kind, actor }: PossibleStep): string {
    return `${kind} ${actor} ${this.#steps.get(keyOf(kind, actor)) ?? 0}`;
  }

  ran(task: PossibleStep): string {
    const address = this.step(task);
    const key = keyOf(task.kind, task.actor);
    this.#steps.set(key, (this.#steps.get(key) ?? 0) + 1);
    this.#last = address;
    return address;
  }

  /** The next draw for an actor, or after a step. */
  draw(label: string, actor: number | undefined): string {
    const base = `${label} ${actor ?? `after ${this.#last}`}`;
    const ordinal = this.#draws.get(base) ?? 0;
    this.#draws.set(base, ordinal + 1);
    return `${base} ${ordinal}`;
  }
}

const KINDS: readonly PossibleStep["kind"][] = ["run", "resume", "deliver", "effect"];

function keyOf(kind: PossibleStep["kind"], actor: number): number {
  return actor * KINDS.length + KINDS.indexOf(kind);
}

/** Lets another chooser decide, and writes down its decisions as constraints. */
export class ConstraintWriter implements Chooser {
  readonly constraints: Constraint[] = [];
  readonly #addresses = new Addresses();
  readonly #chooser: Chooser;

  constructor(chooser: Chooser) {
    this.#chooser = chooser;
  }

  pick(tasks: readonly PossibleStep[]): number {
    return this.#chooser.pick(tasks);
  }

  draw(n: number, label: string, probability?: number, actor?: number): number {
    const value = this.#chooser.draw(n, label, probability, actor);
    const address = this.#addresses.draw(label, actor);
    if (value > 0) this.constraints.push({ address, actor, draw: { value, label, isFault: isFault(label) } });
    return value;
  }

  ran(task: PossibleStep): void {
    this.constraints.push({ address: this.#addresses.ran(task), actor: task.actor, draw: undefined });
  }
}

/**
 * Follows constraints as far as possible. The task that became possible first runs next, unless the constraints name it and put
 * another possible task before it. A draw without a constraint is ordinary.
 */
export class Follower implements Chooser {
  readonly #order = new Map<string, number>();
  readonly #draws = new Map<string, number>();
  readonly #addresses = new Addresses();
  readonly #last: ReadonlySet<number>;

  /** @param last - actors that run only when no other can */
  constructor(constraints: readonly Constraint[], last: ReadonlySet<number> = new Set()) {
    this.#last = last;
    for (const [place, { address, draw }] of constraints.entries()) {
      if (draw === undefined) this.#order.set(address, place);
      else this.#draws.set(address, draw.value);
    }
  }

  pick(tasks: readonly PossibleStep[]): number {
    let first = -1;
    let place = Number.POSITIVE_INFINITY;
    for (const [index, task] of tasks.entries()) {
      if (this.#last.has(task.actor)) continue;
      const wanted = this.#order.get(this.#addresses.step(task));
      if (first < 0) {
        first = index;
        if (wanted === undefined) break;
      }
      if (wanted !== undefined && wanted < place) {
        first = index;
        place = wanted;
      }
    }
    return Math.max(0, first);
  }

  draw(n: number, label: string, _probability?: number, actor?: number): number {
    const value = this.#draws.get(this.#addresses.draw(label, actor)) ?? 0;
    return value < n ? value : 0;
  }

  ran(task: PossibleStep): void {
    this.#addresses.ran(task);
  }
}
