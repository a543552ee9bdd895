// The ledger of an execution over a store. Steps gather while a commit is in flight, and many go into the next one: so a commit costs
// what its rows cost, however small the steps are.
//
//     submit ──▶ gathered ──▶ one write set ──▶ committed ──▶ listener
//                                                  │
//                          children that were asked for are handed out; others stay in the store until somebody asks
//
// A store of one process: which messages are handed out is known here alone, and lost with the process. A store that several
// processes share: rows name the claim of the host that has taken them, and every step about a message expects that name.

import type { Payloads } from "../../flow/payload/payloads.js";
import { OptionError } from "../../process/errors.js";
import { showThrown } from "../../process/show.js";
import { type Claim, ConflictError, type Store } from "../../store/index.js";
import { ExecutionGoneError } from "./errors.js";
import {
  type Ledger,
  type LedgerContext,
  type LedgerCounts,
  type LedgerListener,
  laterOf,
  type Publication,
  type Remembered,
  type Step,
} from "./ledger.js";
import type { Ended } from "./ledger-machine.js";
import { LEDGER_DEFAULTS, type LedgerLimits } from "./limits.js";
import { type Body, LiveMessage } from "./live-message.js";
import { bodyWithin } from "./message-size.js";
import { dueOf, type Entry, type Place, type Writing, writingOf } from "./step-writes.js";
import { StoreQueue } from "./store-queue.js";
import {
  type ExecutionRow,
  executions,
  executionTopic,
  type MessageRow,
  memory,
  messages,
  READY,
} from "./tables.js";

/** What is read before a ledger begins. */
interface Known {
  readonly clock: number;
  readonly depths: readonly number[];
  readonly dues: readonly (number | undefined)[];
}

/** What a ledger over a store is made with. */
export interface StoreLedgerOptions {
  readonly store: Store;
  /** The claim of the host. */
  readonly claim: Claim;
  /** The row of the execution, as it was created or found. */
  readonly execution: ExecutionRow;
  /** The names of all queues of the pipeline. */
  readonly queues: readonly string[];
  /** Most bytes of a message. */
  readonly maxMessageBytes: number;
  readonly payloads: Pick<Payloads, "store" | "storeThrown" | "load">;
  readonly listener: LedgerListener;
  readonly context: LedgerContext;
  readonly limits?: Partial<LedgerLimits>;
}

const ENDED: ReadonlySet<string> = new Set<Ended>(["completed", "failed", "cancelled"]);
const NO_ERRORS: readonly string[] = [];
const NO_BODIES: readonly (Body | null)[] = [];

export class StoreLedger implements Ledger {
  readonly #options: StoreLedgerOptions;
  readonly #limits: LedgerLimits;
  readonly #place: Place;
  readonly #queues = new Map<string, StoreQueue>();
  readonly #turn = (): void => this.#flush();
  readonly #unwatch: () => void;
  /** The clock of the store when the ledger was opened, less the monotonic clock of this process: so it never steps back. */
  readonly #clockOffset: number;
  #gathered: Entry[] = [];
  /** Steps of a set that was refused: each is tried alone, before all others. */
  #single: Entry[] = [];
  #flight: readonly Entry[] | undefined;
  #called = false;
  #held = 0;
  #counts: LedgerCounts;
  /** What is remembered by steps on their way. */
  readonly #remembered = new Map<string, { value: unknown; steps: number }>();
  #state: "running" | "closing" | "closed" = "running";
  #idle: (() => void)[] = [];
  #cancelTimer: (() => void) | undefined;
  #timerAt: number | undefined;
  #looking = false;

