// Where hosts of a store that several processes share write at which subjects their lives ended: a row each. The rules are in standing.ts. The rows
// are few, so each host has all of them at hand, and reads them again when one was written.

import {
  defineTable,
  type Fence,
  type Schema,
  type Store,
  type Table,
  type Write,
} from "../../store/index.js";
import type { EvidenceMark } from "./evidence-machine.js";
import { chargeOf, ended, fresh, isUnnamed, type StandingEnds } from "./standing.js";

const COLUMNS = {
  host: "text",
  subject: "text",
  times: "integer",
  charged: "integer",
  at: "integer",
} as const;

/** One row for each host whose last life ended without a word. */
export const standingEnds: Table<typeof COLUMNS> = defineTable("standing_ends", {
  columns: COLUMNS,
  key: ["host"],
  indexes: { subject: ["subject"] },
});

/** The notes of the hosts of a store about the ends of their lives, for each other. */
export const STANDING_SCHEMA: Schema = { name: "standing_ends", version: 1, tables: [standingEnds] };

const TOPIC = "evidence/standing";
/** More hosts of a store are not counted. A host that is not coming back leaves no row for good, so there are rarely more than a few. */
const MOST_ROWS = 1_000;

export class StandingRows {
  readonly #store: Store;
  readonly #claim: Fence;
  readonly #host: string;
  readonly #changed: () => void;
  #rows: readonly StandingEnds[] = [];
  #unwatch: (() => void) | undefined;

  /** @param changed - called when another host may have written */
  constructor(store: Store, claim: Fence, host: string, changed: () => void) {
    this.#store = store;
    this.#claim = claim;
    this.#host = host;
    this.#changed = changed;
  }

  /**
   * Writes how the last life of this host ended, and watches the rows of others from now on.
   *
   * @param end - without a word, and at which subject, if that is one time more. Undefined: in another way
   */
  async open(end: { readonly subject: string | undefined } | undefined): Promise<void> {
    const again = (): void => void this.#read().then(this.#changed, () => undefined);
    this.#unwatch ??= this.#store.watch(TOPIC, { notified: again, again });
    const writes = (await this.#read()).map((row): Write => without(row));
    if (end !== undefined) {
      const row = ended(this.#own, this.#host, end.subject, Math.floor(await this.#store.clock()));
      writes.push({ type: "put", table: standingEnds, row: { ...row } });
      this.#rows = [...this.#others, row];
    }
    if (writes.length > 0) await this.#write(writes);
  }

  get #own(): StandingEnds | undefined {
    return this.#rows.find(({ host }) => host === this.#host);
  }

  get #others(): readonly StandingEnds[] {
    return this.#rows.filter(({ host }) => host !== this.#host);
  }

  /** @returns those that count no more */
  async #read(): Promise<readonly StandingEnds[]> {
    const [rows, now] = await Promise.all([
      this.#store.scan(standingEnds, { limit: MOST_ROWS }),
      this.#store.clock(),
    ]);
    const counted = fresh(rows, now);
    this.#rows = counted;
    return rows.filter((row) => !counted.includes(row));
  }

  async #write(writes: readonly Write[]): Promise<void> {
    await this.#store.commit({ claim: this.#claim, writes, notify: [TOPIC] });
  }

  /** As `write`. If it fails, the rows go on to count, against subjects that end programs. */
  #writeSoon(writes: readonly Write[]): void {
    void this.#write(writes).catch(() => undefined);
  }

  /** The rows that count, that of this host included. */
  get all(): readonly StandingEnds[] {
    return this.#rows;
  }

  get isEmpty(): boolean {
    return this.#rows.length === 0;
  }

  /** The last life of another host ended without a word. */
  get isAlarming(): boolean {
    return this.#others.length > 0;
  }

  /** So many hosts ended last while no code with a name ran that names are to be carried further. */
  get isUnnamed(): boolean {
    return isUnnamed(this.#rows);
  }

  markOf(subject: string, life: number): EvidenceMark | undefined {
    return chargeOf(this.#rows, subject, life);
  }

  /** The evidence of the rows is stored with the subject. */
  charged(subject: string): void {
    const of = this.#rows.filter((row) => row.subject === subject);
    if (of.length === 0) return;
    this.#rows = this.#rows.map((row) => (row.subject === subject ? { ...row, charged: row.times } : row));
    this.#writeSoon(
      of.map(({ host, times }) => ({
        type: "when",
        table: standingEnds,
        key: [host],
        is: { subject, times },
        writes: [{ type: "update", table: standingEnds, key: [host], set: { charged: times } }],
      })),
    );
  }

  /** A subject has made progress. */
  progressed(subject: string): void {
    if (!this.#rows.some((row) => row.subject === subject)) return;
    this.#rows = this.#rows.filter((row) => row.subject !== subject);
    this.#writeSoon([{ type: "clear", table: standingEnds, index: "subject", prefix: [subject] }]);
  }

  /** The ends of the lives of this host do not count any more. */
  forget(): void {
    if (this.#own === undefined) return;
    this.#rows = this.#others;
    this.#writeSoon([{ type: "delete", table: standingEnds, key: [this.#host] }]);
  }

  close(): void {
    this.#unwatch?.();
  }
}

/** Removes a row, unless its host has come back meanwhile. */
function without({ host, at }: StandingEnds): Write {
  const row = { table: standingEnds, key: [host] };
  return { type: "when", ...row, is: { at }, writes: [{ type: "delete", ...row }] };
}
