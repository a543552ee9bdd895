// Fills the execution of a replay: copies the messages page by page, as the step of a source would. The place of the replay is in the row
// of that source, so the next host that opens it goes on where the last one was killed. The execution cannot complete before the
// source is closed, in the commit of the last page.

import { processName } from "../../process/process-name.js";
import { type Claim, ConflictError, type Store, type Write, type WriteSet } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import { sourceId } from "../definition/message-id.js";
import { type Entry, writingOf } from "../ledger/step-writes.js";
import {
  type DeadRecordRow,
  deadLetters,
  deadRecords,
  executions,
  executionTopic,
  REPLAY_SOURCE,
  sources,
} from "../ledger/tables.js";
import { decide } from "../messages/dead-machine.js";
import type { LetterPlace } from "../messages/dead-options.js";
import { recordsOf, turnsOf } from "../messages/shelf.js";
import { type Copied, nextPage, type ReplayPlace } from "./replay-selection.js";

/** Messages of one commit. */
const PAGE = 400;

/**
 * Copies the missing messages, if the execution is a replay. Several hosts may fill one execution: each page is written once.
 *
 * @param carried - a broker carries the messages. If that is not known, hosts find out that they were not sent
 */
export async function fillReplay(store: Store, claim: Claim, number: number, carried = false): Promise<void> {
  for (;;) {
    const [row] = await store.get(sources, [[number, REPLAY_SOURCE]]);
    if (row === undefined || row.open === 0 || row.checkpoint === null) return;
    const place = JSON.parse(textOf(row.checkpoint)) as ReplayPlace;
    const page = await nextPage(store, place, PAGE);
    const now = await wholeClock(store);
    const entries = entriesOf(page, row.given, place.source);
    // No host holds the source of a replay, and none takes its messages with the commit.
    const { set } = writingOf(entries, { scope: number, claim, shared: false, carried }, now);
    const given = await handedOver(store, place, page.copied, number, now);
    try {
      await store.commit({
        ...set,
        expect: [...(set.expect ?? []), ...given.expect],
        writes: [...set.writes, ...given.writes],
        notify: [executionTopic(place.of)],
      });
    } catch (error) {
      // Another host was faster, also with one of the dead letters, or the execution was cancelled.
      if (!(error instanceof ConflictError)) throw error;
      const [execution] = await store.get(executions, [[number]]);
      if (execution === undefined || execution.ended !== null) return;
    }
  }
}

/** The dead letters that the replayed execution loses with the copies. They leave a record of this replay. */
async function handedOver(
  store: Store,
  { of, deed = { by: processName(), reason: null } }: ReplayPlace,
  copied: readonly Copied[],
  target: number,
  now: number,
): Promise<Required<Pick<WriteSet, "expect" | "writes">>> {
  const letters = copied.flatMap(({ letter }) => letter ?? []);
  const again = copied.flatMap(({ record }) => record ?? []);
  const keyOf = ({ queue, id }: LetterPlace): (string | number)[] => [of, queue, id];
  const tables = { dead: deadLetters, records: deadRecords };
  const turns = await turnsOf({ store, tables, keyOf }, letters);
  const judged = letters.map((letter, i) => {
    const state = { turn: turns[i] as number, dead: true, fate: undefined };
    return { letter, effects: decide(state, { type: "replay", again: false })[1] };
  });
  const { expect, writes } = recordsOf({ tables, keyOf }, judged, deed, now, () => ({ target }));
  const counts = { dead: -letters.length, replayed: letters.length };
  return {
    expect: [...expect, ...again.map(({ copies, ...row }) => ({ ...recordAt(row), is: { copies } }))],
    writes: [
      ...writes,
      ...again.map(
        (row): Write => ({
          type: "update",
          ...recordAt(row),
          set: { target },
          add: { copies: 1 },
        }),
      ),
      ...(letters.length === 0
        ? []
        : [{ type: "update", table: executions, key: [of], add: counts } as const]),
    ],
  };
}

const recordAt = ({ scope, queue, id, turn }: Pick<DeadRecordRow, "scope" | "queue" | "id" | "turn">) => ({
  table: deadRecords,
  key: [scope, queue, id, turn],
});

function entriesOf(
  { copied, place }: Awaited<ReturnType<typeof nextPage>>,
  given: number,
  source: number,
): readonly Entry[] {
  const messages = copied.map(({ queue, key }, i) => ({
    id: sourceId(source, given + i),
    queue,
    key,
    value: undefined,
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
