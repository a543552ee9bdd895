// The answer to the exercise of docs/course/16-on-a-server.md: copies of a store that works on, of which so many are kept.

import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Store } from "signalbox/store";

const NAME = /^shop-\d{4}-\d\d-\d\d\.db$/;

/** The copies in a folder, the oldest first. */
export async function copiesIn(folder: string): Promise<string[]> {
  // Days as year, month, day sort by time.
  return (await readdir(folder)).filter((name) => NAME.test(name)).sort();
}

/**
 * Copies the store to `shop-DAY.db`, and removes the oldest copies until `keep` are left. When the copy fails, all older ones stay.
 *
 * @param day - as `2026-01-31`
 */
export async function backUp(
  store: Pick<Store, "backup">,
  folder: string,
  day: string,
  keep: number,
): Promise<void> {
  const name = `shop-${day}.db`;
  if (!NAME.test(name)) throw new RangeError(`a day is written as 2026-01-31, not ${day}`);
  if (keep < 1) throw new RangeError(`at least one copy is kept, not ${keep}`);
  const part = join(folder, `${name}.part`);
  // Left by a process that was killed: `backup` writes to new files only.
  await rm(part, { force: true });
  try {
    await store.backup(part);
    // A rename takes place at once: the name stands for the whole copy, or for none.
    await rename(part, join(folder, name));
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
  for (const old of (await copiesIn(folder)).slice(0, -keep)) await rm(join(folder, old));
}
