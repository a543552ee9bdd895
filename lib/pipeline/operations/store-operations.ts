// The operations over a store: they read and write the tables of pipelines, and hosts learn of it by the topics that they watch. So they
// work beside any host, on another machine, and without a host.

import type { EvidenceView } from "../../host/index.js";
import type { Payloads } from "../../host/payload/payloads.js";
import { CallTimeoutError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, text } from "../../process/options.js";
import { orAborted } from "../../process/or-aborted.js";
import { processName } from "../../process/process-name.js";
import type { Store } from "../../store/index.js";
import { readPage } from "../../store/row-pages.js";
import { watchTopics } from "../../store/topic-wait.js";
import { maxMessageBytesIn, routesByQueue } from "../definition/configuration.js";
import { ancestorsOf, checkMessageId, type MessageId } from "../definition/message-id.js";
import { endExecution, findExecution, setPaused } from "../ledger/executions.js";
import { LetterShelf } from "../ledger/letter-shelf.js";
import { decodeEntry } from "../ledger/lineage.js";
import { MessageRows, MOST_DELAYED } from "../ledger/message-rows.js";
import { bodyWithin, messageBody } from "../ledger/message-size.js";
import {
  type DeadLetterRow,
  deadLetters,
  type ExecutionRow,
  executions,
  executionTopic,
  messages,
  READY,
  sources,
} from "../ledger/tables.js";
import {
  type Chosen,
  checkChosen,
  checkDeed,
  checkDrop,
  type DeedOptions,
  type DeedResult,
  type DropOptions,
} from "../messages/dead-options.js";
import { shownRecord } from "../messages/dead-records.js";
import { type Act, settleLetters } from "../messages/shelf.js";
import { type ReplayTarget, startReplay } from "./begin-replay.js";
import {
  checkGiveUp,
  checkMove,
  type GivenUp,
  type GiveUpOptions,
  type Moved,
  type MoveOptions,
} from "./change-options.js";
import {
  ExecutionNotFoundError,
  ExecutionOutcomeUnknownError,
  ExecutionOverError,
  ExecutionWaitTimeoutError,
  ReplayError,
  UnknownPipelineError,
} from "./errors.js";
import { cursorOf, queryOf } from "./execution-query.js";
import type { ExecutionFigures } from "./figures.js";
import { fillReplay } from "./fill-replay.js";
import { giveUp } from "./give-up.js";
import { readCounts, readDelayed, readRoutes, withExecutions } from "./looks.js";
import { deadMessageOf, hasFailed, recordOf, settledRecord, summaryOf } from "./message-view.js";
import { move } from "./move.js";
import {
  allPages,
  type DeadChoice,
  type DeadFilter,
  type DeadMessage,
  type DeadMessageRecord,
  type DeadRecordFilter,
  type DelayedMessage,
  type DelayedOptions,
  type ExecutionCounts,
  type ExecutionDetails,
  type ExecutionListOptions,
  type ExecutionPage,
  type ExecutionSummary,
  type InspectOptions,
  type Lineage,
  type MessageFilter,
  type MessageRange,
  type MessageRecord,
  type OutcomeOptions,
  type PipelineOperations,
  type QueueDepth,
  type ReplayStarted,
} from "./operations.js";
import { checkReplay, type ReplayOptions, type ReplayRequest } from "./replay-options.js";
import type { RouteGraph } from "./route-graph.js";
import { checkWait, type OperationWaitOptions, WAIT } from "./waits.js";

/** The surroundings of the operations. */
export interface OperationsPort {
  readonly store: Store;
  readonly payloads: Pick<Payloads, "load" | "store">;
  /** Calls `fn` after so many milliseconds; returns the call that cancels it. */
  after(ms: number, fn: () => void): () => void;
  /** What the evidence of hosts says. Absent: it is not known here. */
  evidence?(): readonly EvidenceView[];
  /** Absent where the pipelines are not known. */
  readonly replays?: {
    /** An id that no other execution has. */
    id(): string;
    /** A pipeline as it is now, or the one that an execution of a version runs by. @throws UnknownPipelineError */
    target(pipeline: string, version?: number): Promise<ReplayTarget>;
  };
}

/** Prefix of the claims that begin a replay without a host. */
const REPLAY_CLAIMS = "pipelines/replay/";

/** Messages that are looked up at a time. */
const AT_ONCE = 100;
/** Children that a lineage shows. */
const FEW_CHILDREN = 100;
/** Most messages whose heartbeats are shown. */
const MOST_HEARTBEATS = 100;
/** Sources of an execution that are read. */
const MOST_SOURCES = 10_000;

