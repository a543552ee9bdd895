// Checks what a scan is given, and fills in its defaults.

import { OptionError } from "../process/errors.js";
import { only } from "../process/known-options.js";
import { flag } from "../process/options.js";
import type { CheckedScan } from "./driver.js";
import type { StoreLimits } from "./limits.js";
import type { RangeNeeds } from "./needs.js";
import type { Scan } from "./store.js";
import type { AnyRow, Table, Value } from "./table.js";
import { type IndexShape, shapeOf, type TableShape } from "./table-shape.js";
import { checkPrefix, checkSet } from "./values.js";
import type { Key } from "./write-set.js";

/** All rows whose index begins with these values, for a count. */
export function rangeScan(shape: TableShape, { index, prefix }: RangeNeeds): CheckedScan {
  return {
    index: shape.indexes.get(index) as IndexShape,
    prefix,
    from: undefined,
    after: undefined,
    below: undefined,
    reverse: false,
    limit: 1,
  };
}

/** @throws OptionError, ValueError */
export function checkScan(table: Table, scan: Scan, limits: StoreLimits): CheckedScan {
  only("scan", scan, ["index", "prefix", "from", "after", "below", "where", "reverse", "limit"]);
  const { index = "", prefix = [], from, after, below, reverse = false, limit = limits.scanRows } = scan;
  const { where } = scan;
  const shape = shapeOf(table);
  checkPrefix(shape, index, prefix);
  const found = shape.indexes.get(index);
  if (found === undefined) throw new OptionError("scan.index", index, "an index of the table");
  for (const [name, bound] of Object.entries({ from, after, below })) {
    if (bound === undefined) continue;
    if (prefix.length === found.columns.length)
      throw new OptionError(`scan.${name}`, bound, "absent: the prefix has all columns of the index");
    checkPrefix(shape, index, [...prefix, bound as Value]);
  }
  if (from !== undefined && after !== undefined)
    throw new OptionError("scan.after", after, "absent when there is a `from`");
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > limits.scanMostRows)
    throw new OptionError("scan.limit", limit, `a whole number from 1 to ${limits.scanMostRows}`);
  if (where !== undefined) checkWhere(table, where);
  return { index: found, prefix, from, after, below, where, reverse: flag("scan.reverse", reverse), limit };
}

/** @throws OptionError, ValueError unless these are values of columns of the table */
function checkWhere(table: Table, where: AnyRow): void {
  checkSet({ expect: [{ table, key: anyKey(table), is: where }], writes: [] });
}

/** A key for checks of columns: their rules are the same for all rows. */
export function anyKey(table: Table): Key {
  return table.key.map((name) => (shapeOf(table).byName.get(name)?.kind === "text" ? "" : 0));
}
