// The kinds of ledger that the suite of behaviour is run on, and a listener that writes down what it hears.

import {
  type Claim,
  memory,
  pglite,
  type Store,
  type StoreContext,
  type StoreSource,
  sqlite,
} from "signalbox/store";
import { Payloads } from "../../../lib/host/payload/payloads.js";
import { createExecution } from "../../../lib/pipeline/ledger/executions.js";
import type {
  Ended,
  Ledger,
  LedgerContext,
  LedgerCounts,
  LedgerListener,
  Message,
  Publication,
  SourcePlace,
  Step,
} from "../../../lib/pipeline/ledger/ledger.js";
import type { LedgerLimits } from "../../../lib/pipeline/ledger/limits.js";
import { StoreLedger } from "../../../lib/pipeline/ledger/store-ledger.js";
import { type ExecutionRow, executions, PIPELINE_SCHEMA } from "../../../lib/pipeline/ledger/tables.js";
import { VolatileLedger } from "../../../lib/pipeline/ledger/volatile-ledger.js";
import { newFolder } from "../../store/sqlite/support.js";
import { sharedPglite } from "../../support/pglite.js";
import { storeContext } from "../../support/store-context.js";

/** A clock that a test turns, and timers that follow it. */
export class TestClock implements LedgerContext {
  ms: number = 0;
  readonly #timers = new Set<{ at: number; fn: () => void }>();

  now(): number {
    return this.ms;
  }

