// What pages look at again and again, once or more a second: each look reads a bounded part of the store.
//
//     routes     the row of the execution, its sources, and up to 10,000 keys of each queue in each of three states
//     counts     an index of executions, up to 10,000 of each status
//     delayed    the row of the execution, and as many messages as were asked for

import type { EvidenceView } from "../../host/index.js";
import { only } from "../../process/known-options.js";
import { count, text } from "../../process/options.js";
import type { Store } from "../../store/index.js";
import { routesByQueue } from "../definition/configuration.js";
import { MessageRows } from "../ledger/message-rows.js";
import { setbackOf } from "../ledger/setback.js";
import {
  deadLetters,
  type ExecutionRow,
  type ExecutionStatus,
  executions,
  type MessageRow,
  messages,
  READY,
  sources,
} from "../ledger/tables.js";
import { isEndOfProcess } from "../messages/verdict.js";
import type { ExecutionFigures } from "./figures.js";
import {
  type DelayedMessage,
  type DelayedOptions,
  EXECUTION_STATUSES,
  type ExecutionCounts,
} from "./operations.js";
import { type QueueNumbers, type RouteGraph, routeGraph } from "./route-graph.js";

/** The limits of looks. */
export const LOOK_LIMITS: {
  /** Counting ends here. */
  readonly counted: number;
  /** Most sources and queues that are read. */
  readonly parts: number;
  /** Most messages of a look. */
  readonly messages: number;
  /** Messages of a look if nothing else is said. */
  readonly usualMessages: number;
} = { counted: 10_000, parts: 1_000, messages: 500, usualMessages: 100 };

/** The graph of an execution. @param figures - of a host that runs it */
export async function readRoutes(
  store: Store,
  row: ExecutionRow,
  configuration: unknown,
  figures: ExecutionFigures | undefined,
): Promise<RouteGraph> {
  const { number: scope, id, pipeline, status } = row;
  const [at, places, queues] = await Promise.all([
    store.clock(),
    store.scan(sources, { prefix: [scope], limit: LOOK_LIMITS.parts }),
    numbersOf(store, scope, configuration),
  ]);
  return routeGraph({
    ...{ id, pipeline, status: status as ExecutionStatus, at: Math.floor(at) },
    ...{ atMost: LOOK_LIMITS.counted, configuration, queues, figures },
    sources: places.map(({ name, given, open }) => ({ name, given, open: open === 1 })),
  });
}

async function numbersOf(store: Store, scope: number, configuration: unknown): Promise<QueueNumbers[]> {
  const held = await new MessageRows(store, scope).queues();
  const routed = routesByQueue(configuration).keys();
  const names = [...new Set([...routed, ...held.live, ...held.dead])].slice(0, LOOK_LIMITS.parts);
  const { counted: atMost } = LOOK_LIMITS;
  return Promise.all(
    names.map(async (queue): Promise<QueueNumbers> => {
      const prefix = [scope, queue];
      const [ready, delayed, dead] = await Promise.all([
        store.count(messages, { prefix: [...prefix, READY], atMost }),
        store.count(messages, { prefix, from: READY + 1, atMost }),
        store.count(deadLetters, { prefix, atMost }),
      ]);
      return { queue, ready, delayed, dead };
    }),
  );
}

/** How many executions there are of each status, as far as a look counts. */
export async function readCounts(store: Store): Promise<ExecutionCounts> {
  const { counted: atMost } = LOOK_LIMITS;
  const found = await Promise.all(
    EXECUTION_STATUSES.map((status) =>
      store.count(executions, { index: "status", prefix: [status], atMost }),
    ),
  );
  const counts = Object.fromEntries(
    EXECUTION_STATUSES.map((status, i) => [status, found[i] as number]),
  ) as Record<ExecutionStatus, number>;
  return { counts, atMost };
}

/** Messages that wait for their next attempt. @throws OptionError */
export async function readDelayed(
  store: Store,
  scope: number,
  configuration: unknown,
  options: DelayedOptions,
): Promise<readonly DelayedMessage[]> {
  only("", options, ["queue", "limit"]);
  const { queue } = options;
  if (queue !== undefined) text("queue", queue);
  const most = Math.min(count("limit", options.limit ?? LOOK_LIMITS.usualMessages, 1), LOOK_LIMITS.messages);
  const routes = routesByQueue(configuration);
  const queues = queue === undefined ? await new MessageRows(store, scope).liveQueues() : [queue];
  const found: DelayedMessage[] = [];
  for (const one of queues) {
    const limit = most - found.length;
    if (limit === 0) break;
    // In the order of the lanes, which are the times.
    const rows = await store.scan(messages, { prefix: [scope, one], from: READY + 1, limit });
    found.push(...rows.map((row) => delayedOf(row, routes.get(one))));
  }
  return found;
}

function delayedOf(row: MessageRow, route: string | undefined): DelayedMessage {
  const { id, queue, lane, tag, attempts, history, quarantines } = row;
  const errors = history === null ? [] : (JSON.parse(history) as string[]);
  const setback = row.setback === null ? undefined : setbackOf(row.setback);
  const isAside = isEndOfProcess(errors.at(-1), quarantines ?? 0);
  return {
    ...{ id, queue, until: lane },
    ...(route !== undefined && { route }),
    ...(tag !== null && { key: tag }),
    why: setback !== undefined ? "setback" : isAside ? "quarantine" : "attempt",
    ...{ attempts: attempts ?? 0, ends: quarantines ?? 0, errors },
    ...(setback !== undefined && { setback }),
  };
}

/** A message, as evidence names it: by the number of its execution. */
const SUBJECT = /^message:(\d+)\//;

/** The evidence with the ids of executions in the names of messages, in place of their numbers. */
export async function withExecutions(
  store: Store,
  views: readonly EvidenceView[],
): Promise<readonly EvidenceView[]> {
  const numbers = new Set<number>();
  const note = (subject: string): string => {
    const [, number] = SUBJECT.exec(subject) ?? [];
    if (number !== undefined) numbers.add(Number(number));
    return subject;
  };
  for (const view of views) renamed(view, note);
  if (numbers.size === 0) return views;
  const rows = await store.get(
    executions,
    [...numbers].map((number) => [number]),
  );
  const ids = new Map(rows.flatMap((row) => (row === undefined ? [] : [[String(row.number), row.id]])));
  const shown = (subject: string): string =>
    subject.replace(SUBJECT, (all, number: string) => {
      const id = ids.get(number);
      return id === undefined ? all : `message:${id}/`;
    });
  return views.map((view) => renamed(view, shown));
}

function renamed(view: EvidenceView, to: (subject: string) => string): EvidenceView {
  const { marks, stood, search, others } = view;
  const of = <T extends { readonly subject: string }>(one: T): T => ({ ...one, subject: to(one.subject) });
  return {
    ...{ ...view, marks: marks.map(of), others: others.map(of) },
    ...(stood !== undefined && { stood: of(stood) }),
    ...(search !== undefined && {
      search: { tested: search.tested.map(to), accused: search.accused.map(to) },
    }),
  };
}
