// Large values apart from the journal: rows of a table of their own, written in the same write set as the row that refers to them.

import { PayloadUnreadableError } from "../../host/payload/errors.js";
import { OWN, type Reference, referenceOf, referenceText, type Stored } from "../../host/payload/marks.js";
import { defineTable, type Store, type Table, type Write } from "../../store/index.js";

/**
 * With what a large value is removed: with a flow's journal, by its number; with the flow, for its mail and its events; or with its
 * input, by its id, as an input is there before its flow has a number.
 */
export type BlobOwner = `journal/${number}` | `flow/${number}` | `input/${string}`;

/** Large values. Keys grow, so that rows are appended. */
export const blobs: Table<{
  readonly writer: "integer";
  readonly number: "integer";
  readonly owner: "text";
  readonly payload: "payload";
}> = defineTable("flow_blobs", {
  columns: { writer: "integer", number: "integer", owner: "text", payload: "payload" },
  key: ["writer", "number"],
  indexes: { owner: ["owner"] },
});

/** Puts large payloads into write sets. Each holder of a claim has one, as its token and a number make a key. */
export class BlobWriter {
  readonly #writer: number;
  readonly #apartBytes: number;
  #last = 0;

  /**
   * @param token - of the claim under which the rows are written; no other BlobWriter may have it
   * @param apartBytes - payloads of at most this size stay where they are
   */
  constructor(token: number, apartBytes: number) {
    this.#writer = token;
    this.#apartBytes = apartBytes;
  }

  /**
   * The value for a row: the payload itself, or a reference to it. A large payload is added to `writes`.
   */
  split<P extends Stored | null>(payload: P, owner: BlobOwner, writes: Write[]): P | string {
    if (payload === null || payload.length <= this.#apartBytes) return payload;
    const reference = { writer: this.#writer, number: ++this.#last, size: payload.length };
    writes.push({
      type: "insert",
      table: blobs,
      row: { writer: reference.writer, number: reference.number, owner, payload },
    });
    return referenceText(reference);
  }
}

/**
 * Payloads with the large ones in place of their references: one read for all of them.
 *
 * @throws PayloadUnreadableError when a large value is missing
 */
export async function resolved<P extends Stored | null>(store: Store, stored: readonly P[]): Promise<P[]> {
  const found = stored.map((payload) => (payload === null ? undefined : referenceOf(payload)));
  const wanted = found.filter((reference): reference is Reference => reference !== undefined);
  if (wanted.length === 0) return [...stored];
  const rows = await store.get(
    blobs,
    wanted.map(({ writer, number }) => [writer, number]),
  );
  let next = 0;
  return stored.map((payload, i) => {
    if (found[i] === undefined) return payload;
    const row = rows[next++];
    if (row === undefined)
      throw new PayloadUnreadableError(OWN, `the large value ${String(payload)} is missing from the store`);
    return row.payload as P;
  });
}

/** Removes the large value of a payload that is overwritten or removed by itself. Undefined: it has none. */
export function release(stored: Stored | null): Write | undefined {
  const reference = stored === null ? undefined : referenceOf(stored);
  return reference && { type: "delete", table: blobs, key: [reference.writer, reference.number] };
}

/** Removes all large values of an owner. */
export function releaseAll(owner: BlobOwner): Write {
  return { type: "clear", table: blobs, index: "owner", prefix: [owner] };
}
