// Queues as users have them: published messages are stored, and each is handled until it is settled once.

import { socketOf } from "../../admin/admin-socket.js";
import type { AdminService } from "../../admin/post.js";
import { offer } from "../../admin/system/offered.js";
import {
  adminLodging,
  checkEvidence,
  type Evidence,
  type EvidenceOption,
  hostEvidence,
  STANDING_SCHEMA,
} from "../../host/index.js";
import { type PayloadOptions, Payloads } from "../../host/payload/payloads.js";
import type { HostSignals } from "../../host/signals.js";
import { checkBackoff } from "../../process/backoff.js";
import type { Duration } from "../../process/duration.js";
import { duration } from "../../process/duration.js";
import { OptionError, StartError } from "../../process/errors.js";
import { waitForExit } from "../../process/exited.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { checked, ms, whole } from "../../process/option-schema.js";
import { count, withMethod } from "../../process/options.js";
import type { Pid } from "../../process/pid.js";
import { SHUTDOWN } from "../../process/reason.js";
import { type Launch, launch, type Startable } from "../../process/start.js";
import type { ProcessSystem } from "../../process/system.js";
import { openStore, type Store, type StoreSource } from "../../store/index.js";
import type { QuarantinePolicy } from "../definition/policy.js";
import { checkName } from "../definition/queue.js";
import type { CarrierSource } from "../messages/carrier.js";
import { Channels } from "../messages/channels.js";
import { QueueClosedError } from "../messages/errors.js";
import { MESSAGE_LIMITS } from "../messages/limits.js";
import { Outbox } from "../messages/outbox.js";
import type { TimedAttempt } from "../messages/timed-attempt.js";
import { DeadLetters } from "./dead-letters.js";
import {
  QUEUE_DEFAULTS,
  QUEUE_LIMITS,
  type QueuePolicy,
  type QueuePolicyOptions,
  type SubscriberPolicy,
} from "./limits.js";
import { type MessageBeats, type QueueHeartbeat, shownBeats } from "./message-beats.js";
import type { QueueOperations } from "./operations.js";
import { queueService } from "./operations-table.js";
import { OutboxProcess, type QueueBroker, queuedRows } from "./outbox.js";
import { carriedQueues } from "./queue-channels.js";
import { hasQueue, type QueueCounts, readCounts } from "./queue-counts.js";
import { QueueSignals } from "./queue-signals.js";
import { type Child, type NewMessage, QueueStore } from "./queue-store.js";
import { SharedEnds } from "./shared-ends.js";
import type { Status } from "./status.js";
import { StoreQueueOperations } from "./store-operations.js";
import { StoreTime } from "./store-time.js";
import {
  type Handle,
  type Handled,
  SubscriberProcess,
  type SubscriberSettings,
} from "./subscriber-process.js";
import { QUEUE_SCHEMA, type QueuedRow } from "./tables.js";

/** What {@link openQueues} is given. */
export interface QueuesOptions {
  /** Where the messages are: `sqlite("queues.db")`, `postgres(…)`, `pglite(…)`, or `memory()` for tests. */
  readonly store: StoreSource;
  /**
   * A broker that tells subscribers which messages are ready: `jetstream({ servers })`. The store still holds the messages, and decides.
   * All processes that use these queues need the same one. Default: none, and subscribers ask the store.
   */
  readonly carrier?: CarrierSource;
  /** How values are stored, and how large they may be. */
  readonly payloads?: PayloadOptions;
  /**
   * Where the evidence of what ends the program is kept: the path of a folder, or `false` for none: then no message is ever blamed for a
   * crash. Default: beside the file of a SQLite store, at its path and `.evidence`; for PostgreSQL under the folder for temporary files.
   */
  readonly evidence?: EvidenceOption;
  /**
   * The admin socket, at which `signalbox queues` reaches this program: its path, or `false` for none. Default: beside the file of a SQLite
   * store, at its path and `.sock`; for other stores none.
   */
  readonly socket?: string | boolean;
}

