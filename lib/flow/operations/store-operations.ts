// The operations over a store: they read and write the tables of flows, and the hosts learn of it by the topics that they watch. So
// they work beside any host, on another machine, and without a host.

import type { EvidenceView } from "../../host/index.js";
import type { ValueCodec } from "../../host/payload/values.js";
import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { count, delay, text } from "../../process/options.js";
import type { AnyRow, Store, Write } from "../../store/index.js";
import { readPage } from "../../store/row-pages.js";
import { watchTopics } from "../../store/topic-wait.js";
import { wholeClock } from "../../store/whole-clock.js";
import { HOSPITAL_DEFAULTS } from "../hospital/defaults.js";
import type { HospitalConfig } from "../hospital/hospital-machine.js";
import { dischargeSet, standsStill } from "../hospital/patients.js";
import type { Symptom } from "../hospital/symptom.js";
import { BlobWriter, release, resolved } from "../journal/blobs.js";
import { decided, rowGets, rowIs } from "../journal/changes.js";
import { decodeEntry, type Entry, type Stored } from "../journal/entry.js";
import {
  asFound,
  END_TOPIC,
  type FlowRow,
  flows,
  isEnded,
  journal,
  MAIL_TOPIC,
  mail,
  READY_TOPIC,
  REQUEST_TOPIC,
} from "../journal/tables.js";
import { type QueueInfo, readQueues } from "../queues/info.js";
import { type QueueKeys, readKeys } from "../queues/key-counts.js";
import { bareEnd, mailWrites, noteOf } from "../runtime/checkpoint.js";
import { FlowInHospitalError, FlowWaitTimeoutError } from "../runtime/errors.js";
import {
  type EventPages,
  eventPage,
  eventsOf,
  type FlowEvent,
  type FlowEventOptions,
} from "../runtime/event-page.js";
import { rowOf } from "../runtime/reading.js";
import { listSchedules, setSchedule } from "../schedules/pause.js";
import type { ScheduleInfo } from "../schedules/schedules.js";
import { FlowStateError } from "./errors.js";
import { checkList, cursorAt, isPast, LIST_LIMITS, matches, scansOf } from "./flow-query.js";
import { eventOf, messageOf, PendingAsks, readMetrics, summaryOf } from "./flow-view.js";
import { forkFlow } from "./fork.js";
import { LOOK_LIMITS, readCounts, readTimeline } from "./looks.js";
import type {
  FlowCounts,
  FlowDetails,
  FlowForkOptions,
  FlowListOptions,
  FlowMetrics,
  FlowOperations,
  FlowOutcome,
  FlowPage,
  FlowPruneOptions,
  FlowRetryOptions,
  FlowSendOptions,
  FlowStartOptions,
  FlowStatus,
  FlowSummary,
  FlowTimeline,
  FlowTimelineOptions,
  HistoryEvent,
  HistoryOptions,
  QueueCountOptions,
  QueueKeyOptions,
  ResultOptions,
  ScheduleListOptions,
} from "./operations.js";
import { checkPrune, type Removals } from "./removals.js";
import { cutAtFailure, cutAtSymptom, cutBefore, type EntryHead } from "./rewind.js";
import type { HeldAsk } from "./timeline.js";

/** The surroundings of the operations. */
export interface OperationsPort {
  readonly store: Store;
  readonly payloads: ValueCodec;
  readonly removals: Removals;
  /** An id that no other flow or message has. */
  id(): string;
  /** Calls `fn` after so many milliseconds; returns the call that cancels it. */
  after(ms: number, fn: () => void): () => void;
  /** Starts a flow. Absent where there is no host that has definitions. */
  start?(name: string, input: unknown, id: string): Promise<string>;
  /** What the code of a flow waits for, by the number of the flow, if a host has it in memory. Absent where there is no host. */
  held?(number: number): readonly HeldAsk[];
  /** What the evidence of hosts says. Absent: it is not known here. */
  evidence?(): readonly EvidenceView[];
}

/** Rows that are read from the store at a time. */
const PAGE = 1_000;
/** A discharge by hand changes a record in the same way for any staff, and for any limits that keep the record. */
const HOSPITAL: HospitalConfig = { ...HOSPITAL_DEFAULTS, staff: [], atStart: "keep" };
/** Leaves large values in their rows. */
const INLINE = new BlobWriter(0, Number.POSITIVE_INFINITY);
const MOST_MAIL = 100;
const MOST_CHILDREN = 100;

export class StoreOperations implements FlowOperations {
  readonly #port: OperationsPort;
  readonly #store: Store;

