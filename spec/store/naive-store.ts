// A naive store: plain arrays of rows, one write set after another, each on a copy. The model that plans and stores are held to.

import type { AnyRow, Table, Value, WriteSet } from "signalbox/store";

type Rows = Record<string, Value>[];

const same = (a: Value | undefined, b: Value | undefined): boolean =>
  JSON.stringify([a ?? null, a instanceof Uint8Array]) ===
  JSON.stringify([b ?? null, b instanceof Uint8Array]);

/** Why a set is refused. */
export type Refusal = "conflict" | "value";

export class NaiveStore {
  tables: Map<string, Rows> = new Map();
  numbers: Map<string, number> = new Map();

  rows(table: Table): Rows {
    return this.tables.get(table.name) ?? [];
  }

  /** Applies a set, or says why not. */
  commit(set: WriteSet): readonly number[] | Refusal {
    const before = structuredClone(this.tables);
    const numbers = new Map(this.numbers);
    const results = this.#apply(set);
    if (typeof results !== "string") return results;
    this.tables = before;
    this.numbers = numbers;
    return results;
  }

  #apply({ expect = [], writes }: WriteSet): readonly number[] | Refusal {
    for (const one of expect) {
      const { table } = one;
      if ("prefix" in one) {
        if (this.#count(table, one.index, one.prefix) !== one.rows) return "conflict";
        continue;
      }
      const { key, is } = one;
      const row = this.#find(table, key);
      if (is === "absent" ? row !== undefined : row === undefined) return "conflict";
      if (typeof is === "object" && !Object.entries(is).every(([name, value]) => same(row?.[name], value)))
        return "conflict";
    }
    const results: number[] = [];
    for (const write of writes) {
      const result = this.#write(write);
      if (typeof result === "string") return result;
      results.push(result);
    }
    return results;
  }

  #write(write: WriteSet["writes"][number]): number | Refusal {
    const { table } = write;
    const rows = this.rows(table);
    this.tables.set(table.name, rows);
    switch (write.type) {
      case "insert":
      case "offer": {
        const row = this.#numbered(table, write.row);
        if (this.#rivals(table, row).length > 0) return write.type === "insert" ? "conflict" : 0;
        rows.push(row);
        if (table.counted === undefined) return 1;
        this.numbers.set(table.name, row[table.counted] as number);
        return row[table.counted] as number;
      }
      case "put": {
        const row = this.#numbered(table, write.row);
        const old = rows.find((one) => table.key.every((name) => same(one[name], row[name])));
        if (this.#rivals(table, row).some((one) => one !== old)) return "conflict";
        if (old === undefined) rows.push(row);
        else rows[rows.indexOf(old)] = row;
        return 1;
      }
      case "update": {
        const old = this.#find(table, write.key);
        if (old === undefined) return 0;
        const row: Record<string, Value> = { ...old, ...write.set };
        for (const [name, more] of Object.entries(write.add ?? {}))
          row[name] = ((row[name] ?? 0) as number) + more;
        for (const name of Object.keys(write.add ?? {}))
          if (Math.abs(row[name] as number) > Number.MAX_SAFE_INTEGER) return "value";
        if (this.#rivals(table, row).some((one) => one !== old)) return "conflict";
        rows[rows.indexOf(old)] = row;
        return 1;
      }
      case "delete": {
        const old = this.#find(table, write.key);
        if (old !== undefined) rows.splice(rows.indexOf(old), 1);
        return old === undefined && write.blind !== true ? 0 : 1;
      }
      case "when": {
        const row = this.#find(table, write.key);
        if (row === undefined || !Object.entries(write.is).every(([name, value]) => same(row[name], value)))
          return 0;
        return write.writes.map((one) => this.#write(one)).find((one) => typeof one === "string") ?? 1;
      }
      default: {
        const columns = write.index === undefined ? table.key : (table.indexes?.[write.index] ?? []);
        const left = rows.filter(
          (row) =>
            row[columns[0] as string] === null ||
            !write.prefix.every((value, i) => same(value, row[columns[i] as string])),
        );
        this.tables.set(table.name, left);
        return rows.length - left.length;
      }
    }
  }

  #count(table: Table, index: string | undefined, prefix: readonly Value[]): number {
    const columns = index === undefined ? table.key : (table.indexes?.[index] ?? []);
    return this.rows(table).filter(
      (row) =>
        row[columns[0] as string] !== null &&
        prefix.every((value, i) => same(value, row[columns[i] as string])),
    ).length;
  }

  #numbered(table: Table, row: AnyRow): Record<string, Value> {
    const full: Record<string, Value> = {};
    for (const name of Object.keys(table.columns)) full[name] = row[name] ?? null;
    if (table.counted !== undefined) full[table.counted] = (this.numbers.get(table.name) ?? 0) + 1;
    return full;
  }

  #find(table: Table, key: readonly Value[]): Record<string, Value> | undefined {
    return this.rows(table).find((row) => table.key.every((name, i) => same(row[name], key[i])));
  }

  /** The rows that have the key of this one, or its values in a unique index. */
  #rivals(table: Table, row: AnyRow): Rows {
    const lists = [table.key, ...(table.unique ?? []).map((name) => table.indexes?.[name] ?? [])];
    return this.rows(table).filter((other) =>
      lists.some((names) => names.every((name) => row[name] !== null && same(row[name], other[name]))),
    );
  }
}
