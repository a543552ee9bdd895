// The plan of a group: the write sets to apply, those to refuse and why, and the statements for the driver. Pure: it knows of the store
// only the rows and counts that were read for it.
//
//     needs(sets)  ──▶  the driver reads (and locks)  ──▶  plan(sets, needs, found)  ──▶  the driver carries out the statements
//
// The sets apply one after another, and each sees what the accepted ones before it have done. A number that the store gives to a row
// is known to the writer of the row after the commit, and to no set of the same group.

import { ConflictError, FencedError, ValueError } from "./errors.js";
import type { ClaimNeeds, Needs } from "./needs.js";
import { Overlay } from "./overlay.js";
import { Ranges } from "./ranges.js";
import type { Statement } from "./statement.js";
import type { AnyRow, Table } from "./table.js";
import { shapeOf, textOf } from "./table-shape.js";
import { UndoLog } from "./undo-log.js";
import type { Committed, Write, WriteSet } from "./write-set.js";

export { type ClaimNeeds, type Needs, needs, type RangeNeeds, type TableNeeds } from "./needs.js";
export { numbered, type Slots, type Statement } from "./statement.js";

/** The rows and counts that the driver found for the needs of a group. */
export interface Found {
  /** By name of the table: the rows that are there, with the columns that were asked for. A row may be there twice. */
  readonly rows: ReadonlyMap<string, readonly AnyRow[]>;
  /** By name of the table: how many rows each of its {@link TableNeeds.ranges} has. */
  readonly counts: ReadonlyMap<string, readonly number[]>;
  /** Whether this claim is held with this token. */
  held(claim: ClaimNeeds): boolean;
}

/** The outcome of one write set: its results, or the error with which it was refused. */
export type CommitOutcome = Committed | Error;

/** The decision on a group. */
export interface Plan {
  /** For each set, in their order. Some results are put there by {@link numbered} when the statements are carried out. */
  readonly outcomes: readonly CommitOutcome[];
  /** All in one transaction. Empty when nothing is to be written. */
  readonly statements: readonly Statement[];
}

/** Decides a group. */
export function plan(sets: readonly WriteSet[], needs: Needs, found: Found): Plan {
  const planner = new Planner(needs, found);
  return { outcomes: sets.map((set) => planner.decide(set)), statements: planner.statements() };
}

class Planner {
  readonly #needs: Needs;
  readonly #found: Found;
  readonly #undo = new UndoLog();
  readonly #overlays = new Map<string, Overlay>();
  // Most sets of a group have the claim, and write to the table, of the one before.
  #claim: ClaimNeeds | undefined;
  #held = true;
  #table: Table | undefined;
  #overlay!: Overlay;

  constructor(needs: Needs, found: Found) {
    this.#needs = needs;
    this.#found = found;
  }

  decide({ writes, expect, claim }: WriteSet): CommitOutcome {
    if (claim !== undefined && !this.#isHeld(claim)) return new FencedError(claim.name, claim.token);
    const results = Array<number>(writes.length).fill(0);
    try {
      if (expect !== undefined) for (const one of expect) this.#of(one.table).expect(one);
      this.#write(writes, results);
    } catch (error) {
      this.#undo.undo();
      if (error instanceof ConflictError || error instanceof ValueError) return error;
      throw error;
    }
    this.#undo.clear();
    return { results };
  }

  statements(): Statement[] {
    return [...this.#overlays.values()].flatMap((overlay) => overlay.statements());
  }

  #write(writes: readonly Write[], results: number[]): void {
    for (let at = 0; at < writes.length; at++) {
      const write = writes[at] as Write;
      const overlay = this.#of(write.table);
      if (write.type === "insert" && overlay.appends) overlay.append(write.row, results, at);
      else if (write.type !== "when") overlay.write(write, results, at);
      else if (overlay.has(write.key, write.is)) {
        results[at] = 1;
        this.#write(write.writes, []);
      }
    }
  }

  #isHeld(claim: ClaimNeeds): boolean {
    if (claim !== this.#claim) {
      this.#claim = claim;
      this.#held = this.#found.held(claim);
    }
    return this.#held;
  }

  #of(table: Table): Overlay {
    if (table === this.#table) return this.#overlay;
    let overlay = this.#overlays.get(table.name);
    if (overlay === undefined) {
      const { keys = [], ranges = [] } =
        this.#needs.tables.find((one) => one.table.name === table.name) ?? {};
      const known = new Set(keys.map(textOf));
      const counted = new Ranges(
        shapeOf(table),
        ranges,
        this.#found.counts.get(table.name) ?? [],
        this.#undo,
      );
      overlay = new Overlay(
        shapeOf(table),
        known,
        this.#found.rows.get(table.name) ?? [],
        counted,
        this.#undo,
      );
      this.#overlays.set(table.name, overlay);
    }
    this.#table = table;
    this.#overlay = overlay;
    return overlay;
  }
}