  constructor(port: OperationsPort) {
    this.#port = port;
    this.#store = port.store;
  }

  // ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────

  async list(options: FlowListOptions = {}): Promise<FlowPage> {
    const query = checkList(options);
    const { parent } = query.filter;
    const number = parent === undefined ? undefined : (await this.#row(parent)).number;
    const sign = query.reverse ? -1 : 1;
    const { rows, next } = await readPage(this.#store, flows, {
      limit: query.limit,
      examined: LIST_LIMITS.examined,
      after: query.after,
      scans: (after) => scansOf(query, after, number),
      compare: (one, other) => sign * (one.number - other.number),
      matches: (row) => matches(query, row, number),
      isPast: (row) => isPast(query, row),
      placeOf: (row) => (query.filter.idPrefix === undefined ? row.number : row.id),
    });
    const page = await this.#summaries(rows);
    return { flows: page, ...(next !== undefined && { next: cursorAt(query, next) }) };
  }

  async #summaries(rows: readonly FlowRow[]): Promise<FlowSummary[]> {
    const numbers = [...new Set(rows.flatMap(({ parent }) => parent ?? []))];
    const parents =
      numbers.length === 0
        ? []
        : await this.#store.get(
            flows,
            numbers.map((one) => [one]),
          );
    const ids = new Map(parents.flatMap((row) => (row === undefined ? [] : [[row.number, row.id] as const])));
    return rows.map((row) => summaryOf(row, row.parent === null ? undefined : ids.get(row.parent)));
  }

  async inspect(id: string): Promise<FlowDetails> {
    const row = await this.#row(id);
    const pending = new PendingAsks();
    let entries = 0;
    for await (const { entry } of this.#entries(row, -1)) {
      entries++;
      if (entry instanceof Error) continue;
      pending.add(entry);
    }
    const [[summary], messages, children] = await Promise.all([
      this.#summaries([row]),
      this.#store.scan(mail, { index: "unread", prefix: [row.number], limit: MOST_MAIL }),
      this.#store.scan(flows, { index: "parent", prefix: [row.number], limit: MOST_CHILDREN }),
    ]);
    return {
      ...(summary as FlowSummary),
      input: await this.#shown(row.input),
      ...(row.status === "completed" && { result: await this.#shown(row.outcome) }),
      ...(row.status === "failed" && { error: await this.#shown(row.outcome) }),
      ...(row.progress !== null && { progress: await this.#shown(row.progress) }),
      ...(row.heartbeats !== null && !isEnded(row) && { heartbeats: await this.#shown(row.heartbeats) }),
      generation: row.generation,
      ...(row.holder !== null && { holder: row.holder }),
      entries,
      pending: isEnded(row) ? [] : pending.all,
      mail: messages.map(messageOf),
      children: await this.#summaries(children),
      ...(row.hospital !== null && { hospital: parsed(row.hospital) }),
    };
  }

  async *history(id: string, options: HistoryOptions = {}): AsyncGenerator<HistoryEvent, void, undefined> {
    only("", options, ["after", "limit"]);
    const { after = -1, limit = Number.POSITIVE_INFINITY } = options;
    count("after", after, -1);
    let left = count("limit", limit, 1, true);
    const row = await this.#row(id);
    for await (const { seq, entry } of this.#entries(row, after)) {
      if (entry instanceof Error) yield { seq, at: 0, type: "unreadable", value: entry, asks: [] };
      else yield eventOf(seq, entry, entry.value === null ? undefined : await this.#shown(entry.value));
      if (--left === 0) return;
    }
  }

  async timeline(id: string, options: FlowTimelineOptions = {}): Promise<FlowTimeline> {
    const row = await this.#row(id);
    const { store, held } = this.#port;
    const port = {
      store,
      shown: (stored: Stored) => this.#shown(stored),
      summaries: (rows: readonly FlowRow[]) => this.#summaries(rows),
      held: ({ number }: FlowRow) => held?.(number) ?? [],
    };
    return readTimeline(port, row, options);
  }

  async evidence(): Promise<readonly EvidenceView[]> {
    return this.#port.evidence?.() ?? [];
  }

  counts(): Promise<FlowCounts> {
    return readCounts(this.#store);
  }

  /** The entries of a flow behind a number, read page by page. One that cannot be read is an Error. */
  async *#entries(
    { number }: FlowRow,
    after: number,
  ): AsyncGenerator<{ seq: number; position: number; entry: Entry | Error }, void, undefined> {
    for (let last = after; ; ) {
      const bounds = last < 0 ? {} : { after: last };
      const rows = await this.#store.scan(journal, {
        index: "flow",
        prefix: [number],
        ...bounds,
        limit: PAGE,
      });
      for (const { seq, position, head, value } of rows) {
        let entry: Entry | Error;
        try {
          entry = decodeEntry(head, value);
        } catch (error) {
          entry = new Error(`the journal's entry ${seq} cannot be read: ${(error as Error).message}`);
        }
        yield { seq, position, entry };
        last = seq;
      }
      if (rows.length < PAGE) return;
    }
  }

  /** A value for people. For one that cannot be read: the error that says so. */
  async #shown(stored: Stored): Promise<unknown> {
    try {
      return await this.#decoded(stored);
    } catch (error) {
      return error;
    }
  }

  async #decoded(stored: Stored): Promise<unknown> {
    const [whole] = await resolved(this.#store, [stored]);
    return this.#port.payloads.decode(whole as Stored);
  }

  events(id: string, options: FlowEventOptions = {}): AsyncGenerator<FlowEvent, void, undefined> {
    const pages: EventPages = (after, waitMs, signal) => {
      const wait = waitMs === undefined ? undefined : { timeoutMs: waitMs, signal, after: this.#port.after };
      return eventPage(this.#store, id, after, wait);
    };
    return eventsOf(id, options, pages, (value) => this.#shown(value));
  }

  async outcome(id: string, options: ResultOptions = {}): Promise<FlowOutcome> {
    only("", options, ["timeoutMs", "signal"]);
    const timeoutMs = delay("timeoutMs", options.timeoutMs ?? Number.POSITIVE_INFINITY, 0, true);
    const { signal } = options;
    signal?.throwIfAborted();
    // Waits before it looks: the end may come while the row is read.
    const wait = watchTopics(this.#store, [END_TOPIC + id], timeoutMs, signal, this.#port.after);
    try {
      for (;;) {
        const row = await this.#row(id);
        if (isEnded(row)) return await this.#outcomeOf(row);
        const symptom = standsStill(row);
        if (symptom !== undefined) throw new FlowInHospitalError(id, symptom);
        if ((await wait.next()) === "timeout") throw new FlowWaitTimeoutError(id, timeoutMs);
      }
    } finally {
      wait.end();
    }
  }

  async #outcomeOf(row: FlowRow): Promise<FlowOutcome> {
    const value = await this.#decoded(row.outcome);
    if (row.status === "completed") return { status: "completed", result: value };
    return { status: row.status as "failed" | "cancelled" | "killed", error: value };
  }

  metrics(): Promise<FlowMetrics> {
    return readMetrics(this.#store);
  }

  async schedules(options: ScheduleListOptions = {}): Promise<readonly ScheduleInfo[]> {
    only("", options, ["after", "limit"]);
    const { after, limit } = options;
    if (after !== undefined) text("after", after);
    return listSchedules(this.#store, limit === undefined ? undefined : count("limit", limit, 1), after);
  }

  async queues(options: QueueCountOptions = {}): Promise<readonly QueueInfo[]> {
    only("", options, ["atMost"]);
    return readQueues(this.#store, boundOf(options));
  }

  async queueKeys(queue: string, options: QueueKeyOptions = {}): Promise<QueueKeys> {
    only("", options, ["atMost", "limit"]);
    const limit = Math.min(count("limit", options.limit ?? LOOK_LIMITS.usualKeys, 1), LOOK_LIMITS.keys);
    return readKeys(this.#store, text("queue", queue), limit, boundOf(options));
  }

  // ── changing ─────────────────────────────────────────────────────────────────────────────────────────────────

  pause(id: string): Promise<void> {
    return this.#decide(id, "pause", (row) => {
      if (row.status === "paused") return undefined;
      if (row.holder !== null) return { set: { wish: "pause", due: 0 }, notify: REQUEST_TOPIC + row.number };
      if (row.status === "hospitalized")
        throw stateError("pause", row, "discharge or cancel it, or leave it there");
      return { set: { status: "paused", due: null, wish: null } };
    });
  }

  resume(id: string): Promise<void> {
    return this.#decide(id, "resume", (row) => {
      if (row.wish === "fork")
        throw stateError("resume", row, "its fork was interrupted; remove it, and fork again");
      if (row.wish === "pause") return { set: { wish: null } };
      if (row.status !== "paused") throw stateError("resume", row, "only paused flows can be resumed");
      return { set: { status: "waiting", due: 0, wish: null }, notify: READY_TOPIC + row.number };
    });
  }

  cancel(id: string): Promise<void> {
    return this.#decide(id, "cancel", (row) => {
      const rests = row.status === "paused" || row.status === "hospitalized";
      const set = { wish: "cancel", due: 0, ...(rests && { status: "waiting" }) };
      return { set, notify: REQUEST_TOPIC + row.number };
    });
  }

  async kill(id: string): Promise<void> {
    const { payloads } = this.#port;
    const value = await payloads.encode(undefined, `the end of flow ${id}`, "result");
    const note = await noteOf(payloads, "killed", value, `the end of flow ${id}`);
    const at = await wholeClock(this.#store);
    return this.#decide(id, "kill", (row) => {
      if (row.holder !== null) return { set: { wish: "kill", due: 0 }, notify: REQUEST_TOPIC + row.number };
      // No host runs it: it ends here, also when no host has its definition.
      const { writes, notify } = bareEnd(row, INLINE, at, { status: "killed", value, note });
      return { set: {}, writes, notify: notify ?? [] };
    });
  }

  async pauseSchedule(name: string): Promise<void> {
    await setSchedule(this.#store, text("name", name), "pause");
  }

  async resumeSchedule(name: string): Promise<void> {
    await setSchedule(this.#store, text("name", name), "resume");
  }

  discharge(id: string): Promise<void> {
    return decided(async () => {
      const row = await this.#row(id);
      if (isEnded(row)) throw stateError("discharge", row, "it has ended");
      if (row.status !== "hospitalized") throw stateError("discharge", row, "it is not in the hospital");
      await this.#store.commit(dischargeSet(HOSPITAL, row, await wholeClock(this.#store)));
    });
  }

  async send(id: string, topic: string, value: unknown, options: FlowSendOptions = {}): Promise<void> {
    text("topic", topic);
    only("", options, ["id"]);
    const { id: messageId = this.#port.id() } = options;
    text("id", messageId);
    const stored = await this.#port.payloads.encode(value, `message "${topic}" to flow ${id}`, "message");
    const at = await wholeClock(this.#store);
    return this.#decide(id, "send to", ({ number }) => ({
      set: {},
      writes: mailWrites(number, `outside/${messageId}`, `message/${topic}`, stored, null, at),
      notify: MAIL_TOPIC + number,
    }));
  }

  async start(name: string, input: unknown, options: FlowStartOptions = {}): Promise<string> {
    text("name", name);
    only("", options, ["id"]);
    const id = text("id", options.id ?? this.#port.id());
    if (this.#port.start === undefined)
      throw new OptionError(
        "name",
        name,
        "started by a host: no host of this store was reached, and only hosts have definitions",
      );
    return this.#port.start(name, input, id);
  }

  async retry(id: string, options: FlowRetryOptions = {}): Promise<void> {
    only("", options, ["from"]);
    if (options.from !== undefined) text("from", options.from);
    await decided(() => this.#rewind(id, options.from));
  }

  async #rewind(id: string, from: string | undefined): Promise<void> {
    const row = await this.#row(id);
    if (row.holder !== null) throw stateError("retry", row, "pause it first");
    if (from === undefined && !RETRIABLE.includes(row.status))
      throw stateError("retry", row, "name the step from which it is done again");
    const heads: EntryHead[] = [];
    const large: (Write | undefined)[] = [];
    const failures: { seq: number; error: unknown }[] = [];
    for await (const { seq, position, entry } of this.#entries(row, -1)) {
      if (entry instanceof Error) throw entry;
      const { asks, decision, value } = entry;
      large.push(release(value));
      heads.push({ position, decision, asked: asks.map(({ key }) => key) });
      if (decision.type === "done" && !decision.ok) failures.push({ seq, error: await this.#shown(value) });
    }
    const cut = from === undefined ? await this.#failedAt(row, heads, failures) : cutBefore(heads, from);
    const writes = heads
      .slice(cut)
      .flatMap(({ position, decision }): Write[] => [
        { type: "delete", table: journal, key: [position] },
        ...(decision.type === "done" && decision.mail !== undefined
          ? [{ type: "update", table: mail, key: [decision.mail], set: { unread: row.number } } as const]
          : []),
      ]);
    for (const write of [...large.slice(cut), release(row.outcome)])
      if (write !== undefined) writes.push(write);
    const set = {
      status: "waiting",
      due: 0,
      wish: null,
      hospital: null,
      outcome: null,
      finished: null,
      crashes: 0,
      taken_at: 0,
    };
    await this.#commit(row, { set, writes, notify: READY_TOPIC + row.number });
  }

  async #failedAt(
    row: FlowRow,
    heads: readonly EntryHead[],
    failures: readonly { seq: number; error: unknown }[],
  ): Promise<number> {
    if (row.status === "cancelled") {
      const at = heads.findLastIndex(({ decision }) => decision.type === "cancelled");
      if (at >= 0) return at;
    }
    if (row.status === "hospitalized") {
      const record = parsed(row.hospital ?? "") as { readonly symptom?: Symptom } | null;
      return cutAtSymptom(failures, record?.symptom) ?? heads.length;
    }
    const outcome = row.status === "failed" ? await this.#shown(row.outcome) : undefined;
    return cutAtFailure(failures, outcome) ?? heads.length;
  }

  async fork(id: string, options: FlowForkOptions = {}): Promise<string> {
    only("", options, ["id", "from", "input", "result"]);
    const row = await this.#row(id);
    const copy = text("id", options.id ?? this.#port.id());
    await forkFlow(this.#port, row, copy, options, this.#entries(row, -1));
    return copy;
  }

  async remove(id: string): Promise<void> {
    const row = await this.#row(id);
    const forked = row.status === "paused" && row.wish === "fork";
    if (!isEnded(row) && !forked)
      throw stateError("remove", row, "only flows that have ended can be removed: kill it first");
    if (isEnded(row) && row.due !== null)
      throw stateError("remove", row, "but a host has not told all others yet: try again when a host runs");
    if (!(await this.#port.removals.remove(row)))
      throw stateError("remove", row, "but its parent is not: remove it with its parent, or after it");
  }

  async prune(options: FlowPruneOptions = {}): Promise<number> {
    const { statuses, name, olderThanMs, keep } = checkPrune(options);
    const before = (await wholeClock(this.#store)) - olderThanMs + 1;
    const most = keep === 0 ? Number.POSITIVE_INFINITY : (await this.#count(statuses, name)) - keep;
    if (most <= 0) return 0;
    return this.#port.removals.removeEnded(
      (row) => statuses.includes(row.status as FlowStatus) && (name === undefined || row.name === name),
      before,
      most,
    );
  }

  async #count(statuses: readonly FlowStatus[], name: string | undefined): Promise<number> {
    const scans = statuses.map((status) =>
      name === undefined ? { index: "status", prefix: [status] } : { index: "name", prefix: [name, status] },
    );
    const counts = await Promise.all(scans.map((scan) => this.#store.count(flows, scan)));
    return counts.reduce((sum, one) => sum + one, 0);
  }

  async backup(path: string): Promise<void> {
    await this.#store.backup(text("path", path));
  }

  // ── helpers ──────────────────────────────────────────────────────────────────────────────────────────────────

  /** The row of a flow. @throws FlowNotFoundError, OptionError */
  async #row(id: string): Promise<FlowRow> {
    return rowOf(this.#store, text("id", id));
  }

  /** Changes a flow that has not ended. */
  async #decide(id: string, operation: string, decide: (row: FlowRow) => Change | undefined): Promise<void> {
    await decided(async () => {
      const row = await this.#row(id);
      if (isEnded(row)) throw stateError(operation, row, "it has ended");
      const change = decide(row);
      if (change !== undefined) await this.#commit(row, change);
    });
  }

  async #commit(row: FlowRow, { set, writes = [], notify = [] }: Change): Promise<void> {
    const expect = [rowIs(row, { ...asFound(row), wish: row.wish })];
    const updated = await wholeClock(this.#store);
    const own = Object.keys(set).length === 0 ? [] : [rowGets(row, { ...set, updated })];
    await this.#store.commit({ expect, writes: [...own, ...writes], notify: [notify].flat() });
  }
}

/** How a row is changed. */
interface Change {
  readonly set: AnyRow;
  readonly writes?: readonly Write[];
  readonly notify?: string | readonly string[];
}

const boundOf = ({ atMost }: QueueCountOptions): number | undefined =>
  atMost === undefined ? undefined : count("atMost", atMost, 1);

const RETRIABLE: readonly string[] = ["failed", "cancelled", "killed", "hospitalized", "paused"];

export function stateError(operation: string, { id, status }: FlowRow, why: string): FlowStateError {
  return new FlowStateError(operation, id, status, why);
}

function parsed(hospital: string): unknown {
  try {
    return JSON.parse(hospital);
  } catch {
    return hospital;
  }
}