  after(ms: number, fn: () => void): () => void {
    const timer = { at: this.ms + ms, fn };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  pass(ms: number): void {
    this.ms += ms;
    for (const timer of [...this.#timers].sort((a, b) => a.at - b.at))
      if (timer.at <= this.ms && this.#timers.delete(timer)) timer.fn();
  }
}

/** Writes down what a ledger tells. */
export class Ear implements LedgerListener {
  readonly steps: Step[] = [];
  readonly late: Step[] = [];
  readonly messages: Map<string, Message[]> = new Map();
  readonly below: string[] = [];
  ends: Ended[] = [];
  errors: Error[] = [];
  allHeld = 0;
  readonly places: Map<string, SourcePlace> = new Map();
  pauses: boolean[] = [];
  changes: { readonly closed: readonly string[]; readonly isAnyGone: boolean }[] = [];

  committed(steps: readonly Step[]): void {
    this.steps.push(...steps);
  }
  refused(step: Step): void {
    this.late.push(step);
  }
  arrived(queue: string, messages: readonly Message[]): void {
    this.messages.set(queue, [...(this.messages.get(queue) ?? []), ...messages]);
  }
  drained(queue: string): void {
    this.below.push(queue);
  }
  onlyHeld(): void {
    this.allHeld++;
  }
  source(name: string, place: SourcePlace): void {
    this.places.set(name, place);
  }
  changed(closed: readonly string[], isAnyGone: boolean): void {
    this.changes.push({ closed, isAnyGone });
  }
  paused(isPaused: boolean): void {
    this.pauses.push(isPaused);
  }
  ended(as: Ended): void {
    this.ends.push(as);
  }
  lost(error: Error): void {
    this.errors.push(error);
  }

  /** The messages that have arrived in a queue since the last call. */
  take(queue: string): Message[] {
    const some = this.messages.get(queue) ?? [];
    this.messages.delete(queue);
    return some;
  }
}

/** An execution of a test. */
export interface Setup {
  readonly sources?: readonly string[];
  readonly messages?: readonly Publication[];
  readonly queues?: readonly string[];
  readonly limits?: Partial<LedgerLimits>;
  /** The clock of the store is that of the test, too. */
  readonly ownTime?: boolean;
}

/** One execution, its ledger, and what it has told. */
export class Bench {
  readonly clock: TestClock = new TestClock();
  ear: Ear = new Ear();
  ledger!: Ledger;
  store: Store | undefined;
  claim!: Claim;
  row!: ExecutionRow;
  readonly #setup: Setup;
  readonly payloads: Payloads = new Payloads();

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  /** Opens the ledger, for the first time or again. */
  async open(source: StoreSource | undefined, id = "execution"): Promise<void> {
    const { sources = [], messages = [], queues = ["a", "b"], limits } = this.#setup;
    this.ear = new Ear();
    const { ear: listener, clock: context } = this;
    if (source === undefined) {
      this.ledger = new VolatileLedger({ listener, context, sources, messages });
      return;
    }
    const surroundings = storeContext();
    const wallTime = (): number => 1_000_000 + this.clock.ms;
    const environment = Object.create(surroundings.environment, { wallTime: { value: wallTime } });
    const own = { ...surroundings, environment: environment as StoreContext["environment"] };
    this.store = await source.open([PIPELINE_SCHEMA], this.#setup.ownTime === true ? own : surroundings);
    const claim = await this.store.claim(`pipelines/host/${Math.random()}`, { owner: "test" });
    this.claim = claim as Claim;
    const first = messages.map(({ id: of, queue, value, key }) => ({
      id: of,
      queue,
      key,
      body: this.payloads.store(value, "message") as string,
    }));
    const created = await createExecution(this.store, this.claim, {
      id,
      pipeline: "test",
      config: null,
      input: null,
      sources,
      messages: first,
    });
    this.row = created.row;
    this.ledger = await StoreLedger.open({
      store: this.store,
      claim: this.claim,
      execution: this.row,
      ...{ queues, sources },
      inWork: () => 100,
      maxMessageBytes: Number.POSITIVE_INFINITY,
      payloads: this.payloads,
      listener,
      context,
      ...(limits && { limits }),
    });
  }

  /** Waits until all that was submitted is settled, and all that was asked for has been read. */
  async settled(): Promise<void> {
    for (let quiet = 0; quiet < 3; ) {
      const before = this.#mark();
      for (let i = 0; i < 20; i++) await Promise.resolve();
      await this.store?.commit({ writes: [] }).catch(() => undefined);
      await new Promise((resolve) => setImmediate(resolve));
      quiet = before === this.#mark() ? quiet + 1 : 0;
    }
  }

  #mark(): string {
    const { steps, late, messages, below, ends, errors, allHeld } = this.ear;
    const arrived = [...messages.values()].map(({ length }) => length);
    return [steps.length, late.length, arrived, below.length, ends.length, errors.length, allHeld].join();
  }

  async counts(): Promise<LedgerCounts> {
    if (this.store === undefined) return this.ledger.counts();
    const [row] = await this.store.get(executions, [[this.row.number]]);
    const { pending, done, dead, inputs } = row as ExecutionRow;
    return { pending, done, dead, inputs };
  }
}

/** A kind of ledger. */
export interface Kind {
  readonly name: string;
  /** A fresh place. Undefined: in memory alone. */
  place(): Promise<{ readonly source: StoreSource | undefined; dispose(): Promise<void> }>;
}

const nothing = async (): Promise<void> => undefined;
let schemas = 0;

export const KINDS: readonly Kind[] = [
  { name: "volatile", place: async () => ({ source: undefined, dispose: nothing }) },
  { name: "memory", place: async () => ({ source: memory(), dispose: nothing }) },
  { name: "shared memory", place: async () => ({ source: memory({ shared: true }), dispose: nothing }) },
  {
    name: "SQLite",
    place: async () => {
      const folder = newFolder();
      const source = sqlite(folder.file("store.db"), { thread: false, durability: "process-kill" });
      return { source, dispose: async () => folder[Symbol.dispose]() };
    },
  },
  {
    name: "PGlite",
    place: async () => {
      const schema = `ledger_${++schemas}`;
      return { source: pglite(await sharedPglite(), { schema }), dispose: nothing };
    },
  },
];
