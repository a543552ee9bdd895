// Large values apart from the journal: rows of a table of their own, written in the same write set as the row that refers to them.

import { defineTable, type Store, type Table, type Write } from "../../store/index.js";
import { PayloadUnreadableError } from "./errors.js";
import { OWN, type Reference, referenceOf, referenceText, type Stored } from "./marks.js";

/** Large values. Keys grow, so that rows are appended; `flow` is the number of the flow with which a value is removed. */
export const blobs: Table<{
  readonly writer: "integer";
  readonly number: "integer";
  readonly flow: "integer";
  readonly payload: "payload";
}> = defineTable("flow_blobs", {
  columns: { writer: "integer", number: "integer", flow: "integer", payload: "payload" },
  key: ["writer", "number"],
  indexes: { flow: ["flow"] },
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
   * What to write into the row of a flow: the payload itself, or a reference to it. A large payload is added to `writes`.
   *
   * @param flow - the number of the flow to which the payload belongs
   */
  split(payload: Stored, flow: number, writes: Write[]): Stored {
    if (payload.length <= this.#apartBytes) return payload;
    const reference = { writer: this.#writer, number: ++this.#last, size: payload.length };
    writes.push({
      type: "insert",
      table: blobs,
      row: { writer: reference.writer, number: reference.number, flow, payload },
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

/** Removes all large values of a flow. */
export function releaseAll(flow: number): Write {
  return { type: "clear", table: blobs, index: "flow", prefix: [flow] };
}