/** Options of a publication. */
export interface PublishOptions {
  /** A message whose id is in the queue, or was settled a while ago, is dropped. Default: a unique id. */
  readonly id?: string;
  /** Any text that handlers get with the message. */
  readonly key?: string;
  /** How long the message waits before it is delivered. */
  readonly delay?: Duration;
}

/** One message of {@link MessageQueue.publishMany}. */
export interface NewQueueMessage<in out T> extends PublishOptions {
  /** What handlers get. */
  readonly value: T;
}

/** What became of a published message. */
export interface Published {
  /** The id of the message. */
  readonly id: string;
  /** False: there was a message with this id. */
  readonly stored: boolean;
}

/** What a handler gets. */
export interface QueueMessage<out T> {
  /** The id of the message. */
  readonly id: string;
  /** What was published. */
  readonly value: T;
  /** The key, if one was given. */
  readonly key: string | undefined;
  /** 1 for the first attempt. Attempts that the end of a process interrupted do not count. */
  readonly attempt: number;
  /** The same in every attempt at this message, and in no other: give it to services that deduplicate. */
  readonly idempotencyKey: string;
  /** Aborts when the attempt is over: it took too long, or the subscriber has lost the message. */
  readonly signal: AbortSignal;
  /**
   * Publishes a message in the commit that settles this one. If the handler does not return `done`, it is not published.
   *
   * @throws OptionError, UnstorableValueError, PayloadTooLargeError, QueueFullError
   */
  publish<U>(to: MessageQueue<U>, value: U, options?: Omit<PublishOptions, "id">): Promise<void>;
  /**
   * Says that the attempt is alive, and how far it has come: plain data. The store has the last one within a second, `heartbeats` of the
   * queue shows it, and the next attempt at the message gets it as `lastHeartbeat`. An attempt that has just written one is no suspect
   * when the program dies.
   *
   * @throws UnstorableValueError, PayloadTooLargeError
   * @example
   * const queues = await openQueues(system, { store: memory() });
   * const files = queues.queue<string[]>("files");
   * await files.subscribe({}, async ({ value, lastHeartbeat, heartbeat }) => {
   *   for (const [i, line] of value.entries()) {
   *     if (i < Number(lastHeartbeat ?? 0)) continue;
   *     console.log(line);
   *     heartbeat(i + 1);
   *   }
   *   return done;
   * });
   */
  heartbeat(progress?: unknown): void;
  /** The last heartbeat of an earlier attempt at the message, also before a crash if it was written. Undefined: there was none. */
  readonly lastHeartbeat: unknown;
}

/**
 * What a subscriber does with a message. Only {@link Status} values settle it; a throw is a failed attempt. The throw of an error with
 * `retriable: false`, or of a DeadLetterError, is the last one.
 */
export type QueueHandler<T> = (message: QueueMessage<T>) => Status | PromiseLike<Status>;

const PUBLISH = ["id", "key", "delay"];
const MANY = ["value", ...PUBLISH];

/**
 * Opens durable queues.
 *
 * @throws OptionError, StoreError, PackageMissingError, CarrierError, AdminSocketError
 * @example
 * const queues = await openQueues(system, { store: memory() });
 * const orders = queues.queue<{ item: string }>("orders");
 * await orders.publish({ item: "lamp" }, { id: "order-7" });
 * await orders.subscribe({ concurrency: 4 }, async ({ value, signal }) => {
 *   await fetch(`http://shop/${value.item}`, { signal });
 *   return done;
 * });
 */
