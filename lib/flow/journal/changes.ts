// Changes of flows in the store: the writes and expectations of a row, sets that commit together, and the repeat when another was faster.

import {
  type AnyRow,
  ConflictError,
  type Expectation,
  type Write,
  type WriteSet,
} from "../../store/index.js";
import { type FlowRow, flows } from "./tables.js";

/** Writes that commit together, what they expect, and the topics of those that are notified. */
export type FlowWrites = Omit<WriteSet, "claim">;

type Numbered = Pick<FlowRow, "number">;

/** The row of a flow must be so. */
export function rowIs({ number }: Numbered, is: AnyRow): Expectation {
  return { table: flows, key: [number], is };
}

/** Sets these columns of a flow's row. */
export function rowGets({ number }: Numbered, set: AnyRow): Write & { readonly type: "update" } {
  return { type: "update", table: flows, key: [number], set };
}

/** All of these as one set. */
export function joined(parts: readonly FlowWrites[]): Required<FlowWrites> {
  return {
    writes: parts.flatMap(({ writes }) => writes),
    expect: parts.flatMap(({ expect }) => expect ?? []),
    notify: parts.flatMap(({ notify }) => notify ?? []),
  };
}

/** A decision is made again after as many conflicts. */
export const MOST_CONFLICTS = 1_000;

/**
 * Reads and decides again while another writer is faster. Each conflict means that another writer went on, so as many in a row as
 * {@link MOST_CONFLICTS} are no contention.
 *
 * @throws ConflictError after one more
 */
export async function decided<T>(act: () => Promise<T>): Promise<T> {
  for (let conflicts = 0; ; conflicts++) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof ConflictError) || conflicts === MOST_CONFLICTS) throw error;
    }
  }
}
