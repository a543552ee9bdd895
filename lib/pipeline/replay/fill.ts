// Fills the execution of a replay: copies the messages page by page, as the step of a source would. The place of the replay is in the row
// of that source, so whoever opens the execution next goes on where the last one was killed. The execution cannot complete before the
// source is closed, in the commit of the last page.

import { type Claim, ConflictError, type Store } from "../../store/index.js";
import { sourceId } from "../definition/message-id.js";
import { type Entry, writingOf } from "../ledger/step-writes.js";
import { executions, REPLAY_SOURCE, sources } from "../ledger/tables.js";
import { nextPage, type ReplayPlace } from "./selection.js";

/** Messages of one commit. */
const PAGE = 400;

/**
 * Copies what is missing, if the execution is a replay. Several hosts may fill one execution: each page is written once.
 *
 * @param carried - a broker carries the messages. If that is not known, hosts find out that nobody has sent them
 */
export async function fillReplay(store: Store, claim: Claim, number: number, carried = false): Promise<void> {
  for (;;) {
    const [row] = await store.get(sources, [[number, REPLAY_SOURCE]]);
    if (row === undefined || row.open === 0 || row.checkpoint === null) return;
    const place = JSON.parse(textOf(row.checkpoint)) as ReplayPlace;
    const page = await nextPage(store, place, PAGE);
    const now = Math.floor(await store.clock());
    const entries = entriesOf(page, row.given, place.source);
    // No host holds the source of a replay, and none takes its messages with the commit.
    const { set } = writingOf(entries, { scope: number, claim, shared: false, carried }, now);
    try {
      await store.commit(set);
    } catch (error) {
      // Another host was faster, or the execution was cancelled.
      if (!(error instanceof ConflictError)) throw error;
      const [execution] = await store.get(executions, [[number]]);
      if (execution === undefined || execution.ended !== null) return;
    }
  }
}

function entriesOf(
  { copied, place }: Awaited<ReturnType<typeof nextPage>>,
  given: number,
  source: number,
): readonly Entry[] {
  const messages = copied.map(({ queue, key }, i) => ({
    ...{ id: sourceId(source, given + i), queue, key, value: undefined },
  }));
  const fill: Entry = {
    step: { type: "source", source: REPLAY_SOURCE, from: given, messages, checkpoint: undefined },
    bodies: copied.map(({ body }) => body),
    passed: [],
    extra: [JSON.stringify(place)],
  };
  if (copied.length === PAGE) return [fill];
  return [fill, { step: { type: "close", source: REPLAY_SOURCE }, bodies: [], passed: [], extra: [] }];
}

function textOf(stored: string | Uint8Array): string {
  return typeof stored === "string" ? stored : new TextDecoder().decode(stored);
}
