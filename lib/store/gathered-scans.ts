// Scans of one turn that differ only in their prefix are read together. A host that takes a thousand flows asks for the journal of
// each: these are few queries then, and not a thousand.

import type { CheckedScan, StoreDriver } from "./driver.js";
import type { AnyRow, Table, Value } from "./table.js";
import { textOf } from "./table-shape.js";

/** Most scans that are read together. */
const MOST_SCANS = 500;
/** Most rows that are read together. If there are more, each scan is read by itself. */
const MOST_ROWS = 10_000;

type Scanner = Pick<StoreDriver, "scan" | "scanAll">;

interface Asked {
  readonly scan: CheckedScan;
  fulfil(rows: readonly AnyRow[]): void;
  reject(error: unknown): void;
}

/** Scans that differ only in their prefix. */
interface Group {
  readonly key: string;
  readonly table: Table;
  readonly asked: Asked[];
}

export class GatheredScans {
  readonly #driver: Scanner;
  readonly #groups = new Map<string, Group>();

  constructor(driver: Scanner) {
    this.#driver = driver;
  }

  scan(table: Table, scan: CheckedScan): Promise<readonly AnyRow[]> {
    if (this.#driver.scanAll === undefined || scan.prefix.length !== 1 || scan.reverse || scan.where)
      return this.#driver.scan(table, scan);
    return new Promise((fulfil, reject) => this.#add(table, { scan, fulfil, reject }));
  }

  #add(table: Table, asked: Asked): void {
    const { index, limit, from, after, below } = asked.scan;
    const bounds = textOf([limit, from ?? null, after ?? null, below ?? null]);
    const key = `${table.name} ${index.name} ${bounds}`;
    let group = this.#groups.get(key);
    if (group === undefined) {
      group = { key, table, asked: [] };
      this.#groups.set(key, group);
      void Promise.resolve(group).then((one) => this.#begin(one));
    }
    group.asked.push(asked);
    if (group.asked.length === MOST_SCANS) this.#groups.delete(key);
  }

  #begin(group: Group): void {
    if (this.#groups.get(group.key) === group) this.#groups.delete(group.key);
    this.#read(group).catch((error: unknown) => {
      for (const one of group.asked) one.reject(error);
    });
  }

  async #read({ table, asked }: Group): Promise<void> {
    const [first] = asked as [Asked];
    if (asked.length > 1) {
      const most = Math.min(MOST_ROWS, asked.length * first.scan.limit);
      const prefixes = asked.map(({ scan }) => scan.prefix[0] as Value);
      const rows = await this.#driver.scanAll?.(table, { ...first.scan, limit: most + 1 }, prefixes);
      if (rows !== undefined && rows.length <= most) return share(rows, asked);
    }
    await Promise.all(
      asked.map(async (one) => one.fulfil((await this.#driver.scan(table, one.scan)) as AnyRow[])),
    );
  }
}

/** Gives each scan its rows. Two that ask for the same get rows of their own. */
function share(rows: readonly AnyRow[], asked: readonly Asked[]): void {
  const column = asked[0]?.scan.index.columns[0] as string;
  const byPrefix = new Map<string, AnyRow[]>();
  for (const row of rows) {
    const text = textOf([row[column] as Value]);
    const same = byPrefix.get(text);
    if (same === undefined) byPrefix.set(text, [row]);
    else same.push(row);
  }
  const given = new Set<string>();
  for (const { scan, fulfil } of asked) {
    const text = textOf(scan.prefix);
    const own = (byPrefix.get(text) ?? []).slice(0, scan.limit);
    fulfil(given.has(text) ? own.map((row) => ({ ...row })) : own);
    given.add(text);
  }
}
