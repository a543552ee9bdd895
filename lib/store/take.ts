// Takes of rows: checks what a take is given, and carries it out on a store whose driver has no statement for it.

import { OptionError } from "../process/errors.js";
import { only } from "../process/known-options.js";
import type { CheckedScan, StoreDriver } from "./driver.js";
import { ConflictError } from "./errors.js";
import type { StoreLimits } from "./limits.js";
import { anyKey, checkScan } from "./scans.js";
import type { Take } from "./store.js";
import type { AnyRow, Table, Value } from "./table.js";
import { sameValue, shapeOf, valuesOf } from "./table-shape.js";
import { checkKey, checkSet } from "./values.js";
import type { WriteSet } from "./write-set.js";

/** A take whose options were checked, and have their defaults. */
export interface CheckedTake {
  readonly scan: CheckedScan;
  /** Only rows with these values are taken. */
  readonly where: AnyRow;
  /** The values that taken rows get. */
  readonly set: AnyRow;
  readonly claim: WriteSet["claim"];
}

/** @throws OptionError, ValueError */
export function checkTake(table: Table, take: Take, limits: StoreLimits): CheckedTake {
  only("take", take, ["index", "prefix", "below", "limit", "where", "set", "claim"]);
  const { index, prefix, below, limit, where = {}, set, claim } = take;
  const scan = checkScan(
    table,
    {
      limit,
      ...(index !== undefined && { index }),
      ...(prefix && { prefix }),
      ...(below !== undefined && { below }),
    },
    limits,
  );
  if (limit === undefined) throw new OptionError("take.limit", limit, "the most rows to take");
  if (typeof set !== "object" || set === null || Object.keys(set).length === 0)
    throw new OptionError("take.set", set, "values of one column or more");
  for (const name of Object.keys(set))
    if (shapeOf(table).unique.some(({ columns }) => columns.includes(name)))
      throw new OptionError("take.set", name, "columns that are in no unique index");
  const key = anyKey(table);
  checkKey(table, key);
  checkSet({
    expect: [{ table, key, is: where }],
    writes: [{ type: "update", table, key, set }],
    ...(claim && { claim }),
  });
  return { scan, where, set, claim };
}

/** The part of a store that a take without a statement of its own needs. */
export interface Taking {
  readonly driver: Pick<StoreDriver, "scan">;
  commit(set: WriteSet): Promise<unknown>;
  readonly attempts: number;
}

/**
 * Reads rows, and changes them if no other writer was faster. A take that is overtaken reads again; of several takes at once, one
 * always succeeds. Empty when others were faster again and again.
 */
export async function takeByExpectation(on: Taking, table: Table, take: CheckedTake): Promise<AnyRow[]> {
  const { where, set, claim } = take;
  for (let attempt = 1; ; attempt++) {
    const rows = await matching(on, table, take);
    const keys = rows.map((row) => valuesOf(row, table.key));
    try {
      await on.commit({
        // Also the columns that change: a row that another take has changed since may still be as `where` says.
        expect: rows.map((row, i) => ({ table, key: keys[i] ?? [], is: { ...pick(row, set), ...where } })),
        writes: keys.map((key) => ({ type: "update", table, key, set })),
        ...(claim && { claim }),
      });
      return rows.map((row) => ({ ...row, ...set }));
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      if (attempt === on.attempts) return [];
    }
  }
}

/** The first rows of the range that are as `where` says. */
async function matching({ driver }: Taking, table: Table, { scan, where }: CheckedTake): Promise<AnyRow[]> {
  const found: AnyRow[] = [];
  const names = Object.keys(where);
  // The range is read whole, in one scan after another, each larger than the one before.
  for (let limit = scan.limit; ; limit *= 4) {
    const rows = await driver.scan(table, { ...scan, limit });
    found.length = 0;
    for (const row of rows) {
      if (found.length === scan.limit) break;
      if (names.every((name) => sameValue(row[name] as Value, where[name] as Value))) found.push(row);
    }
    if (found.length === scan.limit || rows.length < limit) return found;
  }
}

const pick = (row: AnyRow, names: AnyRow): AnyRow =>
  Object.fromEntries(Object.keys(names).map((name) => [name, row[name] ?? null]));
