// Moves messages of an execution to the queue of another route of its pipeline, as it is now. A message keeps its id, its key, its value and its
// errors, and no attempt at it is used: to its new route it is a new message.

import type { Store, Write } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import type { MessageChange } from "../ledger/lineage.js";
import { MessageRows } from "../ledger/message-rows.js";
import { bodyWithin } from "../ledger/message-size.js";
import { restrand } from "../ledger/stranding.js";
import {
  carriedChannels,
  type ExecutionRow,
  type MessageRow,
  messages,
  outbox,
  READY,
  READY_NEWS,
} from "../ledger/tables.js";
import {
  type ChangeSet,
  changeMessages,
  changesOf,
  keyOf,
  type NextMessages,
  ofIds,
  ofQueues,
} from "./change-messages.js";
import type { Moved, MoveRequest } from "./change-options.js";
import { PipelineChangeError } from "./errors.js";
import { allLive } from "./give-up.js";

/** The pipeline to whose route messages go. */
export interface MoveTarget {
  readonly pipeline: string;
  readonly routes: readonly { readonly name: string; readonly queue: string }[];
  /** Most bytes of a message. */
  readonly maxMessageBytes: number;
}

/**
 * Moves what is asked for. Durable when it is fulfilled.
 *
 * @throws PipelineChangeError, MessageTooLargeError
 */
export async function move(
  store: Store,
  execution: ExecutionRow,
  target: MoveTarget,
  { to, of, by, reason, limit }: MoveRequest,
): Promise<Moved> {
  const { number: scope, id, ended } = execution;
  const queue = queueOf(id, target, to);
  if (ended !== null) return { messages: 0, more: false };
  const next = await nextOf(store, execution, target, of, queue);
  const [channel] = await store.scan(carriedChannels, { prefix: [scope], limit: 1 });
  const as: MovedBy = { what: "moved", by, ...(reason !== undefined && { reason }) };
  const place: NewPlace = { queue, as, isCarried: channel !== undefined, most: target.maxMessageBytes };
  const { count, more } = await changeMessages(
    store,
    scope,
    next,
    (rows) => moved(store, rows, place),
    limit,
  );
  await restrand(store, scope);
  return { messages: count, more };
}

/** @throws PipelineChangeError */
function queueOf(id: string, { pipeline, routes }: MoveTarget, to: string): string {
  const found = routes.find(({ name }) => name === to);
  if (found !== undefined) return found.queue;
  throw new PipelineChangeError(
    id,
    `the pipeline ${pipeline} has no route ${to}; it has ${routes.map(({ name }) => name).join(", ")}`,
  );
}

async function nextOf(
  store: Store,
  execution: ExecutionRow,
  { routes }: MoveTarget,
  of: MoveRequest["of"],
  to: string,
): Promise<NextMessages> {
  switch (of.type) {
    case "messages":
      await allLive(store, execution, of.ids);
      return ofIds(store, execution, of.ids, ({ queue }) => queue !== to);
    case "queues":
      if (of.names.includes(to))
        throw new PipelineChangeError(execution.id, `those of the queue ${to} are there already`);
      return ofQueues(store, execution, of.names);
    case "stranded": {
      const { live } = await new MessageRows(store, execution.number).queues();
      const lost = live.filter((name) => !routes.some(({ queue }) => queue === name));
      return ofQueues(store, execution, lost);
    }
    default:
      return of satisfies never;
  }
}

type MovedBy = Omit<MessageChange, "at" | "queue">;

interface NewPlace {
  readonly queue: string;
  readonly as: MovedBy;
  readonly isCarried: boolean;
  readonly most: number;
}

async function moved(
  store: Store,
  rows: readonly MessageRow[],
  { queue, as, isCarried, most }: NewPlace,
): Promise<ChangeSet> {
  const at = await wholeClock(store);
  const writes = rows.flatMap((row): Write[] => {
    const { scope, id, body, tag, history } = row;
    bodyWithin(most, body, queue);
    const changes = JSON.stringify([...changesOf(row), { ...as, at, queue: row.queue }]);
    const place = { scope, queue, lane: READY, id };
    const kept = {
      since: at,
      body,
      changes,
      ...(tag !== null && { tag }),
      ...(history !== null && { history }),
    };
    return [
      { type: "delete", table: messages, key: keyOf(row) },
      { type: "delete", table: outbox, key: keyOf(row) },
      { type: "put", table: messages, row: { ...place, ...kept } },
      ...(isCarried ? [{ type: "put" as const, table: outbox, row: { ...place, round: at } }] : []),
    ];
  });
  return { expect: [], writes, news: [READY_NEWS + queue] };
}