export async function openQueues(system: ProcessSystem, options: QueuesOptions): Promise<Queues> {
  only("", options, ["store", "carrier", "payloads", "evidence", "socket"]);
  withMethod("store", options.store, "open", "a store, such as sqlite(file)");
  const payloads = new Payloads(options.payloads);
  const place = checkEvidence("evidence", options.evidence);
  if (options.carrier !== undefined)
    withMethod("carrier", options.carrier, "open", "a broker, such as jetstream({ servers })");
  const socket = socketOf(options);
  const store = await openStore(system, options.store, [QUEUE_SCHEMA, STANDING_SCHEMA]);
  const kept = { kind: "queues", evidence: place, store: options.store, shared: store.shared } as const;
  const opened = new Set<() => void>();
  const evidence = hostEvidence(system.kernel, kept, () => {
    for (const fn of opened) fn();
  });
  let queues: Queues;
  try {
    const time = await StoreTime.of(system.kernel.env, store);
    queues = new Queues(system, store, time, payloads, evidence, opened);
    if (options.carrier !== undefined) await queues.carry(options.carrier);
  } catch (error) {
    evidence.close();
    await store.close();
    throw error;
  }
  await queues.offer(socket, options.socket !== false);
  return queues;
}

/** Open queues. See {@link openQueues}. */
export class Queues implements AsyncDisposable {
  readonly #system: ProcessSystem;
  readonly #store: Store;
  readonly #time: StoreTime;
  readonly #payloads: Payloads;
  readonly #evidence: Evidence;
  /** Called when messages that wait for evidence may run by now: one for each subscription. */
  readonly #opened: Set<() => void>;
  readonly #ends: SharedEnds;
  readonly #subscriptions = new Set<Subscription>();
  /** The queues that were asked for, of those that a broker carries. */
  readonly #carried = new Map<string, QueueStore>();
  /** The policies that queues were asked for with, where these are not the defaults. */
  readonly #policies = new Map<string, QueuePolicy>();
  /** The signals of the queues that were asked for. */
  readonly #signals = new Map<string, QueueSignals>();
  #carrying: Carrying | undefined;
  /** The process of the admin socket. */
  #socket: Pid | undefined;
  #withdraw: () => void = () => undefined;
  #isClosed = false;
  /** Finds the queues of the store, and acts on dead letters, as `signalbox queues` does. */
  readonly operations: QueueOperations;

  /** @internal Use {@link openQueues}. */
  constructor(
    system: ProcessSystem,
    store: Store,
    time: StoreTime,
    payloads: Payloads,
    evidence: Evidence,
    opened: Set<() => void>,
  ) {
    this.#evidence = evidence;
    this.#opened = opened;
    this.#ends = new SharedEnds(system.kernel, store, evidence);
    this.#system = system;
    this.#store = store;
    this.#time = time;
    this.#payloads = payloads;
    const policyOf = (name: string): QueuePolicy | undefined => this.#policies.get(name);
    this.operations = new StoreQueueOperations({
      ...{ store, time, payloads, policyOf },
      evidence: () => [evidence.view()],
    });
  }

