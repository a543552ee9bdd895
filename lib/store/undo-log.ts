// What one write set has changed in the overlay, so that it can be taken back when the set is refused.

import type { Slots } from "./statement.js";
import type { AnyRow } from "./table.js";

/** Takes one change back. */
type Undo = () => void;

/** Takes back the changes of one set, the last first. Appended rows are so many that they have no function of their own. */
export class UndoLog {
  // Longer than `size` once a set was accepted: an array that is emptied gives its places back, and asks for them again.
  private readonly entries: (Undo | Inserts)[] = [];
  private size = 0;

  push(entry: Undo | Inserts): void {
    this.entries[this.size++] = entry;
  }

  /** The set is accepted. */
  clear(): void {
    this.size = 0;
  }

  /** The set is refused. */
  undo(): void {
    while (this.size > 0) {
      const entry = this.entries[--this.size] as Undo | Inserts;
      if (typeof entry === "function") entry();
      else entry.pop();
    }
  }
}

/** Rows that are added at the end. */
export class Inserts implements Slots {
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
