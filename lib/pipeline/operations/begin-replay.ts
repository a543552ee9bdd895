// The beginning of a replay: checks the request against the stored rows, and makes the row of the new execution.

import type { Claim, Store } from "../../store/index.js";
import { createExecution, findExecution } from "../ledger/executions.js";
import { decodeEntry } from "../ledger/lineage.js";
import { MessageRows } from "../ledger/message-rows.js";
import { deadLetters, deadRecords, type ExecutionRow, keptValues, messages } from "../ledger/tables.js";
import { ReplayError } from "./errors.js";
import type { ReplayRequest } from "./replay-options.js";
import { type ReplayPart, type ReplayPlace, valuesOf } from "./replay-selection.js";

/** The pipeline as it is now, which runs the replay. */
export interface ReplayTarget {
  readonly pipeline: string;
  readonly version: number;
  /** How many sources it has. */
  readonly sources: number;
  readonly routes: readonly { readonly name: string; readonly queue: string }[];
  /** Most bytes of a message. */
  readonly maxMessageBytes: number;
  /** Its configuration, encoded. */
  readonly config: string | Uint8Array;
}

/** Messages whose ids an error names. */
const MOST_NAMED = 5;

/** The place at which the replay begins. @throws ReplayError when there is nothing to replay */
async function planReplay(
  store: Store,
  execution: ExecutionRow,
  target: ReplayTarget,
  request: ReplayRequest,
): Promise<ReplayPlace> {
  const planner = new Planner(store, execution, target);
  const parts = await planner.partsOf(request);
  const counts = await Promise.all(parts.map((part) => planner.count(part)));
  const wanted = parts.filter((_, i) => (counts[i] as number) > 0);
  if (wanted.length === 0) throw new ReplayError(execution.id, planner.nothing(request));
  return {
    of: execution.number,
    source: target.sources,
    parts: wanted,
    part: 0,
    deed: request.deed,
    ...(request.again && { again: true }),
  };
}

class Planner {
  readonly #store: Store;
  readonly #execution: ExecutionRow;
  readonly #target: ReplayTarget;
  readonly #rows: MessageRows;

  constructor(store: Store, execution: ExecutionRow, target: ReplayTarget) {
    this.#store = store;
    this.#execution = execution;
    this.#target = target;
    this.#rows = new MessageRows(store, execution.number);
  }

  async partsOf(request: ReplayRequest): Promise<ReplayPart[]> {
    switch (request.type) {
      case "messages":
        return this.#messages(request.ids, request.again);
      case "dead": {
        const { dead, records } = await this.#rows.queues();
        const named = request.route === undefined ? undefined : [this.#queueOf(request.route)];
        const queues = named ?? [...new Set(request.again ? [...dead, ...records] : dead)];
        for (const queue of queues) this.#checkQueue(queue);
        return queues.flatMap((queue) => lettersIn(queue, request.again));
      }
      case "route":
        return this.#route(request.route, request.partial, request.again);
      default:
        return request satisfies never;
    }
  }

  async #messages(ids: readonly string[], again: boolean): Promise<ReplayPart[]> {
    const found = await valuesOf(this.#store, this.#execution.number, ids, again);
    const gone = ids.filter((_, i) => found[i] === undefined);
    if (gone.length > 0) {
      const fates = await this.#rows.records(gone);
      const replayed = gone.find((id) => fates.get(id)?.fate === "replayed");
      if (replayed !== undefined && !again)
        throw this.#error(`the dead letter ${replayed} was replayed. Replay it once more with \`again\``);
      const named = gone.slice(0, MOST_NAMED).join(", ") + (gone.length > MOST_NAMED ? ", …" : "");
      throw this.#error(
        `the values of ${gone.length} of ${ids.length} are not there: ${named}. Each was settled by a route that keeps no values ` +
          "(policy keepValues), or there is no such message",
      );
    }
    for (const one of found) if (one !== undefined) this.#checkQueue(one.queue);
    return ids.map((id) => ({ type: "message", id }));
  }

