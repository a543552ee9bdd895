// The ledger of an execution over a store: what ties its parts together.
//
//     submit ──▶ gathered ──▶ one write set ──▶ committed ──▶ listener
//                                                  │
//                          children that were asked for are handed out; others stay in the store until a route asks
//
// step-encoding.ts   what a step stores
// step-writes.ts     the write set of many steps
// step-commits.ts    gathers, commits, and finds the step for which a set was refused
// carriage.ts        letters of the messages, where a broker carries them
// hand-out.ts        which messages are handed out; store-queue.ts is its state for one queue
// recall.ts          what adapters remember
// peers.ts           how the hosts of a shared store agree; share.ts is how much each of them takes
// give-back.ts       gives back what lost hosts held
//
// Here are the counts, the end, and the loss. In a store that several processes share, every step about a message expects that its row
// names this host, and the ledger looks at the row of the execution at intervals, and when it is notified.

import type { Payloads } from "../../host/payload/payloads.js";
import type { Kernel } from "../../process/kernel.js";
import type { Claim, Store, Write } from "../../store/index.js";
import { PIPELINE_DEFAULTS } from "../definition/policy.js";
import { type Sentence, sentenceFor } from "../definition/sentence.js";
import type { Carrier } from "../queues/carrier.js";
import { type Accused, type Blame, batchesOf, NO_BLAME } from "./blame.js";
import { Carriage } from "./carriage.js";
import { ExecutionGoneError } from "./errors.js";
import { HandOut, type KnownQueue } from "./hand-out.js";
import {
  type Ended,
  type Ledger,
  type LedgerContext,
  type LedgerCounts,
  type LedgerListener,
  laterOf,
  type Message,
  type Step,
} from "./ledger.js";
import { LEDGER_DEFAULTS, type LedgerLimits } from "./limits.js";
import type { Body, LiveMessage } from "./live-message.js";
import { type HeldHere, Peers } from "./peers.js";
import { Recall } from "./recall.js";
import { StepCommits } from "./step-commits.js";
import { type EncodingOptions, entryOf } from "./step-encoding.js";
import { messagesOf, publishedBy, rememberedBy } from "./step-parts.js";
import { dueOf, type Entry, type Place, type Writing } from "./step-writes.js";
import {
  type ExecutionRow,
  executions,
  executionTopic,
  messages,
  outbox,
  READY,
  READY_NEWS,
  sources,
} from "./tables.js";

/** What a ledger over a store is made with. */
export interface StoreLedgerOptions {
  readonly store: Store;
  /** The claim of the host. */
  readonly claim: Claim;
  /** The row of the execution, as it was created or found. */
  readonly execution: ExecutionRow;
  /** The names of all queues of the pipeline. */
  readonly queues: readonly string[];
  /** Those of them whose messages leave their values behind, for replays. */
  readonly kept?: ReadonlySet<string>;
  /** The names of all of its sources. */
  readonly sources: readonly string[];
  /** How many messages of a queue this host can work on, or hold in batches, at a time. Default 1. */
  inWork?(queue: string): number;
  /** An earlier ledger of the execution had this claim. */
  readonly again?: boolean;
  /** Most bytes of a message. */
  readonly maxMessageBytes: number;
  readonly payloads: Pick<Payloads, "store" | "storeThrown" | "load">;
  readonly listener: LedgerListener;
  readonly context: LedgerContext;
  /** The broker that carries the messages, if one does. */
  readonly carried?: { readonly carrier: Carrier; readonly kernel: Kernel } | undefined;
  readonly limits?: Partial<LedgerLimits>;
  /** What becomes of a message of a queue that has ended its process once more. Default: by the default policy. */
  sentence?(queue: string, ends: number, evidence: string): Sentence;
  /** The name of the route that takes from a queue, if history is kept. */
  route?(queue: string): string | undefined;
  /** Finds which message ended a process. Default: no evidence is kept. */
  readonly blame?: Blame;
}

/** What is read before a ledger begins. */
interface Known {
  readonly clock: number;
  readonly queues: readonly KnownQueue[];
}

const ENDED: ReadonlySet<string> = new Set<Ended>(["completed", "failed", "cancelled"]);
const NO_QUEUES: ReadonlySet<string> = new Set();

