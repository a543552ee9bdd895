// Decisions about flows that are made again while another writer is faster.

import { ConflictError } from "signalbox/store";
import { expect, test } from "vitest";
import { decided, MOST_CONFLICTS } from "../../../lib/flow/journal/changes.js";

const conflict = new ConflictError("flows", [1], "version 1", "version 2");

/** Decides while this many writers are faster. */
async function decideAfter(conflicts: number): Promise<number> {
  let tries = 0;
  return decided(async () => {
    if (++tries <= conflicts) throw conflict;
    return tries;
  });
}

test("a decision is made again while another writer is faster, up to a limit", async () => {
  expect(await decideAfter(MOST_CONFLICTS)).toBe(MOST_CONFLICTS + 1);
  await expect(decideAfter(MOST_CONFLICTS + 1)).rejects.toBe(conflict);
});

test("an error that is no conflict goes to the caller at once", async () => {
  const act = async (): Promise<void> => {
    throw new RangeError("no");
  };
  await expect(decided(act)).rejects.toThrow(RangeError);
});