  async #route(route: string, partial: boolean, again: boolean): Promise<ReplayPart[]> {
    const queue = this.#queueOf(route);
    const parts: ReplayPart[] = [{ type: "kept", queue }, ...lettersIn(queue, again)];
    // An execution that goes on works on the messages in its queues itself.
    if (this.#execution.ended !== null) parts.push({ type: "left", queue });
    if (partial) return parts;
    let settled = 0;
    for await (const { id, entry } of this.#rows.settled()) {
      const { route: by, status } = decodeEntry(id, entry);
      if (by === route && status !== "dead") settled++;
    }
    const gone = settled - (await this.count({ type: "kept", queue }));
    if (gone > 0)
      throw this.#error(
        `the route ${route} has settled ${gone} messages whose values are gone, because it kept none (policy keepValues). ` +
          "Replay what there is with `partial`, or its dead letters with `dead`",
      );
    return parts;
  }

  async count(part: ReplayPart): Promise<number> {
    const { number } = this.#execution;
    switch (part.type) {
      case "message":
        return 1;
      case "kept":
        return this.#store.count(keptValues, { prefix: [number, part.queue] });
      case "dead":
        return this.#store.count(deadLetters, { prefix: [number, part.queue] });
      case "replayed":
        return this.#store.count(deadRecords, { index: "fate", prefix: [number, part.queue, "replayed"] });
      case "left":
        return this.#store.count(messages, { prefix: [number, part.queue] });
      default:
        return part satisfies never;
    }
  }

  nothing(request: ReplayRequest): string {
    const of =
      request.type !== "messages" && request.route !== undefined ? ` of the route ${request.route}` : "";
    if (request.type !== "dead") return `it has no messages${of}`;
    const { replayed } = this.#execution;
    const before =
      (replayed ?? 0) > 0 && !request.again ? "; pass `again` to repeat those that were replayed before" : "";
    return `it has no dead letters${of}${before}`;
  }

  #queueOf(route: string): string {
    const { routes, pipeline } = this.#target;
    const found = routes.find(({ name }) => name === route);
    if (found !== undefined) return found.queue;
    throw this.#error(
      `the pipeline ${pipeline} has no route ${route}; it has ${routes.map(({ name }) => name).join(", ")}`,
    );
  }

  #checkQueue(queue: string): void {
    const { routes, pipeline } = this.#target;
    if (routes.some((one) => one.queue === queue)) return;
    throw this.#error(
      `they were in the queue ${queue}, and no route of the pipeline ${pipeline} takes from it now`,
    );
  }

  #error(why: string): ReplayError {
    return new ReplayError(this.#execution.id, why);
  }
}

/** The dead letters of a queue, and with `again` the replayed ones. The replayed ones come first, so that no letter is in both parts. */
function lettersIn(queue: string, again: boolean): ReplayPart[] {
  return [...(again ? [{ type: "replayed", queue } as const] : []), { type: "dead", queue }];
}

/** The beginning of a replay. */
export interface BeginReplay {
  /** The id of the new execution. */
  readonly id: string;
  readonly target: ReplayTarget;
  readonly request: ReplayRequest;
  /** The trace in which it is started. */
  readonly trace?: string | undefined;
}

/**
 * Creates the execution of a replay, or finds the one with this id. It has no messages until it is filled: see fill-replay.ts.
 *
 * @throws ReplayError
 */
export async function startReplay(
  store: Store,
  claim: Claim,
  execution: ExecutionRow,
  { id, target, request, trace }: BeginReplay,
): Promise<ExecutionRow> {
  const there = await findExecution(store, id);
  if (there !== undefined) return replayOf(execution, there);
  const place = await planReplay(store, execution, target, request);
  const { row } = await createExecution(store, claim, {
    id,
    pipeline: target.pipeline,
    version: target.version,
    config: target.config,
    input: null,
    sources: [],
    messages: [],
    trace,
    replay: { of: place.of, place: JSON.stringify(place) },
  });
  return replayOf(execution, row);
}

function replayOf({ id, number }: ExecutionRow, row: ExecutionRow): ExecutionRow {
  if (row.replays === number) return row;
  throw new ReplayError(
    id,
    `the id ${JSON.stringify(row.id)} belongs to an execution that does not replay it`,
  );
}
