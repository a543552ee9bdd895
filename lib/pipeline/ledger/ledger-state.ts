// What the parts of a ledger over a store share: where it writes, its clock, how far it is, its end, and the parts themselves.

import type { Payloads } from "../../host/payload/payloads.js";
import type { Kernel } from "../../process/kernel.js";
import type { Claim, Store } from "../../store/index.js";
import type { Carrier } from "../messages/carrier.js";
import type { Sentence } from "../messages/verdict.js";
import { type Accused, type Blame, batchesOf, NO_BLAME } from "./blame.js";
import { LedgerBroker } from "./broker.js";
import { ExecutionWatch } from "./execution-watch.js";
import { HandOut, type KnownQueue } from "./hand-out.js";
import {
  type Ended,
  type LedgerContext,
  type LedgerCounts,
  type LedgerListener,
  laterOf,
  type Step,
} from "./ledger.js";
import { LEDGER_DEFAULTS, type LedgerLimits } from "./limits.js";
import { type HeldHere, Peers } from "./peers.js";
import { Recall } from "./recall.js";
import { StepCommits } from "./step-commits.js";
import { entryOf } from "./step-encoding.js";
import { rememberedBy } from "./step-parts.js";
import type { Place } from "./step-writes.js";
import { type ExecutionRow, executionTopic, READY_NEWS } from "./tables.js";

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
export interface Known {
  readonly clock: number;
  readonly queues: readonly KnownQueue[];
}

const NO_QUEUES: ReadonlySet<string> = new Set();

export class LedgerState {
  readonly options: StoreLedgerOptions;
  readonly store: Store;
  readonly limits: LedgerLimits;
  readonly blame: Blame;
  place: Place;
  phase: "running" | "closing" | "closed" = "running";
  counts: LedgerCounts;
  /** What this host holds in batches. */
  held: HeldHere = { count: 0, rank: 0 };
  /** In whose name batches run, by queue; and how many messages go one by one, since batches have ended a process. */
  readonly batches: Map<string, Accused> = new Map();
  readonly oneByOne: Map<string, number> = new Map();
  readonly watch: ExecutionWatch;
  readonly recall: Recall;
  readonly broker: LedgerBroker | undefined;
  readonly handOut: HandOut;
  readonly commits: StepCommits;
  /** In a store that others use, too. */
  readonly peers: Peers | undefined;
  readonly #turn = (): void => this.#flush();
  readonly #unwatch: () => void;
  /** The clock of the store when the ledger was opened, less the monotonic clock of this process: so it never steps back. */
  readonly #clockOffset: number;
  #called = false;
  /** How many requests to the store have no answer yet. */
  #unanswered = 0;
  #idle: (() => void)[] = [];

  constructor(options: StoreLedgerOptions, known: Known) {
    const { store, claim, execution, context, limits, payloads } = options;
    this.options = options;
    this.store = store;
    this.limits = { ...LEDGER_DEFAULTS, ...limits };
    this.blame = options.blame ?? NO_BLAME;
    const { number: scope, changed, pending, done, dead, inputs } = execution;
    const { shared } = store;
    const place = {
      scope,
      claim,
      shared,
      carried: options.carried !== undefined,
      kept: options.kept ?? NO_QUEUES,
    };
    this.place = shared ? place : { ...place, changed };
    this.counts = { pending, done, dead, inputs };
    this.#clockOffset = known.clock - context.now();
    this.watch = new ExecutionWatch(this);
    // The store may be closed by now. So this is first: anything begun before it would outlive a ledger that was never there.
    const topic = executionTopic(scope);
    this.#unwatch = store.watch(topic, {
      notified: (of) => this.watch.notified(of.slice(topic.length)),
      again: () => this.watch.notified(READY_NEWS),
    });
    this.recall = new Recall(store, scope, payloads);
    if (options.carried !== undefined) this.broker = new LedgerBroker(this, options.carried);
    this.handOut = new HandOut(this, known.queues);
    this.commits = new StepCommits(this);
    if (shared) this.peers = new Peers(this);
    if (this.peers !== undefined) this.watch.tick();
    // People may have changed it since its row was read.
    else this.watch.look();
    this.call();
  }

  /** By the clock of the store, which may step back: this one does not. */
  now(): number {
    return Math.floor(this.options.context.now() + this.#clockOffset);
  }

  inWork(queue: string): number {
    return this.options.inWork?.(queue) ?? 1;
  }

  countsOf({ pending, done, dead, inputs }: ExecutionRow): void {
    this.counts = { pending, done, dead, inputs };
  }

  submit(step: Step): void {
    if (this.phase !== "running") return;
    const entry = entryOf(step, this);
    const remember = rememberedBy(step);
    if (remember === undefined) this.commits.add(entry);
    else {
      this.commits.add({ ...entry, expect: this.recall.expected(remember) });
      this.recall.submitted(remember);
    }
    this.call();
  }

  // ── turns ────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Writes and hands out, soon. */
  call(): void {
    if (this.#called || this.phase === "closed") return;
    this.#called = true;
    laterOf(this.options.context)(this.#turn);
  }

  #flush(): void {
    this.#called = false;
    if (this.phase === "closed") return;
    if (this.watch.isCatchingUp) return;
    this.commits.write();
    if (this.phase === "running") {
      this.handOut.serve();
      if (this.commits.quiet) this.#atRest();
    }
    this.#mayBeIdle();
  }

  /** All that was submitted is durable. */
  #atRest(): void {
    const { count } = this.held;
    const { pending } = this.counts;
    if (pending === 0) this.watch.look();
    else if (count === 0 || pending !== count) return;
    else if (this.peers === undefined) this.options.listener.onlyHeld();
    // As far as this host knows: others may have published since.
    else this.watch.look();
  }

  // ── requests that a close waits for ──────────────────────────────────────────────────────────────────────────

  /** Notes that the store was asked for something that changes it. */
  asked<T>(answer: Promise<T>): Promise<T> {
    this.asking();
    const answered = (): void => this.answered();
    answer.then(answered, answered);
    return answer;
  }

  asking(): void {
    this.#unanswered++;
  }

  answered(): void {
    this.#unanswered--;
    this.#mayBeIdle();
  }

  /** A ledger that was lost may have a set in flight: the next ledger has to see it. */
  async idle(): Promise<void> {
    while (this.#isBusy()) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Requests in flight under a lost claim change nothing. */
  #isBusy(): boolean {
    if (this.options.claim.lost.aborted) return false;
    return this.#unanswered > 0 || (this.phase === "closing" && this.commits.busy);
  }

  #mayBeIdle(): void {
    if (this.#idle.length > 0 && !this.#isBusy()) for (const resolve of this.#idle.splice(0)) resolve();
  }

  // ── the end and the loss ─────────────────────────────────────────────────────────────────────────────────────

  end(as: Ended): void {
    if (this.phase === "closed") return;
    this.broker?.ended();
    for (const [queue, left] of this.oneByOne)
      if (left > 0) this.blame.taken(this.place.scope, batchesOf(queue));
    this.stop();
    this.options.listener.ended(as);
  }

  lose(error: Error): void {
    if (this.phase === "closed") return;
    this.broker?.close();
    this.stop();
    this.options.listener.lost(error);
  }

  stop(): void {
    this.phase = "closed";
    this.#unwatch();
    this.watch.stop();
    for (const accused of this.batches.values()) accused.end();
    this.handOut.stop();
    this.recall.stop();
    this.#mayBeIdle();
  }
}
