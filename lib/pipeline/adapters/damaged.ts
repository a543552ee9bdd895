// Gives up records that a source could not read.

import type { Adapter } from "../definition/adapter.js";
import { type DamagedRecord, isDamaged } from "../sources/file-options.js";

/**
 * Puts damaged records of a source with `damaged: "pass"` into the dead letters, with file, line and reason; all others go on.
 *
 * @example
 * const rows = queue<CsvRow | DamagedRecord>("rows");
 * const clean = route("clean", { from: rows }).via(giveUpDamaged<CsvRow>());
 */
export function giveUpDamaged<T>(): Adapter<T | DamagedRecord, T> {
  return {
    name: "damaged",
    process(value, ctx) {
      if (!isDamaged(value)) return value;
      return ctx.giveUp(`${value.file}, line ${value.line}: ${value.$damaged}`);
    },
  };
}