  /**
   * A queue by its name. It is there as soon as something is published.
   *
   * @param name - letters, digits, `_` and `-`, a letter first
   * @throws OptionError
   */
  queue<T>(name: string, policy: QueuePolicyOptions = {}): MessageQueue<T> {
    checkName("name", name);
    const rules = checked("", policy, POLICY, QUEUE_DEFAULTS.queue);
    if (Object.keys(policy).length > 0) this.#policies.set(name, rules);
    const carrying = this.#carrying;
    const store = new QueueStore(name, this.#store, this.#time, rules, carrying !== undefined);
    if (carrying !== undefined) this.#carried.set(name, store);
    const signals = this.#signals.get(name) ?? new QueueSignals(this.#system.kernel, store);
    this.#signals.set(name, signals);
    return new MessageQueue<T>(store, {
      system: this.#system,
      payloads: this.#payloads,
      evidence: this.#evidence,
      opened: (fn) => {
        this.#opened.add(fn);
        return () => void this.#opened.delete(fn);
      },
      ends: this.#ends,
      signals,
      subscriptions: this.#subscriptions,
      isClosed: () => this.#isClosed,
      broker: carrying,
    });
  }

  /** Lets a broker carry the messages. @internal */
  async carry(source: CarrierSource): Promise<void> {
    const { kernel } = this.#system;
    const carrier = await source.open({
      environment: kernel.env,
      after: (ms, fn) => void kernel.addTimer(ms, { fire: fn }),
    });
    const channels = new Channels(carriedQueues(this.#store), carrier, kernel);
    const outbox = new Outbox(this.#store, carrier, channels, queuedRows(kernel.env.id()));
    const behaviour = new OutboxProcess(outbox, this.#store, this.#carried, channels);
    const pid = this.#system.spawn(behaviour, { label: "outbox of queues" });
    this.#carrying = { carrier, channels, pid };
  }

  /** Offers the operations to the program, and at an admin socket if it has a path. @internal */
  async offer(path: string | undefined, atSockets: boolean): Promise<void> {
    const { kernel } = this.#system;
    const service = queueService(this.operations, (name) => hasQueue(this.#store, name));
    this.#withdraw = offer(kernel, service, { store: this.#store.label, atSockets });
    if (path !== undefined) await this.#listen(path, service);
  }

  async #listen(path: string, service: AdminService): Promise<void> {
    try {
      this.#socket = await this.#system.start(adminLodging(path, service, this.#system.kernel));
    } catch (error) {
      await this.close();
      throw error instanceof StartError ? (error.cause ?? error) : error;
    }
  }

  /** Stops all subscriptions made here, then closes the store. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#withdraw();
    if (this.#socket !== undefined) await this.#end(this.#socket);
    await Promise.all([...this.#subscriptions].map((one) => one.stop()));
    if (this.#carrying !== undefined) {
      const { pid, carrier, channels } = this.#carrying;
      const gone = this.#end(pid);
      channels.close();
      await gone;
      await carrier.close();
    }
    this.#evidence.close();
    await this.#store.close();
  }

  #end(pid: Pid): Promise<unknown> {
    const { kernel } = this.#system;
    const gone = waitForExit(kernel, pid, undefined);
    kernel.links.exit(kernel.outside, pid, SHUTDOWN, "exit");
    return gone;
  }

  /** As `close`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The broker of queues, and the process that sends to it. */
interface Carrying extends QueueBroker {
  readonly pid: Pid;
}

/** What queues share. @internal */
interface Home {
  readonly system: ProcessSystem;
  readonly payloads: Payloads;
  readonly evidence: Evidence;
  readonly opened: SubscriberSettings["opened"];
  readonly ends: SharedEnds;
  readonly signals: QueueSignals;
  readonly subscriptions: Set<Subscription>;
  isClosed(): boolean;
  readonly broker: QueueBroker | undefined;
}

/** A queue: see {@link Queues.queue}. */
export class MessageQueue<in out T> {
  /** The name of the queue. */
  readonly name: string;
  /** Messages that were given up. */
  readonly deadLetters: DeadLetters<T>;
  readonly #store: QueueStore;
  readonly #home: Home;

  /** @internal Use {@link Queues.queue}. */
  constructor(store: QueueStore, home: Home) {
    this.name = store.name;
    this.#store = store;
    this.#home = home;
    this.deadLetters = new DeadLetters<T>(store, home.payloads);
  }

  /**
   * Publishes a message. Fulfilled when it is durable.
   *
   * @throws OptionError, QueueFullError, UnstorableValueError, PayloadTooLargeError, QueueClosedError, StoreError
   */
  async publish(value: T, options: PublishOptions = {}): Promise<Published> {
    only("", options, PUBLISH);
    const [published] = await this.publishMany([{ ...options, value }]);
    return published as Published;
  }

  /**
   * Publishes messages in one commit: all that are not there yet are stored, or none. At most 10,000.
   *
   * @throws OptionError, QueueFullError, UnstorableValueError, PayloadTooLargeError, QueueClosedError, StoreError
   */
  async publishMany(messages: readonly NewQueueMessage<T>[]): Promise<Published[]> {
    this.#open();
    if (!Array.isArray(messages) || messages.length > MESSAGE_LIMITS.portion)
      throw new OptionError("messages", messages, `an array of at most ${MESSAGE_LIMITS.portion} messages`);
    const all: NewMessage[] = [];
    for (const [i, { value, ...options }] of messages.entries())
      all.push(await this.#message(i, value, options));
    if (all.length === 0) return [];
    const stored = await this.#store.publish(all);
    return all.map(({ id }, i) => ({ id, stored: stored[i] === true }));
  }

  /**
   * Handles messages until the subscription is stopped.
   *
   * @throws OptionError, QueueClosedError, StoreError
   */
  async subscribe(options: Partial<SubscriberPolicy>, handler: QueueHandler<T>): Promise<Subscription> {
    this.#open();
    const policy = checked("", options, SUBSCRIBER, QUEUE_DEFAULTS.subscriber);
    const concurrency = Math.min(policy.prefetch, policy.concurrency);
    if (typeof handler !== "function") throw new OptionError("handler", handler, "a function");
    const handle: Handle = (row, limit, beats) => this.#handle(row, limit, beats, handler);
    const behaviour = new SubscriberProcess({
      ...policy,
      concurrency,
      queue: this.#store,
      handle,
      payloads: this.#home.payloads,
      evidence: this.#home.evidence,
      opened: this.#home.opened,
      ends: this.#home.ends,
      count: this.#home.signals.count,
      broker: this.#home.broker,
    });
    const label = `subscriber of ${this.name}`;
    const definition: Startable<readonly [], Subscription> = {
      [launch]: (): Launch<Subscription> => ({
        behaviour,
        options: { label },
        ref: (pid, kernel) => new Subscription(pid, kernel, this.#home.subscriptions),
      }),
    };
    return this.#home.system.start(definition);
  }

  /** How many messages there are. The numbers are read one after another, while others publish and settle. */
  async counts(): Promise<QueueCounts> {
    this.#open();
    return readCounts(this.#store.store, this.name);
  }

  /**
   * What an autoscaler asks: how many messages of this queue are due and held by no subscriber, for how many milliseconds the oldest of them
   * has waited, how many more messages the subscribers of this program could take, and how many they hold. A delayed message is due from its
   * time on. One that is tried again has waited since it could be; one that was given back, since before it was taken.
   *
   * The store counts by its indexes, and stops at 100,000. The metrics `signalbox_host_*` have the same numbers for each queue with a
   * subscriber in this program, with the kind `queues` and the name of the queue.
   *
   * @throws QueueClosedError, StoreError
   * @example
   * const orders = (await openQueues(system, { store: memory() })).queue<string>("orders");
   * const { due, oldestDueMs, room, held } = await orders.signals();
   * console.log(due, oldestDueMs, room, held);
   */
  async signals(): Promise<HostSignals> {
    this.#open();
    return this.#home.signals.read();
  }

  /**
   * The last heartbeats of messages that are not settled: in work, or waiting for their next attempt. The oldest message first.
   *
   * @throws OptionError, QueueClosedError, StoreError
   */
  async heartbeats(
    options: {
      /** Most messages, 1 or more. Default 1,000. */
      readonly limit?: number;
    } = {},
  ): Promise<QueueHeartbeat[]> {
    this.#open();
    only("", options, ["limit"]);
    return shownBeats(
      this.#home.payloads,
      await this.#store.beating(count("limit", options.limit ?? 1_000, 1)),
    );
  }

  #open(): void {
    if (this.#home.isClosed()) throw new QueueClosedError(this.name);
  }

  async #message(i: number, value: T, options: PublishOptions): Promise<NewMessage> {
    const path = `messages[${i}]`;
    only(path, options, MANY);
    const { id } = options;
    if (id !== undefined) checkText(`${path}.id`, id);
    if (id?.startsWith("#") === true) throw new OptionError(`${path}.id`, id, "a text that begins with no #");
    const encoded = await this.#encoded(path, value, options);
    return { id: id ?? this.#home.system.kernel.env.id(), named: id !== undefined, ...encoded };
  }

  async #encoded(path: string, value: T, options: PublishOptions): Promise<Omit<Child, "to">> {
    const { key, delay: wait } = options;
    return {
      trace: this.#home.system.kernel.taps?.queuePublishing(this.name),
      body: await this.#home.payloads.store(value, `${path}.value`, `queue ${this.name}`),
      tag: key === undefined ? null : checkText(`${path}.key`, key),
      delayMs: wait === undefined ? 0 : duration(`${path}.delay`, wait),
    };
  }

  async #handle(
    row: QueuedRow,
    limit: TimedAttempt,
    beats: MessageBeats,
    handler: QueueHandler<T>,
  ): Promise<Handled> {
    const children: Promise<Child>[] = [];
    let isOver = false;
    const value = (await this.#home.payloads.load(row.body)) as T;
    if (row.heartbeats !== null) await beats.restore();
    const running = async (): Promise<Status> =>
      handler({
        id: row.id,
        value,
        key: row.tag ?? undefined,
        attempt: row.attempts + 1,
        idempotencyKey: `${this.name}/${row.id}`,
        get signal() {
          return limit.signal;
        },
        lastHeartbeat: beats.last,
        heartbeat: (progress) => {
          // An attempt that has ended is not alive.
          if (!isOver) beats.beat(progress);
        },
        publish: async (to, child, options = {}) => {
          if (isOver) throw new QueueClosedError(`${this.name}: the handler has returned, so its message`);
          withMethod("to", to, "child", "a queue of these queues");
          only("", options, ["key", "delay"]);
          const ready = to.child(child, options);
          children.push(ready);
          await ready;
        },
      });
    const returned = await running().finally(() => {
      isOver = true;
    });
    return { returned, children: await Promise.all(children) };
  }

  /** A message that the settlement of another one publishes. @internal */
  async child(value: T, options: PublishOptions): Promise<Child> {
    const child = await this.#encoded("message", value, options);
    await this.#store.admit(1);
    return { ...child, to: this.#store };
  }
}

/** A running subscription. */
export class Subscription implements AsyncDisposable {
  readonly #pid: Pid<never>;
  readonly #kernel: Kernel;
  readonly #all: Set<Subscription>;

  /** @internal Use {@link MessageQueue.subscribe}. */
  constructor(pid: Pid<never>, kernel: Kernel, all: Set<Subscription>) {
    this.#pid = pid;
    this.#kernel = kernel;
    this.#all = all;
    all.add(this);
  }

  /** The process of the subscriber. */
  get pid(): Pid<never> {
    return this.#pid;
  }

  /**
   * Takes no more messages, lets those in work end, and gives the others back to the queue.
   *
   * @param signal - ends the wait; the subscription goes on stopping
   */
  async stop(signal?: AbortSignal): Promise<void> {
    const gone = waitForExit(this.#kernel, this.#pid, signal);
    this.#kernel.links.exit(this.#kernel.outside, this.#pid, SHUTDOWN, "exit");
    await gone;
    this.#all.delete(this);
  }

  /** As `stop`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

const QUARANTINE = { ends: whole(1, Number.POSITIVE_INFINITY), backoff: checkBackoff };
const POLICY = {
  mostMessages: whole(1, Number.POSITIVE_INFINITY),
  attempts: whole(1, Number.POSITIVE_INFINITY),
  backoff: checkBackoff,
  quarantine: (path: string, given: unknown): QuarantinePolicy =>
    checked(path, given as object, QUARANTINE, QUEUE_DEFAULTS.queue.quarantine),
  rememberMs: ms(0),
  rememberMost: whole(0),
};
const SUBSCRIBER = {
  concurrency: whole(1),
  prefetch: whole(1, MESSAGE_LIMITS.portion),
  timeoutMs: ms(1, Number.POSITIVE_INFINITY),
  overrunMs: ms(0, Number.POSITIVE_INFINITY),
};

function checkText(path: string, value: unknown): string {
  if (
    typeof value === "string" &&
    value !== "" &&
    value.length <= QUEUE_LIMITS.idCharacters &&
    !value.includes("\0")
  )
    return value;
  throw new OptionError(path, value, `a text of 1 to ${QUEUE_LIMITS.idCharacters} characters`);
}
