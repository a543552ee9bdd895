// Executions that cannot end with the current definition: their rows list the missing parts, so that people find these without the code,
// and are notified once.

import { ConflictError, type Store } from "../../store/index.js";
import {
  type KnownParts,
  type MissingPart,
  missingParts,
  type RemainingWork,
} from "../definition/missing.js";
import { MessageRows } from "./message-rows.js";
import { type ExecutionRow, executions, REPLAY_SOURCE, sources } from "./tables.js";

/** Sources of an execution that are read. */
const MOST_SOURCES = 10_000;

async function remainingWork(
  store: Store,
  { number, pipeline, version }: ExecutionRow,
): Promise<RemainingWork> {
  const [{ live }, places] = await Promise.all([
    new MessageRows(store, number).queues(),
    store.scan(sources, { prefix: [number], limit: MOST_SOURCES }),
  ]);
  const open = places.filter((place) => place.open === 1 && place.name !== REPLAY_SOURCE);
  return { pipeline, version: version ?? 1, queues: live, sources: open.map(({ name }) => name) };
}

/** The missing parts that the row of an execution lists. Undefined: none, as far as any host has looked. */
export function strandedOf({ stranded, ended }: ExecutionRow): readonly MissingPart[] | undefined {
  if (stranded === null || ended !== null) return undefined;
  return JSON.parse(stranded as string) as readonly MissingPart[];
}

/**
 * Finds the missing parts of an execution, and stores them in its row.
 *
 * @param parts - of its pipeline
 * @returns the missing parts, if they were not in the row before
 */
export async function strand(
  store: Store,
  number: number,
  parts: KnownParts,
): Promise<readonly MissingPart[] | undefined> {
  const [row] = await store.get(executions, [[number]]);
  if (row === undefined || row.ended !== null) return undefined;
  const missing = missingParts(await remainingWork(store, row), parts);
  const stranded = missing.length === 0 ? null : JSON.stringify(missing);
  if (stranded === row.stranded) return undefined;
  try {
    await store.commit({
      expect: [{ table: executions, key: [number], is: { ended: null, stranded: row.stranded } }],
      writes: [{ type: "update", table: executions, key: [number], set: { stranded } }],
    });
  } catch (error) {
    // It has ended, or another host has said it.
    if (error instanceof ConflictError) return undefined;
    throw error;
  }
  return missing.length === 0 ? undefined : missing;
}

/** Removes parts from the list that are not missing after people gave up or moved messages. It finds no new ones: that takes the code. */
export async function restrand(store: Store, number: number): Promise<void> {
  const [row] = await store.get(executions, [[number]]);
  const before = row === undefined ? undefined : strandedOf(row);
  if (row === undefined || before === undefined) return;
  const { queues, sources: open } = await remainingWork(store, row);
  const missing = before.filter(
    ({ part, name }) =>
      (part !== "queue" && part !== "source") || (part === "queue" ? queues : open).includes(name),
  );
  if (missing.length === before.length) return;
  const stranded = missing.length === 0 ? null : JSON.stringify(missing);
  const key = [number];
  await store.commit({
    writes: [
      {
        type: "when",
        table: executions,
        key,
        is: { stranded: row.stranded },
        writes: [{ type: "update", table: executions, key, set: { stranded } }],
      },
    ],
  });
}