export class StoreLedger implements Ledger {
  readonly #options: StoreLedgerOptions;
  readonly #limits: LedgerLimits;
  readonly #encoding: EncodingOptions;
  #place: Place;
  readonly #handOut: HandOut;
  readonly #commits: StepCommits;
  readonly #recall: Recall;
  readonly #carriage: Carriage | undefined;
  /** In a store that others use, too. */
  readonly #peers: Peers | undefined;
  readonly #turn = (): void => this.#flush();
  readonly #unwatch: () => void;
  /** The clock of the store when the ledger was opened, less the monotonic clock of this process: so it never steps back. */
  readonly #clockOffset: number;
  /** In whose name batches run, by queue; and how many messages go one by one, since batches have ended a process. */
  readonly #batches = new Map<string, Accused>();
  readonly #oneByOne = new Map<string, number>();
  #called = false;
  #held: HeldHere = { count: 0, rank: 0 };
  #counts: LedgerCounts;
  /** How many sets are durable. */
  #sets = 0;
  #state: "running" | "closing" | "closed" = "running";
  #idle: (() => void)[] = [];
  #closed: Promise<void> | undefined;
  /** `again`: there was a reason to look since the look began. */
  #looking: "no" | "once" | "again" = "no";
  /** How many requests to the store have no answer yet. */
  #unanswered = 0;
  #ticks = 0;
  #cancelTick: (() => void) | undefined;
  /** How often people have changed messages of the execution, as far as this ledger knows. */
  #changed: number | null;
  /** People have changed something, and a set is in flight that was submitted before. */
  #isBehind = false;
  /** It catches up with what people have changed, and writes nothing meanwhile. */
  #catchingUp: Promise<void> | undefined;
  /** When others were last notified of ready messages, by queue. */
  readonly #newsAt = new Map<string, number>();

