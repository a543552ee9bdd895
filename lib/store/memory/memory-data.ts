// The data of a store in memory: tables, versions of schemas, claims, and the groups that are not on the disk yet. The data outlive
// the handles on them.

import type { ClaimInfo } from "../claim.js";
import type { DriverHost, HeldClaim } from "../driver.js";
import { StoreUnsupportedError } from "../errors.js";
import { type CommitOutcome, type Found, needs, plan } from "../plan.js";
import { rangeScan } from "../scans.js";
import type { Schema } from "../schema.js";
import { checkSchemas, migrationsFrom } from "../schema-versions.js";
import type { AnyRow, Table } from "../table.js";
import { type IndexShape, shapeOf } from "../table-shape.js";
import type { WriteSet } from "../write-set.js";
import { MemoryTable } from "./memory-table.js";

/** A group on its way to the disk. */
export interface Flight {
  readonly sets: readonly WriteSet[];
  readonly host: DriverHost;
  /** Its outcomes, once it is on the disk; `lost` by a power loss. */
  fate: readonly CommitOutcome[] | "lost" | undefined;
}

interface ClaimRow {
  readonly token: number;
  readonly owner: string;
  readonly since: number;
  expiresAt: number;
}

export class MemoryData {
  readonly label: string;
  /** Milliseconds since 1970 by the store's own clock. */
  readonly clock: () => number;
  readonly hosts: Set<DriverHost> = new Set();
  readonly flights: Set<Flight> = new Set();
  /** How often the power failed. */
  generation = 0;
  readonly #tables = new Map<string, MemoryTable>();
  readonly #versions = new Map<string, number>();
  readonly #claims = new Map<string, ClaimRow>();
  #lastToken = 0;

  constructor(label: string, clock: () => number) {
    this.label = label;
    this.clock = clock;
  }

  table({ name }: Table): MemoryTable {
    const table = this.#tables.get(name);
    // The store around the driver lets no other table pass.
    if (table === undefined) throw new Error(`${this.label} has no table ${name}`);
    return table;
  }

  migrate(schemas: readonly Schema[]): void {
    checkSchemas(schemas);
    const steps = schemas.map((schema) =>
      migrationsFrom(this.label, schema, this.#versions.get(schema.name), (name) => this.#tables.has(name)),
    );
    for (const [i, schema] of schemas.entries()) {
      const isFilled = schema.tables.some(({ name }) => (this.#tables.get(name)?.size ?? 0) > 0);
      if (isFilled && steps[i]?.some((step) => step.sql !== undefined))
        throw new StoreUnsupportedError(this.label, `cannot migrate ${schema.name}: it has no SQL`);
    }
    for (const [i, { name, version, tables }] of schemas.entries()) {
      for (const step of steps[i] ?? []) for (const dropped of step.drop ?? []) this.#tables.delete(dropped);
      for (const table of tables) {
        const there = this.#tables.get(table.name);
        if (there?.table === table) continue;
        const made = there === undefined ? new MemoryTable(table) : MemoryTable.from(there, table);
        this.#tables.set(table.name, made);
      }
      this.#versions.set(name, version);
    }
  }

  /** Puts a group on the disk: all of it, at this moment. */
  commit({ sets, host }: Flight): readonly CommitOutcome[] {
    const needed = needs(sets);
    const rows = new Map<string, AnyRow[]>();
    const counts = new Map<string, number[]>();
    for (const { table, keys, uniques, ranges } of needed.tables) {
      const from = this.table(table);
      const found: (AnyRow | undefined)[] = keys.map((key) => from.get(key));
      for (const { index, values } of uniques) {
        const shape = shapeOf(table).indexes.get(index) as IndexShape;
        for (const one of values) found.push(from.owner(shape, one));
      }
      counts.set(
        table.name,
        ranges.map((range) => from.count(rangeScan(shapeOf(table), range))),
      );
      rows.set(
        table.name,
        found.filter((row) => row !== undefined),
      );
    }
    const found: Found = { rows, counts, held: (claim) => this.isHeld(claim) };
    const { outcomes, statements } = plan(sets, needed, found);
    for (const statement of statements) this.table(statement.table).carryOut(statement);
    this.#notify(sets, outcomes, host);
    return outcomes;
  }

  isHeld({ name, token }: HeldClaim): boolean {
    const claim = this.#claims.get(name);
    return claim !== undefined && claim.token === token && this.clock() < claim.expiresAt;
  }

  claim(name: string, owner: string, ttlMs: number): number | undefined {
    const there = this.#claims.get(name);
    if (there !== undefined && this.isHeld({ name, token: there.token })) return undefined;
    const token = ++this.#lastToken;
    const since = this.clock();
    this.#claims.set(name, { token, owner, since, expiresAt: since + ttlMs });
    return token;
  }

  renew(claim: HeldClaim & { readonly ttlMs: number }): boolean {
    if (!this.isHeld(claim)) return false;
    (this.#claims.get(claim.name) as ClaimRow).expiresAt = this.clock() + claim.ttlMs;
    return true;
  }

  /** The claim is no more. False: the name is not claimed with this token. */
  remove({ name, token }: HeldClaim): boolean {
    return this.#claims.get(name)?.token === token && this.#claims.delete(name);
  }

  /** The owners of all claims are dead. */
  removeAll(): void {
    this.#claims.clear();
  }

  claims(prefix: string): ClaimInfo[] {
    return [...this.#claims]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, { token, owner, since }]) => ({
        name,
        token,
        owner,
        since,
        held: this.isHeld({ name, token }),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Tells the other hosts. The own one knows from its group commit. */
  #notify(sets: readonly WriteSet[], outcomes: readonly CommitOutcome[], own: DriverHost): void {
    if (this.hosts.size < 2) return;
    const accepted = sets.filter((_, i) => !(outcomes[i] instanceof Error));
    const topics = new Set(accepted.flatMap((set) => set.notify ?? []));
    for (const host of this.hosts) if (host !== own) for (const topic of topics) host.notified(topic);
  }
}
