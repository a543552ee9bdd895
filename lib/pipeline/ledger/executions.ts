// The rows of executions: how one is created, found again, paused, and ended by people.

import { InvariantError } from "../../process/errors.js";
import { type Claim, ConflictError, type Store, type Write } from "../../store/index.js";
import { wholeClock } from "../../store/whole-clock.js";
import type { MessageId } from "../definition/message-id.js";
import {
  carriedChannels,
  type ExecutionRow,
  executions,
  executionTopic,
  HOSTS_TOPIC,
  held,
  messages,
  outbox,
  READY,
  REPLAY_SOURCE,
  sources,
} from "./tables.js";

type Body = string | Uint8Array;

/** A message that is there from the start. */
export interface FirstMessage {
  readonly id: MessageId;
  readonly queue: string;
  readonly body: Body;
  readonly key?: string | undefined;
}

/** What an execution begins with. */
export interface NewExecution {
  /** The id that the user gave. */
  readonly id: string;
  readonly pipeline: string;
  /** The version of the pipeline. Absent: 1. */
  readonly version?: number;
  readonly config: Body | null;
  readonly input: Body | null;
  /** The number of the execution whose messages it replays, and the place at which the replay begins. */
  readonly replay?: { readonly of: number; readonly place: Body };
  /** The names of its sources. */
  readonly sources: readonly string[];
  readonly messages: readonly FirstMessage[];
  /** The trace in which it was started. */
  readonly trace?: string | undefined;
  /** The call that starts it: the id of the execution if it was made for this start. */
  readonly request?: string | undefined;
}

/** How often a number is looked for when other hosts create executions at the same time. */
const ATTEMPTS = 100;

/**
 * Creates an execution in one commit, or finds the one with this id. An execution of no sources and no messages is complete at once.
 *
 * @returns the row, and whether this call has created it
 */
export async function createExecution(
  store: Store,
  claim: Claim,
  given: NewExecution,
): Promise<{ readonly row: ExecutionRow; readonly isNew: boolean }> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const there = await findExecution(store, given.id);
    if (there !== undefined) return { row: there, isNew: isOf(there, given.request) };
    const [last] = await store.scan(executions, { reverse: true, limit: 1 });
    const row = rowOf(given, (last?.number ?? 0) + 1, await store.clock());
    try {
      await store.commit({ claim, writes: writesOf(given, row), notify: [HOSTS_TOPIC + claim.token] });
      return { row, isNew: true };
    } catch (error) {
      // Another execution was given the number, or has the id.
      if (!(error instanceof ConflictError)) throw error;
    }
  }
  throw new InvariantError(`no number for the execution ${given.id} in ${ATTEMPTS} attempts`);
}

/** Whether a call has started this execution: it is asked again when its host has ended before it answered. */
const isOf = ({ id, request }: ExecutionRow, call: string | undefined): boolean =>
  call !== undefined && call === (request ?? id);

/** The execution with this id of a user. */
export async function findExecution(store: Store, id: string): Promise<ExecutionRow | undefined> {
  const [row] = await store.scan(executions, { index: "id", prefix: [id], limit: 1 });
  return row;
}

function rowOf(given: NewExecution, number: number, now: number): ExecutionRow {
  const pending = given.sources.length + given.messages.length + (given.replay === undefined ? 0 : 1);
  const isOver = pending === 0;
  return {
    number,
    id: given.id,
    pipeline: given.pipeline,
    status: isOver ? "completed" : "running",
    config: given.config,
    input: given.input,
    pending,
    done: 0,
    dead: 0,
    inputs: given.messages.length,
    error: null,
    replays: given.replay?.of ?? null,
    created: Math.floor(now),
    ended: isOver ? Math.floor(now) : null,
    unannounced: isOver ? 1 : null,
    kept: isOver ? Math.floor(now) : null,
    trace: given.trace ?? null,
    // An id that was made for the start says as much.
    request: given.request === undefined || given.request === given.id ? null : given.request,
    totals: null,
    stranded: null,
    version: given.version === undefined || given.version === 1 ? null : given.version,
    changed: null,
    dropped: null,
    replayed: null,
  };
}

function writesOf(given: NewExecution, row: ExecutionRow): Write[] {
  const scope = row.number;
  return [
    { type: "insert", table: executions, row },
    ...given.sources.map(
      (name): Write => ({ type: "put", table: sources, row: { scope, name, given: 0, open: 1 } }),
    ),
    ...replayRows(given, scope),
    ...given.messages.map(
      ({ id, queue, body, key }): Write => ({
        type: "put",
        table: messages,
        row: {
          ...{ scope, queue, lane: READY, id, body, since: row.created },
          ...(key !== undefined && { tag: key }),
        },
      }),
    ),
  ];
}

/** The replay is a source, which is open as long as it copies. */
function replayRows({ replay }: NewExecution, scope: number): Write[] {
  if (replay === undefined) return [];
  const row = { scope, name: REPLAY_SOURCE, given: 0, checkpoint: replay.place, open: 1 };
  return [{ type: "put", table: sources, row }];
}

/** What became of its dead letters, as far as anything did. */
export function fatesOf({ replayed, dropped }: Pick<ExecutionRow, "replayed" | "dropped">): {
  readonly replayed?: number;
  readonly dropped?: number;
} {
  return {
    ...(replayed !== null && replayed > 0 && { replayed }),
    ...(dropped !== null && dropped > 0 && { dropped }),
  };
}

/**
 * Pauses an execution, or lets it go on.
 *
 * @returns false: it has ended, or there is none
 */
export function setPaused(store: Store, number: number, paused: boolean): Promise<boolean> {
  return change(store, number, { status: paused ? "paused" : "running" });
}

/**
 * Ends an execution from outside: every further step of it is refused.
 *
 * @returns false: it has ended, or there is none
 */
export async function endExecution(
  store: Store,
  number: number,
  as: "failed" | "cancelled",
  error: Body | null,
): Promise<boolean> {
  const ended = await wholeClock(store);
  return change(store, number, { status: as, ended, error, unannounced: 1, kept: ended });
}

async function change(store: Store, number: number, set: Partial<ExecutionRow>): Promise<boolean> {
  try {
    await store.commit({
      expect: [{ table: executions, key: [number], is: { ended: null } }],
      writes: [{ type: "update", table: executions, key: [number], set }],
      notify: [executionTopic(number)],
    });
    return true;
  } catch (error) {
    if (error instanceof ConflictError) return false;
    throw error;
  }
}

/** Executions that have ended and whose end was not announced, the oldest first. */
export function unannounced(store: Store, limit = 1_000): Promise<ExecutionRow[]> {
  return store.scan(executions, { index: "unannounced", prefix: [1], limit });
}

/** The end of the execution was announced. The first host that writes this notifies the others that wait for the end. */
export async function announced(store: Store, claim: Claim, number: number): Promise<void> {
  const key = [number];
  try {
    await store.commit({
      claim,
      expect: [{ table: executions, key, is: { unannounced: 1 } }],
      writes: [
        { type: "update", table: executions, key, set: { unannounced: null } },
        { type: "clear", table: held, prefix: key },
        { type: "clear", table: outbox, prefix: key },
        { type: "clear", table: carriedChannels, prefix: key },
      ],
      notify: [executionTopic(number), HOSTS_TOPIC + claim.token],
    });
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
  }
}