  private constructor(options: StoreLedgerOptions, known: Known) {
    const { store, claim, execution, context, limits, payloads } = options;
    this.#options = options;
    this.#limits = { ...LEDGER_DEFAULTS, ...limits };
    const { maxMessageBytes } = options;
    this.#encoding = { maxMessageBytes, commitSize: this.#limits.commitSize, payloads };
    const scope = execution.number;
    const carried = options.carried !== undefined;
    const place = { scope, claim, shared: store.shared, carried, kept: options.kept ?? NO_QUEUES };
    this.#changed = execution.changed;
    this.#place = store.shared ? place : { ...place, changed: execution.changed };
    this.#clockOffset = known.clock - context.now();
    const { pending, done, dead, inputs } = execution;
    this.#counts = { pending, done, dead, inputs };
    // The store may be closed by now. So this is first: anything begun before it would outlive a ledger that was never there.
    const topic = executionTopic(scope);
    this.#unwatch = store.watch(topic, {
      notified: (of) => this.#notified(of.slice(topic.length)),
      again: () => this.#notified(READY_NEWS),
    });
    this.#recall = new Recall(store, scope, payloads);
    this.#carriage = this.#makeCarriage();
    this.#handOut = this.#makeHandOut(known.queues);
    this.#commits = this.#makeCommits();
    this.#peers = store.shared ? this.#makePeers() : undefined;
    if (this.#peers !== undefined) this.#tick();
    // People may have changed it since its row was read.
    else this.#look();
    this.#call();
  }

  /** Opens the ledger of an execution. */
  static async open(options: StoreLedgerOptions): Promise<StoreLedger> {
    const { store, queues, execution, claim, again, limits } = options;
    const carried = options.carried !== undefined;
    const place = { scope: execution.number, claim, shared: store.shared, carried };
    if (store.shared && again === true) await Peers.anew(store, place, { ...LEDGER_DEFAULTS, ...limits });
    // No process works on the messages that an earlier process of this host had, even if the broker believes so.
    if (carried && (!store.shared || again === true)) await Carriage.anew(store, place, queues);
    const [clock, known] = await Promise.all([
      store.clock(),
      Promise.all(queues.map((queue) => HandOut.known(store, execution.number, queue))),
    ]);
    return new StoreLedger(options, { clock, queues: known });
  }

  #makeCarriage(): Carriage | undefined {
    const { store, carried, queues } = this.#options;
    if (carried === undefined) return undefined;
    const port = {
      ...{ ...carried, store, place: this.#place },
      now: () => this.#now(),
      inWork: (queue: string) => this.#options.inWork?.(queue) ?? 1,
      news: (queue: string) => this.#handOut.news(queue),
      lost: (error: Error) => this.#lose(error),
    };
    return new Carriage(port, queues);
  }

  #makeHandOut(known: readonly KnownQueue[]): HandOut {
    const ledger = this;
    const { store, payloads, context, listener } = this.#options;
    return new HandOut(
      {
        ...{ store, payloads, context, place: this.#place, limits: this.#limits },
        carriage: this.#carriage,
        get closed() {
          return ledger.#state === "closed";
        },
        inWork: (queue) => this.#options.inWork?.(queue) ?? 1,
        asked: (answer) => this.#asked(answer),
        now: () => this.#now(),
        call: () => this.#call(),
        blame: this.#blame,
        sentence: (queue, ends, evidence) =>
          this.#options.sentence?.(queue, ends, evidence) ??
          sentenceFor(PIPELINE_DEFAULTS.route.quarantine, ends, evidence, 0),
        quarantine: (message, sentence, evidence) => this.#quarantine(message, sentence, evidence),
        beat: (message, heartbeats) => this.#beat(message, heartbeats),
        bury: (message, error) => this.#bury(message, error),
        arrived: (queue, some) => listener.arrived(queue, some),
        drained: (queue) => listener.drained(queue),
        lost: (error) => this.#lose(error),
      },
      known,
    );
  }

  #makeCommits(): StepCommits {
    const ledger = this;
    const handOut = this.#handOut;
    return new StepCommits({
      store: this.#options.store,
      ...{ batchMessages: this.#limits.batchMessages, commitSize: this.#limits.commitSize },
      get place() {
        return ledger.#place;
      },
      get closed() {
        return ledger.#state === "closed";
      },
      now: () => this.#now(),
      promise: (queue) => handOut.promise(queue),
      breakPromise: (queue) => handOut.breakPromise(queue),
      isNews: (queue) => this.#isNews(queue),
      sent: () => this.#unanswered++,
      settled: () => this.#answered(),
      committed: (entries, writing, now, ends) => this.#committed(entries, writing, now, ends),
      late: (step) => this.#late(step),
      refused: () => this.#whyRefused(),
      overtaken: (step) => this.#overtaken(step),
      call: () => this.#call(),
      lost: (error) => this.#lose(error),
    });
  }

  get #blame(): Blame {
    return this.#options.blame ?? NO_BLAME;
  }

  #quarantine(message: Message, sentence: Sentence, evidence: string): void {
    const { error } = sentence;
    if (sentence.type === "dead") this.#bury(message, error, { evidence });
    else this.submit({ type: "retry", message, delayMs: sentence.delayMs, error, evidence });
  }

  /** A message that shows progress is no suspect. A failure of the store is ignored here: the step that settles the message reports it. */
  #beat(message: LiveMessage, heartbeats: Body): void {
    if (this.#state !== "running" || message.state !== "taken") return;
    const { scope, claim, shared } = this.#place;
    const row = { table: messages, key: [scope, message.queue, message.lane, message.id] };
    const is = shared ? { holder: claim.token } : ("present" as const);
    const write: Write = { type: "update", ...row, set: { heartbeats, alive: scope } };
    this.#options.store.submit({ claim, expect: [{ ...row, is }], writes: [write] }, (error) => {
      if (error === undefined) message.progressed();
    });
  }

  /** No worker has worked on the message, so the ledger writes its history. */
  #bury(message: Message, error: string, by: { readonly evidence?: string } = {}): void {
    const { id, attempts, queue } = message;
    const route = this.#options.route?.(queue);
    const of = { id, status: "dead", attempt: Math.max(1, attempts), calls: [], children: 0 } as const;
    const entry = route === undefined ? undefined : { ...of, route };
    this.submit({ type: "dead", message, error, entry, ...by });
  }

  #makePeers(): Peers {
    const ledger = this;
    const { store, payloads, listener, sources } = this.#options;
    return new Peers({
      ...{ store, payloads, listener, sources, place: this.#place },
      get closed() {
        return ledger.#state !== "running";
      },
      get held() {
        return ledger.#held;
      },
      get isIdle() {
        return !ledger.#commits.busy && ledger.#handOut.taken === ledger.#held.count;
      },
    });
  }

  // ── what is asked of it ──────────────────────────────────────────────────────────────────────────────────────

  want(queue: string, count: number): void {
    this.#handOut.of(queue).wanted += count;
    this.#call();
  }

  submit(step: Step): void {
    if (this.#state !== "running") return;
    const entry = entryOf(step, this.#encoding);
    const remember = rememberedBy(step);
    if (remember === undefined) this.#commits.add(entry);
    else {
      this.#commits.add({ ...entry, expect: this.#recall.expected(remember) });
      this.#recall.submitted(remember);
    }
    this.#call();
  }

  depth(queue: string): number {
    const of = this.#handOut.of(queue);
    of.isWatched = true;
    return Math.max(0, of.depth);
  }

  awaitBelow(queue: string, mark: number): void {
    this.#handOut.of(queue).mark = mark;
    this.#call();
  }

  held(count: number, rank: number): void {
    this.#held = { count, rank };
    this.#call();
  }

  counts(): LedgerCounts {
    return this.#counts;
  }

  recall(adapter: string, key: string): Promise<unknown> {
    return this.#recall.recall(adapter, key);
  }

  forget(adapter: string, key: string): void {
    this.#recall.forget(adapter, key);
  }

  runBatch<T>(queue: string, fn: () => T): T {
    const { scope } = this.#place;
    let accused = this.#batches.get(queue);
    if (accused === undefined) {
      accused = this.#blame.begin(scope, batchesOf(queue));
      this.#batches.set(queue, accused);
    }
    return accused.run(fn);
  }

  isBatchAccused(queue: string, count: number): boolean {
    const { scope } = this.#place;
    const name = batchesOf(queue);
    const left =
      this.#oneByOne.get(queue) ?? (this.#blame.find(scope, name).evidence === undefined ? 0 : ONE_BY_ONE);
    const rest = Math.max(0, left - count);
    this.#oneByOne.set(queue, rest);
    if (left > 0 && rest === 0) this.#blame.taken(scope, name);
    return left > 0;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    if (this.#state === "running") this.#state = "closing";
    this.#call();
    // A ledger that was lost may have a set in flight: the next ledger has to see it.
    while (this.#isBusy()) await new Promise<void>((resolve) => this.#idle.push(resolve));
    if (this.#state === "closed") return;
    this.#carriage?.close();
    await this.#giveBack();
    this.#stop();
  }

  /** Requests in flight under a lost claim change nothing. */
  #isBusy(): boolean {
    if (this.#options.claim.lost.aborted) return false;
    return this.#unanswered > 0 || (this.#state === "closing" && this.#commits.busy);
  }

  /** Notes that the store was asked for something that changes it. */
  #asked<T>(answer: Promise<T>): Promise<T> {
    this.#unanswered++;
    const answered = (): void => this.#answered();
    answer.then(answered, answered);
    return answer;
  }

  #answered(): void {
    this.#unanswered--;
    this.#mayBeIdle();
  }

  #mayBeIdle(): void {
    if (this.#idle.length > 0 && !this.#isBusy()) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** By the clock of the store, which may step back: this one does not. */
  #now(): number {
    return Math.floor(this.#options.context.now() + this.#clockOffset);
  }

  // ── turns ────────────────────────────────────────────────────────────────────────────────────────────────────

  #call(): void {
    if (this.#called || this.#state === "closed") return;
    this.#called = true;
    laterOf(this.#options.context)(this.#turn);
  }

  #flush(): void {
    this.#called = false;
    if (this.#state === "closed") return;
    if (this.#catchingUp !== undefined) return;
    this.#commits.write();
    if (this.#state === "running") {
      this.#handOut.serve();
      if (this.#commits.quiet) this.#atRest();
    }
    this.#mayBeIdle();
  }

  /** All that was submitted is durable. */
  #atRest(): void {
    const { count } = this.#held;
    const { pending } = this.#counts;
    if (pending === 0) this.#look();
    else if (count === 0 || pending !== count) return;
    else if (this.#peers === undefined) this.#options.listener.onlyHeld();
    // As far as this host knows: others may have published since.
    else this.#look();
  }

  #committed(entries: readonly Entry[], writing: Writing, now: number, isEnd: boolean): void {
    this.#sets++;
    const { pending, done, dead, inputs } = this.#counts;
    this.#counts = {
      pending: pending + writing.pending,
      done: done + writing.done,
      dead: dead + writing.dead,
      inputs: inputs + writing.inputs,
    };
    const arrived = new Map<string, LiveMessage[]>();
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
    for (const [queue, some] of arrived) this.#options.listener.arrived(queue, some);
    if (this.#isBehind) this.#look();
    this.#call();
  }

  #apply({ step, bodies, passed }: Entry, now: number, arrived: Map<string, LiveMessage[]>): void {
    const handOut = this.#handOut;
    this.#outlived(step);
    if (step.type === "retry") handOut.retried(step, now);
    else for (const message of messagesOf(step)) handOut.settled(message);
    this.#carry(step, passed, now);
    this.#recall.over(rememberedBy(step));
    for (const [i, child] of publishedBy(step).entries()) {
      const message = handOut.published(child, bodies[i] as Entry["bodies"][number], passed[i] === true);
      if (message === undefined) continue;
      const some = arrived.get(child.queue);
      if (some === undefined) arrived.set(child.queue, [message]);
      else some.push(message);
    }
  }

  /** A message that was settled, or is to be retried, has ended no process; or its row says now that it has. */
  #outlived(step: Step): void {
    const evidence = step.type === "retry" || step.type === "dead" ? step.evidence : undefined;
    for (const message of messagesOf(step))
      if (evidence === undefined) message.progressed();
      else this.#blame.taken(this.#place.scope, message.id);
  }

  /** Where a broker carries messages: sends the step's messages that this host does not keep, and acknowledges letters that are over. */
  #carry(step: Step, passed: readonly boolean[], now: number): void {
    if (this.#carriage === undefined) return;
    const children = publishedBy(step).flatMap(({ queue, id }, i) =>
      passed[i] === true ? [] : [{ queue, lane: READY, id }],
    );
    if (step.type !== "retry") this.#carriage.committed(messagesOf(step), children, now);
    else if (step.delayMs > 0) {
      const { queue, id } = step.message;
      this.#carriage.committed(messagesOf(step), [{ queue, lane: dueOf(now, step.delayMs), id }], now);
    }
  }

  // ── refusals, the end and the loss ───────────────────────────────────────────────────────────────────────────

  /** Another host was faster: that host decides about the messages of the step. */
  #overtaken(step: Step): void {
    const all = messagesOf(step);
    for (const message of all) {
      this.#handOut.of(message.queue).forget(message);
      this.#carriage?.lost(message as LiveMessage);
    }
    this.#late(step);
    if (this.#peers === undefined || all.length === 0) return;
    this.#asked(this.#handOut.again(all)).catch((error: Error) => this.#lose(error));
  }

  #late(step: Step): void {
    this.#recall.over(rememberedBy(step));
    this.#options.listener.refused(step);
  }

  async #whyRefused(): Promise<"ended" | "late" | "changed"> {
    const row = await this.#row();
    if (this.#state === "closed") return "ended";
    if (row === undefined || row.ended !== null) {
      this.#gone(row);
      return "ended";
    }
    if (row.changed === this.#changed) return "late";
    await this.#catchUp(row);
    return "changed";
  }

  /** False: there is nothing more to look at for now. */
  async #mayCatchUp(row: ExecutionRow): Promise<boolean> {
    // A set in flight is refused, and then the ledger catches up; or the set was committed before the change.
    this.#isBehind = this.#commits.inFlight;
    if (!this.#isBehind) await this.#catchUp(row);
    return this.#state !== "closed";
  }

  /**
   * People have changed messages or sources. No step is in flight, or the one that was is refused: this ledger goes on with the counts of the
   * row, and with the rows that it reads from here on. If they took away what this host works on, its processes begin again.
   */
  #catchUp({ changed, pending, done, dead, inputs }: ExecutionRow): Promise<void> {
    this.#changed = changed;
    this.#isBehind = false;
    if (!this.#place.shared) this.#place = { ...this.#place, changed };
    this.#counts = { pending, done, dead, inputs };
    const catching = this.#compareAll().finally(() => {
      if (this.#catchingUp === catching) this.#catchingUp = undefined;
      this.#call();
    });
    this.#catchingUp = catching;
    return catching;
  }

  async #compareAll(): Promise<void> {
    const { store, listener } = this.#options;
    const isAnyGone = await this.#handOut.changed();
    const places = await store.scan(sources, { prefix: [this.#place.scope], limit: MOST_SOURCES });
    if (this.#state === "closed") return;
    listener.changed(
      places.filter(({ open }) => open === 0).map(({ name }) => name),
      isAnyGone,
    );
  }

  async #row(): Promise<ExecutionRow | undefined> {
    const [row] = await this.#options.store.get(executions, [[this.#place.scope]]);
    return row;
  }

  // ── other hosts ──────────────────────────────────────────────────────────────────────────────────────────────

  #notified(news: string): void {
    if (!news.startsWith(READY_NEWS)) {
      this.#look();
      return;
    }
    const queue = news.slice(READY_NEWS.length);
    this.#handOut.news(queue === "" ? undefined : queue);
    if (queue !== "") return;
    // Something was given back.
    this.#carriage?.hasten();
    this.#look();
  }

  /** Notifications may be lost, and not everything is worth one. */
  #tick(): void {
    const { context } = this.#options;
    this.#cancelTick = context.after(this.#limits.pollMs, () => this.#tick());
    if (this.#ticks++ > 0) this.#handOut.poll();
    this.#handOut
      .recount(this.#ticks % TICKS_BETWEEN_COUNTS === 0)
      .catch((error: Error) => this.#lose(error));
    this.#look(true);
  }

  #isNews(queue: string): boolean {
    const now = this.#options.context.now();
    if (now - (this.#newsAt.get(queue) ?? Number.NEGATIVE_INFINITY) < NEWS_MS) return false;
    this.#newsAt.set(queue, now);
    return true;
  }

  /** Looks whether the execution was ended elsewhere, and how far other hosts are. */
  #look(mayTell = false): void {
    if (this.#state !== "running") return;
    if (this.#looking !== "no") {
      this.#looking = "again";
      return;
    }
    this.#looking = "once";
    this.#asked(this.#lookAt(mayTell)).then(
      () => {
        const isWanted = this.#looking === "again";
        this.#looking = "no";
        if (isWanted) this.#look();
      },
      (error: Error) => this.#lose(error),
    );
  }

  async #lookAt(mayTell: boolean): Promise<void> {
    const sets = this.#sets;
    const row = await this.#row();
    if (this.#state === "closed") return;
    if (row === undefined || row.ended !== null) {
      this.#gone(row);
      return;
    }
    if (row.changed !== this.#changed && !(await this.#mayCatchUp(row))) return;
    // Counts that were read before a commit of this ledger are older than its own.
    if (!this.#commits.inFlight && this.#sets === sets) {
      const before = this.#counts.pending;
      const { pending, done, dead, inputs } = row;
      this.#counts = { pending, done, dead, inputs };
      if (before !== pending) this.#call();
    }
    await this.#peers?.look(row, mayTell);
  }

  #gone(row: ExecutionRow | undefined): void {
    if (row !== undefined && ENDED.has(row.status)) this.#end(row.status as Ended);
    else this.#lose(new ExecutionGoneError(this.#options.execution.id));
  }

  /** Other hosts may take messages that this one has not settled. */
  async #giveBack(): Promise<void> {
    const { claim, scope } = this.#place;
    if (this.#peers === undefined || this.#state === "closed" || claim.lost.aborted) return;
    const keys = this.#handOut.keys();
    const { carried } = this.#place;
    const round = this.#now();
    try {
      await this.#peers.leave();
      for (let at = 0; at < keys.length; at += this.#limits.batchMessages) {
        const some = keys.slice(at, at + this.#limits.batchMessages);
        await this.#options.store.commit({
          claim,
          writes: some.flatMap((key) => writesBack(key, carried, round)),
          notify: [executionTopic(scope) + READY_NEWS],
        });
      }
    } catch {
      // If this host's claim is lost, other hosts give back its messages.
    }
  }

  #end(as: Ended): void {
    if (this.#state === "closed") return;
    this.#carriage?.ended();
    for (const [queue, left] of this.#oneByOne)
      if (left > 0) this.#blame.taken(this.#place.scope, batchesOf(queue));
    this.#stop();
    this.#options.listener.ended(as);
  }

  #lose(error: Error): void {
    if (this.#state === "closed") return;
    this.#carriage?.close();
    this.#stop();
    this.#options.listener.lost(error);
  }

  #stop(): void {
    this.#state = "closed";
    this.#unwatch();
    this.#cancelTick?.();
    for (const accused of this.#batches.values()) accused.end();
    this.#handOut.stop();
    this.#recall.stop();
    this.#mayBeIdle();
  }
}

/** Sources of an execution that are looked at. */
const MOST_SOURCES = 10_000;
/** After the end of a process over a batch, so many messages of its queue go one by one. */
const ONE_BY_ONE = 1_000;
/** Frees the message with this key from its holder. */
function writesBack(key: readonly (string | number)[], carried: boolean, round: number): Write[] {
  const free = { type: "update" as const, table: messages, key, set: { holder: null } };
  if (!carried) return [free];
  const [scope, queue, lane, id] = key as [number, string, number, string];
  return [free, { type: "put", table: outbox, row: { scope, queue, lane, id, round } }];
}

/** Others are notified of ready messages of a queue this often at most, in milliseconds. */
const NEWS_MS = 25;
/** Queues without a waiter are counted anew each time that so many intervals have passed. */
const TICKS_BETWEEN_COUNTS = 4;