export class StoreOperations implements PipelineOperations {
  readonly #port: OperationsPort;
  readonly #store: Store;

  constructor(port: OperationsPort) {
    this.#port = port;
    this.#store = port.store;
  }

  // ── executions ───────────────────────────────────────────────────────────────────────────────────────────────

  async list(options: ExecutionListOptions = {}): Promise<ExecutionPage> {
    const { rows, next } = await readPage(this.#store, executions, queryOf(options));
    const found = await this.#summaries(rows);
    return { executions: found, ...(next !== undefined && { next: cursorOf(next) }) };
  }

  async *executions(options: ExecutionListOptions = {}): AsyncGenerator<ExecutionSummary, void, undefined> {
    queryOf(options);
    yield* allPages(this, options);
  }

  async status(id: string): Promise<ExecutionSummary> {
    const [summary] = await this.#summaries([await this.#row(id)]);
    return summary as ExecutionSummary;
  }

  async #summaries(rows: readonly ExecutionRow[]): Promise<ExecutionSummary[]> {
    const numbers = [...new Set(rows.flatMap(({ replays }) => replays ?? []))];
    const found = await this.#store.get(
      executions,
      numbers.map((one) => [one]),
    );
    const ids = new Map(found.flatMap((row) => (row === undefined ? [] : [[row.number, row.id] as const])));
    return rows.map((row) => {
      const replays = row.replays === null ? undefined : ids.get(row.replays);
      return { ...summaryOf(row), ...(replays !== undefined && { replays }) };
    });
  }

  async inspect(id: string, options: InspectOptions = {}): Promise<ExecutionDetails> {
    only("", options, ["atMost"]);
    const { atMost } = options;
    const bound = atMost === undefined ? {} : { atMost: count("atMost", atMost, 1) };
    const row = await this.#row(id);
    const { number: scope } = row;
    const alive = { index: "alive", prefix: [scope], limit: MOST_HEARTBEATS };
    const [[summary], configuration, places, beating] = await Promise.all([
      this.#summaries([row]),
      this.#shown(row.config),
      this.#store.scan(sources, { prefix: [scope], limit: MOST_SOURCES }),
      this.#store.scan(messages, alive),
    ]);
    const heartbeats = await Promise.all(
      beating.map(async ({ id: message, queue, heartbeats: beats }) => ({
        message,
        queue,
        heartbeats: await this.#shown(beats),
      })),
    );
    return {
      ...(summary as ExecutionSummary),
      configuration,
      input: await this.#shown(row.input),
      ...(row.error !== null && { error: await this.#shown(row.error) }),
      queues: await this.#depths(scope, routesByQueue(configuration), bound),
      sources: places.map(({ name, given, open, dropped }) => ({
        name,
        given,
        open: open === 1,
        ...(dropped !== null && { dropped }),
      })),
      ...(heartbeats.length > 0 && { heartbeats }),
    };
  }

  async #depths(
    scope: number,
    routes: ReadonlyMap<string, string>,
    bound: InspectOptions,
  ): Promise<QueueDepth[]> {
    const held = await new MessageRows(this.#store, scope).queues();
    const names = [...new Set([...routes.keys(), ...held.live, ...held.dead])].sort();
    return Promise.all(
      names.map(async (queue) => {
        const prefix = [scope, queue];
        const [ready, delayed, dead] = await Promise.all([
          this.#store.count(messages, { prefix: [...prefix, READY], ...bound }),
          this.#store.count(messages, { prefix, from: READY + 1, ...bound }),
          this.#store.count(deadLetters, { prefix, ...bound }),
        ]);
        const route = routes.get(queue);
        return { queue, ...(route !== undefined && { route }), ready, delayed, dead };
      }),
    );
  }

  routes(id: string): Promise<RouteGraph> {
    return this.routesWith(id, async () => undefined);
  }

  /** The graph with what a host knows. @internal */
  async routesWith(
    id: string,
    here: () => Promise<{ readonly figures: ExecutionFigures | undefined } | undefined>,
  ): Promise<RouteGraph> {
    const row = await this.#row(id);
    const known = await here();
    return readRoutes(this.#store, row, await this.#shown(row.config), known?.figures);
  }

  async evidence(): Promise<readonly EvidenceView[]> {
    return withExecutions(this.#store, this.#port.evidence?.() ?? []);
  }

  counts(): Promise<ExecutionCounts> {
    return readCounts(this.#store);
  }

  async delayed(id: string, options: DelayedOptions = {}): Promise<readonly DelayedMessage[]> {
    const row = await this.#row(id);
    return readDelayed(this.#store, row.number, await this.#shown(row.config), options);
  }

  // ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────

  async lineage(id: string, message: MessageId): Promise<Lineage> {
    checkMessageId("message", message);
    const rows = await this.#rowsOf(id);
    const ancestors = ancestorsOf(message);
    const found = await recordsOf(rows, [...ancestors, message]);
    const few: MessageId[] = [];
    for await (const child of rows.childrenOf(message)) if (few.push(child) === FEW_CHILDREN) break;
    return {
      message: found.at(-1) as MessageRecord,
      chain: found.slice(0, -1),
      children: await recordsOf(rows, few),
    };
  }

  async *children(
    id: string,
    message: MessageId,
    range: MessageRange = {},
  ): AsyncGenerator<MessageRecord, void, undefined> {
    checkMessageId("message", message);
    const { after, limit } = checkRange(range, ["after", "limit"]);
    const rows = await this.#rowsOf(id);
    let some: MessageId[] = [];
    let left = limit;
    for await (const child of rows.childrenOf(message, after)) {
      some.push(child);
      if (--left > 0 && some.length < AT_ONCE) continue;
      yield* await recordsOf(rows, some);
      some = [];
      if (left === 0) return;
    }
    yield* await recordsOf(rows, some);
  }

  async *batch(
    id: string,
    message: MessageId,
    range: MessageRange = {},
  ): AsyncGenerator<MessageRecord, void, undefined> {
    checkMessageId("message", message);
    const { after, limit } = checkRange(range, ["after", "limit"]);
    const rows = await this.#rowsOf(id);
    const [own] = await recordsOf(rows, [message]);
    const { batch } = own as MessageRecord;
    let left = limit;
    if (batch === undefined) return;
    for await (const row of rows.settled({ behind: after })) {
      if (decodeEntry(row.id, row.entry).batch !== batch) continue;
      yield settledRecord(row, undefined);
      if (--left === 0) return;
    }
  }

  messages(id: string, filter: MessageFilter = {}): AsyncGenerator<MessageRecord, void, undefined> {
    return this.#settled(id, filter);
  }

  failures(id: string, filter: MessageFilter = {}): AsyncGenerator<MessageRecord, void, undefined> {
    return this.#settled(id, filter, hasFailed);
  }

  async *#settled(
    id: string,
    filter: MessageFilter,
    isWanted?: (entry: ReturnType<typeof decodeEntry>) => boolean,
  ): AsyncGenerator<MessageRecord, void, undefined> {
    const { after, limit } = checkRange(filter, ["after", "limit", "route"]);
    const { route } = filter;
    const rows = await this.#rowsOf(id);
    let left = limit;
    const isAll = route === undefined && isWanted === undefined;
    for await (const row of rows.settled({ behind: after, ...(isAll && { most: limit }) })) {
      const entry = decodeEntry(row.id, row.entry);
      if ((route !== undefined && entry.route !== route) || isWanted?.(entry) === false) continue;
      // The errors of a dead letter are in its own row.
      if (entry.status === "dead") yield* await recordsOf(rows, [row.id]);
      else yield settledRecord(row, undefined);
      if (--left === 0) return;
    }
  }

  async *deadLetters(id: string, filter: DeadFilter = {}): AsyncGenerator<DeadMessage, void, undefined> {
    only("", filter, ["route", "behind", "limit"]);
    const { route, behind, limit = Number.POSITIVE_INFINITY } = filter;
    let left = count("limit", limit, 1, true);
    if (route !== undefined) text("route", route);
    if (behind !== undefined) checkPlace(behind);
    const row = await this.#row(id);
    const rows = new MessageRows(this.#store, row.number);
    const routes = routesByQueue(await this.#shown(row.config));
    const isMeant = (queue: string): boolean => route === undefined || routes.get(queue) === route;
    for await (const dead of rows.letters({ behind, most: left }, isMeant)) {
      yield await this.#deadMessage(rows, dead);
      if (--left === 0) return;
    }
  }

  async #deadMessage(rows: MessageRows, row: DeadLetterRow): Promise<DeadMessage> {
    const [value, settled] = await Promise.all([this.#shown(row.body), rows.settledRow(row.id)]);
    return deadMessageOf(row, settled, value);
  }

  async *deadRecords(
    id: string,
    filter: DeadRecordFilter = {},
  ): AsyncGenerator<DeadMessageRecord, void, undefined> {
    only("", filter, ["message", "behind", "limit"]);
    const { message, behind, limit = Number.POSITIVE_INFINITY } = filter;
    if (message !== undefined) checkMessageId("message", message);
    if (behind !== undefined) {
      checkPlace(behind, ["turn"]);
      count("behind.turn", behind.turn, 0);
    }
    let left = count("limit", limit, 1, true);
    const rows = await this.#rowsOf(id);
    const targets = new Map<number, string | undefined>();
    for await (const row of rows.allRecords(message, { behind, most: left })) {
      const { target } = row;
      if (target !== null && !targets.has(target)) targets.set(target, await this.#idOf(target));
      const into = target === null ? undefined : targets.get(target);
      const shown = shownRecord(row, await this.#shown(row.body), JSON.parse(row.history) as string[]);
      yield { ...shown, ...(into !== undefined && { into }) };
      if (--left === 0) return;
    }
  }

  async #idOf(number: number): Promise<string | undefined> {
    const [row] = await this.#store.get(executions, [[number]]);
    return row?.id;
  }

  // ── dead letters ─────────────────────────────────────────────────────────────────────────────────────────────

  async retryDead(
    id: string,
    which: MessageId | readonly MessageId[] | DeadChoice,
    options: DeedOptions = {},
  ): Promise<DeedResult> {
    const deed = checkDeed(options);
    return this.#settle(id, which, { event: { type: "retry" }, deed });
  }

  async editDead(id: string, message: MessageId, value: unknown, options: DeedOptions = {}): Promise<void> {
    const deed = checkDeed(options);
    checkMessageId("message", message);
    const row = await this.#row(id);
    const [letter] = await new LetterShelf(this.#shelfOf(row)).find([message]);
    const encoded = await messageBody(this.#port.payloads, value);
    const most = maxMessageBytesIn(await this.#shown(row.config));
    const body = bodyWithin(most, encoded, letter?.queue ?? "");
    await this.#settle(id, message, { event: { type: "edit" }, deed, body });
  }

  async dropDead(
    id: string,
    which: MessageId | readonly MessageId[] | DeadChoice,
    options: DropOptions,
  ): Promise<DeedResult> {
    const deed = checkDrop(options);
    return this.#settle(id, which, { event: { type: "drop" }, deed });
  }

  async #settle(
    id: string,
    which: MessageId | readonly MessageId[] | DeadChoice,
    act: Act,
  ): Promise<DeedResult> {
    const chosen: Chosen = checkChosen(which, checkMessageId, ["route"]);
    const { route } = typeof which === "string" || Array.isArray(which) ? {} : (which as DeadChoice);
    if (route !== undefined) text("which.route", route);
    const row = await this.#row(id);
    const routes = route === undefined ? undefined : routesByQueue(await this.#shown(row.config));
    const isMeant = (queue: string): boolean => routes === undefined || routes.get(queue) === route;
    return settleLetters(new LetterShelf({ ...this.#shelfOf(row), isMeant }), chosen, act);
  }

  #shelfOf(execution: ExecutionRow): ConstructorParameters<typeof LetterShelf>[0] {
    const over = (status: string): Error => new ExecutionOverError(execution.id, status);
    return { store: this.#store, execution, over };
  }

  async #rowsOf(id: string): Promise<MessageRows> {
    const { number } = await this.#row(id);
    return new MessageRows(this.#store, number);
  }

  // ── the course of executions ─────────────────────────────────────────────────────────────────────────────────

  async outcome(id: string, options: OutcomeOptions = {}): Promise<ExecutionSummary> {
    only("", options, WAIT);
    const { timeoutMs, signal } = checkWait(options);
    const { number } = await this.#row(id);
    // Waits before it looks: the end may come while the row is read.
    const wait = watchTopics(this.#store, [executionTopic(number)], timeoutMs, signal, this.#port.after);
    try {
      for (;;) {
        const summary = await this.status(id);
        if (summary.ended !== undefined) return summary;
        if ((await wait.next()) === "timeout") throw new ExecutionWaitTimeoutError(id, timeoutMs);
      }
    } finally {
      wait.end();
    }
  }

  async pause(id: string): Promise<boolean> {
    return setPaused(this.#store, (await this.#row(id)).number, true);
  }

  async resume(id: string): Promise<boolean> {
    return setPaused(this.#store, (await this.#row(id)).number, false);
  }

  async cancel(id: string): Promise<boolean> {
    return endExecution(this.#store, (await this.#row(id)).number, "cancelled", null);
  }

  async giveUp(id: string, options: GiveUpOptions): Promise<GivenUp> {
    const request = checkGiveUp(options);
    return this.#inTime("giveUp", id, options, async () => {
      const row = await this.#row(id);
      return giveUp(this.#store, row, routesByQueue(await this.#shown(row.config)), request);
    });
  }

  async move(id: string, options: MoveOptions): Promise<Moved> {
    const request = checkMove(options);
    return this.#inTime("move", id, options, async () => {
      const row = await this.#row(id);
      const { replays } = this.#port;
      if (replays === undefined) throw new UnknownPipelineError(row.pipeline, []);
      return move(this.#store, row, await replays.target(row.pipeline, row.version ?? 1), request);
    });
  }

  async replay(id: string, options: ReplayOptions): Promise<ReplayStarted> {
    const request = checkReplay(options);
    // Without pipelines nothing is replayed, and there is no other id.
    const to = options.id ?? this.#port.replays?.id() ?? id;
    return this.#inTime("replay", to, options, () => this.#replay(id, to, request));
  }

  async #replay(id: string, to: string, request: ReplayRequest): Promise<ReplayStarted> {
    const row = await this.#row(id);
    const { replays } = this.#port;
    if (replays === undefined) throw new UnknownPipelineError(row.pipeline, []);
    const target = await replays.target(row.pipeline);
    const claim = await this.#store.claim(REPLAY_CLAIMS + to, { owner: processName() });
    if (claim === undefined)
      throw new ReplayError(id, `another program begins the replay ${to} at this moment`);
    try {
      const begin = { id: to, target, request, trace: row.trace ?? undefined };
      const begun = await startReplay(this.#store, claim, row, begin);
      await fillReplay(this.#store, claim, begun.number);
      const [filled] = await this.#store.get(executions, [[begun.number]]);
      return { id: to, messages: filled?.inputs ?? 0 };
    } finally {
      await claim.release();
    }
  }

  /**
   * Does work for a caller that waits no longer than it says. The work goes on when the wait has ended.
   *
   * @param of - the execution that the work is for
   * @throws ExecutionOutcomeUnknownError after the time, the reason of the signal, OptionError
   */
  async #inTime<T>(
    operation: string,
    of: string,
    options: OperationWaitOptions,
    work: () => Promise<T>,
  ): Promise<T> {
    const { timeoutMs, signal } = checkWait(options);
    const time = new AbortController();
    const end = (): void => {
      const cause = new CallTimeoutError("the store", timeoutMs, "kept");
      time.abort(new ExecutionOutcomeUnknownError(operation, of, cause));
    };
    const cancel = Number.isFinite(timeoutMs) ? this.#port.after(timeoutMs, end) : undefined;
    try {
      const inTime = orAborted(work(), time.signal);
      return await (signal === undefined ? inTime : orAborted(inTime, signal));
    } finally {
      cancel?.();
    }
  }

  // ── helpers ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** @throws ExecutionNotFoundError, OptionError */
  async #row(id: string): Promise<ExecutionRow> {
    const row = await findExecution(this.#store, text("id", id));
    if (row === undefined) throw new ExecutionNotFoundError(id);
    return row;
  }

  /** A value for people. If it cannot be read, the error of reading it. */
  async #shown(stored: string | Uint8Array | null): Promise<unknown> {
    if (stored === null) return undefined;
    try {
      return await this.#port.payloads.load(stored);
    } catch (error) {
      return error;
    }
  }
}

async function recordsOf(rows: MessageRows, ids: readonly MessageId[]): Promise<MessageRecord[]> {
  const found = await rows.of(ids, MOST_DELAYED);
  return found.map((of, i) => recordOf(ids[i] as MessageId, of));
}

function checkRange(
  range: MessageFilter,
  known: readonly string[],
): { readonly after: MessageId | undefined; readonly limit: number } {
  only("", range, known);
  const { after, limit = Number.POSITIVE_INFINITY, route } = range;
  if (after !== undefined) checkMessageId("after", after);
  if (route !== undefined) text("route", route);
  return { after, limit: count("limit", limit, 1, true) };
}

/** @throws OptionError */
function checkPlace(behind: NonNullable<DeadFilter["behind"]>, more: readonly string[] = []): void {
  only("behind", behind, ["queue", "id", ...more]);
  text("behind.queue", behind.queue);
  checkMessageId("behind.id", behind.id);
}
