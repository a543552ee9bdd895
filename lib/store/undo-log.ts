// The changes of one write set in the overlay, so that they can be undone when the set is refused.

import type { Slots } from "./statement.js";
import type { AnyRow } from "./table.js";

/** Takes one change back. */
type Undo = () => void;

/** Many changes of one kind, which have no function each. */
interface Changes {
  /** Takes the last one back. */
  pop(): void;
}

/** Takes back the changes of one set, the last first. */
export class UndoLog {
  // Longer than `size` once a set was accepted: an array that is emptied gives its places back, and asks for them again.
  readonly #entries: (Undo | Changes)[] = [];
  #size = 0;

  push(entry: Undo | Changes): void {
    this.#entries[this.#size++] = entry;
  }

  /** The set is accepted. */
  clear(): void {
    this.#size = 0;
  }

  /** The set is refused. */
  undo(): void {
    while (this.#size > 0) {
      const entry = this.#entries[--this.#size] as Undo | Changes;
      if (typeof entry === "function") entry();
      else entry.pop();
    }
  }
}

/** Rows that are added at the end. */
export class Inserts implements Slots, Changes {
  readonly rows: AnyRow[] = [];
  readonly results: number[][] = [];
  readonly at: number[] = [];

  push(row: AnyRow, results: number[], at: number): void {
    this.rows.push(row);
    this.results.push(results);
    this.at.push(at);
  }

  pop(): void {
    this.rows.pop();
    this.results.pop();
    this.at.pop();
  }
}

/** Changes of rows that no set of the group looks at: the last change of a row counts. */
export class BlindChanges<C> implements Changes {
  readonly #changes: Map<string, C>;
  readonly #texts: string[] = [];
  readonly #earlier: (C | undefined)[] = [];

  constructor(changes: Map<string, C>) {
    this.#changes = changes;
  }

  set(text: string, change: C): void {
    this.#texts.push(text);
    this.#earlier.push(this.#changes.get(text));
    this.#changes.set(text, change);
  }

  pop(): void {
    const text = this.#texts.pop() as string;
    const before = this.#earlier.pop();
    if (before === undefined) this.#changes.delete(text);
    else this.#changes.set(text, before);
  }
}