  private constructor(options: StoreLedgerOptions, known: Known) {
    const { store, claim, execution, queues, context, limits } = options;
    this.#options = options;
    this.#limits = { ...LEDGER_DEFAULTS, ...limits };
    const scope = execution.number;
    this.#place = { scope, claim, shared: store.shared };
    this.#clockOffset = known.clock - context.now();
    const { pending, done, dead, inputs } = execution;
    this.#counts = { pending, done, dead, inputs };
    for (const [i, name] of queues.entries()) {
      const queue = new StoreQueue(name);
      queue.depth = known.depths[i] ?? 0;
      queue.due = known.dues[i];
      this.#queues.set(name, queue);
    }
    this.#unwatch = store.watch(executionTopic(scope), {
      notified: () => this.#look(),
      again: () => this.#look(),
    });
    this.#call();
  }

  /** Opens the ledger of an execution. */
  static async open(options: StoreLedgerOptions): Promise<StoreLedger> {
    const { store, queues, execution } = options;
    const scope = execution.number;
    const [clock, depths, dues] = await Promise.all([
      store.clock(),
      Promise.all(queues.map((queue) => store.count(messages, { prefix: [scope, queue] }))),
      Promise.all(
        queues.map(async (queue) => {
          const [row] = await store.scan(messages, { prefix: [scope, queue], after: READY, limit: 1 });
          return row?.lane;
        }),
      ),
    ]);
    return new StoreLedger(options, { clock, depths, dues });
  }

  want(queue: string, count: number): void {
    this.#of(queue).wanted += count;
    this.#call();
  }

  submit(step: Step): void {
    if (this.#state !== "running") return;
    this.#gathered.push(this.#entryOf(step));
    this.#call();
  }

  depth(queue: string): number {
    return Math.max(0, this.#of(queue).depth);
  }

  awaitBelow(queue: string, mark: number): void {
    this.#of(queue).mark = mark;
    this.#call();
  }

  held(count: number): void {
    this.#held = count;
    this.#call();
  }

  counts(): LedgerCounts {
    return this.#counts;
  }

  async recall(adapter: string, key: string): Promise<unknown> {
    const own = this.#remembered.get(memoryKey(adapter, key));
    if (own !== undefined) return own.value;
    const [row] = await this.#options.store.get(memory, [[this.#place.scope, adapter, key]]);
    return row?.value == null ? undefined : this.#options.payloads.load(row.value);
  }

  async close(): Promise<void> {
    if (this.#state === "running") this.#state = "closing";
    this.#call();
    while (this.#isBusy()) await new Promise<void>((resolve) => this.#idle.push(resolve));
    await this.#giveBack();
    this.#stop();
  }

  #isBusy(): boolean {
    return (
      this.#state === "closing" &&
      (this.#flight !== undefined ||
        this.#gathered.length > 0 ||
        this.#single.length > 0 ||
        [...this.#queues.values()].some(({ reading }) => reading !== undefined))
    );
  }

  #of(name: string): StoreQueue {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = new StoreQueue(name);
      this.#queues.set(name, queue);
    }
    return queue;
  }

  /** By the clock of the store, which may step back: this one does not. */
  #now(): number {
    return Math.floor(this.#options.context.now() + this.#clockOffset);
  }

  #call(): void {
    if (this.#called || this.#state === "closed") return;
    this.#called = true;
    laterOf(this.#options.context)(this.#turn);
  }

  #flush(): void {
    this.#called = false;
    if (this.#state === "closed") return;
    this.#write();
    if (this.#state === "running") {
      for (const queue of this.#queues.values()) this.#serve(queue);
      this.#setTimer();
      const isQuiet = this.#flight === undefined && this.#gathered.length === 0;
      if (isQuiet && this.#held > 0 && this.#counts.pending === this.#held) this.#options.listener.onlyHeld();
      else if (isQuiet && this.#counts.pending === 0) this.#look();
    }
    if (!this.#isBusy()) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** @throws what the codec throws, MessageTooLargeError, and OptionError: then nothing was submitted */
  #entryOf(step: Step): Entry {
    const published = publishedBy(step);
    const { maxMessageBytes } = this.#options;
    const bodies = published.map(({ queue, value, key }) => {
      checkKey("key", key);
      return bodyWithin(maxMessageBytes, this.#stored(value, "message"), queue);
    });
    return { step, bodies, passed: [], extra: this.#extraOf(step) };
  }

  #extraOf(step: Step): readonly (Body | null)[] {
    switch (step.type) {
      case "source":
        return [step.checkpoint === undefined ? null : this.#stored(step.checkpoint, "checkpoint")];
      case "settle":
        return this.#remember(step.remember ?? []);
      case "end":
        return [step.error === undefined ? null : this.#storedThrown(step.error)];
      default:
        return NO_BODIES;
    }
  }

  #stored(value: unknown, root: string): Body {
    const stored = this.#options.payloads.store(value, root);
    if (stored instanceof Promise)
      throw new OptionError("payloads.codec", "a codec that answers later", "a codec that works at once");
    return stored;
  }

  #storedThrown(thrown: unknown): Body {
    const stored = this.#options.payloads.storeThrown(thrown);
    return stored instanceof Promise ? JSON.stringify(showThrown(thrown)) : stored;
  }

  #remember(all: readonly Remembered[]): readonly (Body | null)[] {
    if (all.length === 0) return NO_BODIES;
    const bodies = all.map(({ key, value }) => {
      checkKey("remember.key", key);
      return value === undefined ? null : this.#stored(value, "remember");
    });
    for (const { adapter, key, value } of all) {
      const text = memoryKey(adapter, key);
      this.#remembered.set(text, { value, steps: (this.#remembered.get(text)?.steps ?? 0) + 1 });
    }
    return bodies;
  }

  /** Writes the next steps, if none are on their way. */
  #write(): void {
    while (this.#flight === undefined && this.#state !== "closed") {
      const entries = this.#next();
      if (entries.length === 0) return;
      const refused: Step[] = [];
      const given = new Map<string, number>();
      const accepted = entries.filter((entry) => {
        const isInTime = this.#begin(entry, given);
        if (!isInTime) refused.push(entry.step);
        return isInTime;
      });
      if (accepted.length > 0) this.#submit(accepted);
      for (const step of refused) this.#options.listener.refused(step);
    }
  }

  #next(): Entry[] {
    const single = this.#single.shift();
    if (single !== undefined) return [single];
    let weight = 0;
    let count = 0;
    while (count < this.#gathered.length && weight < this.#limits.batchMessages)
      weight += 1 + (this.#gathered[count++] as Entry).bodies.length;
    return this.#gathered.splice(0, count);
  }

  #submit(entries: readonly Entry[]): void {
    for (const { step, passed } of entries) {
      const published = publishedBy(step);
      passed.length = 0;
      for (const { queue: name } of published) {
        const queue = this.#of(name);
        const isWanted = queue.wanted > queue.ready.length;
        if (isWanted) queue.wanted--;
        passed.push(isWanted);
      }
    }
    const now = this.#now();
    const writing = writingOf(entries, this.#place, now);
    this.#flight = entries;
    this.#options.store.submit(writing.set, (error, committed) => {
      if (this.#state === "closed") return;
      if (error !== undefined) this.#failed(error, entries);
      else this.#committed(entries, writing, now, committed?.results[writing.end] === 1);
    });
  }

  /** False: the step comes too late. `given` has the places of sources within the set. */
  #begin({ step }: Entry, given: Map<string, number>): boolean {
    if (step.type === "source") {
      const from = given.get(step.source);
      if (from !== undefined && from !== step.from) return false;
      given.set(step.source, step.from + step.messages.length);
      return true;
    }
    const all = messagesOf(step);
    if (!all.every((message) => message.state === "taken")) return false;
    for (const message of all) message.state = "settling";
    return true;
  }

  #committed(entries: readonly Entry[], writing: Writing, now: number, isEnd: boolean): void {
    this.#flight = undefined;
    const { pending, done, dead, inputs } = this.#counts;
    this.#counts = {
      pending: pending + writing.pending,
      done: done + writing.done,
      dead: dead + writing.dead,
      inputs: inputs + writing.inputs,
    };
    const arrived = new Map<StoreQueue, LiveMessage[]>();
    let ended: Ended | undefined = isEnd ? "completed" : undefined;
    for (const entry of entries) {
      this.#apply(entry, now, arrived);
      if (entry.step.type === "end") ended = entry.step.as;
    }
    this.#options.listener.committed(entries.map(({ step }) => step));
    if (ended !== undefined) {
      this.#end(ended);
      return;
    }
    for (const [queue, some] of arrived) this.#options.listener.arrived(queue.name, some);
    this.#call();
  }

  #apply(entry: Entry, now: number, arrived: Map<StoreQueue, LiveMessage[]>): void {
    const { step, bodies, passed } = entry;
    if (step.type === "retry") this.#retried(step.message as LiveMessage, step.delayMs, step.error, now);
    else
      for (const message of messagesOf(step)) {
        const queue = this.#of(message.queue);
        queue.forget(message);
        queue.depth--;
      }
    if (step.type === "settle") this.#known(step.remember ?? []);
    const published = publishedBy(step);
    for (const [i, { id, queue: name, key }] of published.entries()) {
      const queue = this.#of(name);
      queue.depth++;
      if (passed[i] !== true) {
        queue.added(id);
        continue;
      }
      const of = {
        id,
        queue: name,
        key,
        attempts: 0,
        errors: NO_ERRORS,
        lane: READY,
        body: bodies[i] as Body,
      };
      const message = this.#loaded(queue, of);
      if (message === undefined) continue;
      const some = arrived.get(queue);
      if (some === undefined) arrived.set(queue, [message]);
      else some.push(message);
    }
  }

  /** Its steps are durable: from now on the store has it. */
  #known(all: readonly Remembered[]): void {
    for (const { adapter, key } of all) {
      const text = memoryKey(adapter, key);
      const own = this.#remembered.get(text);
      if (own !== undefined && --own.steps === 0) this.#remembered.delete(text);
    }
  }

  #retried(message: LiveMessage, delayMs: number, error: string | undefined, now: number): void {
    const queue = this.#of(message.queue);
    queue.forget(message);
    if (delayMs > 0) {
      queue.delayed(message.id, dueOf(now, delayMs));
      return;
    }
    const next = this.#loaded(queue, {
      ...message,
      attempts: error === undefined ? message.attempts : message.attempts + 1,
      errors: error === undefined ? message.errors : [...message.errors, error],
    });
    if (next !== undefined) queue.ready.push(next);
  }

  /** A message of this host. Its value is read from what is stored, so that nobody shares it. Undefined: it cannot be read. */
  #loaded(queue: StoreQueue, of: Omit<LiveMessage, "state" | "value">): LiveMessage | undefined {
    let value: unknown;
    let unreadable: unknown;
    try {
      value = this.#options.payloads.load(of.body);
      if (value instanceof Promise)
        throw new OptionError("payloads.codec", "a codec that answers later", "a codec that works at once");
    } catch (error) {
      unreadable = error;
    }
    const message = new LiveMessage({ ...of, value });
    queue.known.set(message.id, message);
    if (unreadable === undefined) return message;
    // Nobody can work on it, now or later: it goes where people look.
    queue.wanted++;
    this.submit({ type: "dead", message, error: showThrown(unreadable), entry: undefined });
    return undefined;
  }

  #failed(error: Error, entries: readonly Entry[]): void {
    for (const { step, passed } of entries) {
      for (const [i, { queue }] of publishedBy(step).entries())
        if (passed[i] === true) this.#of(queue).wanted++;
      for (const message of messagesOf(step)) message.state = "taken";
    }
    if (!(error instanceof ConflictError)) {
      this.#lose(error);
      return;
    }
    // The steps stay in flight until it is known why.
    this.#row().then(
      (row) => {
        if (this.#state === "closed") return;
        this.#flight = undefined;
        if (row === undefined || row.ended !== null) this.#gone(row);
        else if (entries.length === 1) this.#refuse((entries[0] as Entry).step);
        else this.#single.push(...entries);
        this.#call();
      },
      (cause: unknown) => this.#lose(cause as Error),
    );
  }

  /** Another host was faster: whatever becomes of its messages is that host's affair. */
  #refuse(step: Step): void {
    for (const message of messagesOf(step)) this.#of(message.queue).forget(message);
    if (step.type === "settle") this.#known(step.remember ?? []);
    this.#options.listener.refused(step);
  }

  async #row(): Promise<ExecutionRow | undefined> {
    const [row] = await this.#options.store.get(executions, [[this.#place.scope]]);
    return row;
  }

  /** Looks whether somebody else has ended the execution, and how far other hosts are. */
  #look(): void {
    if (this.#looking || this.#state === "closed") return;
    this.#looking = true;
    this.#row().then(
      (row) => {
        this.#looking = false;
        if (this.#state === "closed") return;
        if (row === undefined || row.ended !== null) this.#gone(row);
        else if (this.#place.shared && this.#flight === undefined) {
          const before = this.#counts.pending;
          const { pending, done, dead, inputs } = row;
          this.#counts = { pending, done, dead, inputs };
          if (before !== pending) this.#call();
        }
      },
      (error: unknown) => this.#lose(error as Error),
    );
  }

  #gone(row: ExecutionRow | undefined): void {
    if (row !== undefined && ENDED.has(row.status)) this.#end(row.status as Ended);
    else this.#lose(new ExecutionGoneError(this.#options.execution.id));
  }

  #serve(queue: StoreQueue): void {
    const count = Math.min(queue.wanted, queue.ready.length);
    if (count > 0) {
      queue.wanted -= count;
      this.#options.listener.arrived(queue.name, queue.ready.splice(0, count));
    }
    if (queue.depth < queue.mark) {
      queue.mark = 0;
      this.#options.listener.drained(queue.name);
    }
    const kind = queue.next(this.#now());
    if (kind === undefined) return;
    queue.reading = kind;
    const reading = this.#place.shared ? this.#take(queue) : this.#read(queue, kind);
    reading.catch((error: unknown) => {
      queue.unread();
      this.#lose(error as Error);
    });
  }

  async #read(queue: StoreQueue, kind: "ready" | "delayed"): Promise<void> {
    const { scope } = this.#place;
    const missing = queue.wanted - queue.ready.length;
    // Delayed rows stay where they are while they are worked on, so the page has to reach beyond them.
    const past = kind === "delayed" ? queue.known.size : 0;
    const limit = Math.min(MOST_ROWS, Math.max(FEWEST_ROWS, Math.min(this.#limits.readRows, missing)) + past);
    const scan =
      kind === "ready"
        ? { prefix: [scope, queue.name, READY], from: queue.from, limit }
        : { prefix: [scope, queue.name], after: READY, limit };
    const rows = await this.#options.store.scan(messages, scan);
    if (this.#state === "closed") return;
    this.#arrive(queue, queue.page(rows, rows.length < limit, this.#now()));
  }

  async #take(queue: StoreQueue): Promise<void> {
    const { scope, claim } = this.#place;
    const now = this.#now();
    const limit = Math.min(this.#limits.readRows, queue.wanted - queue.ready.length);
    const rows = await this.#options.store.take(messages, {
      prefix: [scope, queue.name],
      below: now + 1,
      limit,
      where: { holder: null },
      set: { holder: claim.token },
      claim,
    });
    if (this.#state === "closed") return;
    queue.taken(rows.length < limit, now);
    this.#arrive(queue, rows);
  }

  /** Hands rows out as far as they are wanted. */
  #arrive(queue: StoreQueue, rows: readonly MessageRow[]): void {
    for (const row of rows) {
      const message = this.#loaded(queue, {
        id: row.id,
        queue: row.queue,
        key: row.tag ?? undefined,
        attempts: row.attempts ?? 0,
        errors: row.history === null ? NO_ERRORS : (JSON.parse(row.history) as string[]),
        lane: row.lane,
        body: row.body,
      });
      if (message !== undefined) queue.ready.push(message);
      else queue.wanted--;
    }
    this.#call();
  }

  /** Wakes up when the first delayed message is due, and on a shared store at intervals. */
  #setTimer(): void {
    let at = Number.POSITIVE_INFINITY;
    for (const queue of this.#queues.values()) {
      if (queue.wanted > queue.ready.length) {
        at = Math.min(at, queue.due ?? at);
        if (this.#place.shared) at = Math.min(at, this.#now() + this.#limits.pollMs);
      }
    }
    if (this.#place.shared && this.#held > 0) at = Math.min(at, this.#now() + this.#limits.pollMs);
    if (at === this.#timerAt || (this.#timerAt !== undefined && this.#timerAt <= at)) return;
    this.#cancelTimer?.();
    this.#timerAt = at;
    if (at === Number.POSITIVE_INFINITY) return;
    this.#cancelTimer = this.#options.context.after(Math.max(1, at - this.#now()), () => {
      this.#timerAt = undefined;
      if (this.#place.shared) {
        for (const queue of this.#queues.values()) queue.exhausted = false;
        this.#look();
      }
      this.#call();
    });
  }

  /** Other hosts may take what this one has not settled. */
  async #giveBack(): Promise<void> {
    const { shared, scope, claim } = this.#place;
    if (!shared || this.#state === "closed") return;
    const keys = [...this.#queues.values()].flatMap((queue) =>
      [...queue.known.values()].map(({ lane, id }) => [scope, queue.name, lane, id]),
    );
    for (let at = 0; at < keys.length; at += this.#limits.batchMessages) {
      const some = keys.slice(at, at + this.#limits.batchMessages);
      const set = { holder: null };
      await this.#options.store
        .commit({ claim, writes: some.map((key) => ({ type: "update", table: messages, key, set })) })
        // A claim that is lost gives back by itself.
        .catch(() => undefined);
    }
  }

  #end(as: Ended): void {
    if (this.#state === "closed") return;
    this.#stop();
    this.#options.listener.ended(as);
  }

  #lose(error: Error): void {
    if (this.#state === "closed") return;
    this.#stop();
    this.#options.listener.lost(error);
  }

  #stop(): void {
    this.#state = "closed";
    this.#unwatch();
    this.#cancelTimer?.();
    for (const resolve of this.#idle.splice(0)) resolve();
  }
}

const NOTHING: readonly Publication[] = [];
const NO_MESSAGES: readonly LiveMessage[] = [];

function publishedBy(step: Step): readonly Publication[] {
  if (step.type === "source") return step.messages;
  return step.type === "settle" || step.type === "emit" ? step.children : NOTHING;
}

/** The messages that a step is about, each once. */
function messagesOf(step: Step): readonly LiveMessage[] {
  if (step.type === "emit") return [...new Set(step.messages)] as LiveMessage[];
  if (step.type === "settle" || step.type === "retry" || step.type === "dead")
    return [step.message as LiveMessage];
  return NO_MESSAGES;
}

const memoryKey = (adapter: string, key: string): string => `${adapter} ${key}`;

/** Names of adapters have no blanks; keys are of the user. @throws OptionError */
function checkKey(path: string, key: string | undefined): void {
  if (key === undefined) return;
  const isText = typeof key === "string" && key.length <= KEY_LENGTH && !key.includes("\0");
  if (!(isText && (key as string & { isWellFormed(): boolean }).isWellFormed()))
    throw new OptionError(
      path,
      key,
      `a text of at most ${KEY_LENGTH} characters, without NUL and without lone surrogates`,
    );
}

/** Most characters of a key of a message, and of something remembered. */
const KEY_LENGTH = 1_000;
/** Rows of one reading. */
const FEWEST_ROWS = 32;
const MOST_ROWS = 100_000;
