// Executions in memory alone: they end with their processes.

import type { Kernel } from "../../process/kernel.js";
import type { Ended, LedgerContext, LedgerCounts, LedgerListener, SourcePlace } from "../ledger/ledger.js";
import { VolatileLedger } from "../ledger/volatile-ledger.js";
import { NoLineageError } from "../operations/errors.js";
import type { Beginning, Catalogue, Record } from "./catalogue.js";
import type { OpenedLedger } from "./execution.js";
import type { PipelinePlan } from "./plan.js";

type Changing = { -readonly [K in keyof Record]: Record[K] };

interface Entry {
  readonly record: Changing;
  /** Let go of when the ledger has them. */
  messages: Beginning["messages"];
  ledger: { counts(): LedgerCounts } | undefined;
}

/** Executions that have ended, and are still known. Of more, the oldest are forgotten. */
const MOST_ENDED = 1_000;

const BEGIN: SourcePlace = { given: 0, checkpoint: undefined };

export class VolatileCatalogue implements Catalogue {
  readonly lineage = false;
  readonly durable = false;
  readonly tables = undefined;
  readonly shared = false;
  readonly hashOf = undefined;
  readonly #kernel: Kernel;
  readonly #entries = new Map<string, Entry>();
  readonly #ended = new Set<string>();
  #last = 0;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  async create({ id, plan, input, messages, trace }: Beginning): Promise<{ record: Record; isNew: boolean }> {
    const known = this.#entries.get(id);
    if (known !== undefined) return { record: current(known), isNew: false };
    const pending = plan.sources.length + messages.length;
    const record: Changing = {
      id,
      pipeline: plan.name,
      ...(plan.version !== 1 && { version: plan.version }),
      status: "running",
      number: ++this.#last,
      input,
      error: undefined,
      trace: trace ?? null,
      pending,
      done: 0,
      dead: 0,
      inputs: messages.length,
      created: this.#kernel.env.wallTime(),
      ended: undefined,
    };
    const entry: Entry = { record, messages, ledger: undefined };
    this.#entries.set(id, entry);
    return { record: current(entry), isNew: true };
  }

  async find(id: string): Promise<Record | undefined> {
    const entry = this.#entries.get(id);
    return entry === undefined ? undefined : current(entry);
  }

  async unfinished(): Promise<readonly Record[]> {
    return [];
  }

  async unannounced(): Promise<readonly Record[]> {
    return [];
  }

  async announced(): Promise<void> {
    // No caller can have missed it.
  }

  async replay(): Promise<never> {
    throw new NoLineageError();
  }

  async giveUp(): Promise<never> {
    throw new NoLineageError();
  }

  async move(): Promise<never> {
    throw new NoLineageError();
  }

  async strand(): Promise<undefined> {
    // It ends with its host, and so with its definition.
    return undefined;
  }

  async offered(): Promise<readonly []> {
    return [];
  }

  async giveBack(): Promise<void> {
    // There are no other hosts.
  }

  async open({ id }: Record, plan: PipelinePlan, listener: LedgerListener): Promise<OpenedLedger> {
    const entry = this.#entries.get(id) as Entry;
    const names = plan.sources.map(({ source }) => source.name);
    const { messages } = entry;
    const ledger = new VolatileLedger({
      listener,
      sources: names,
      messages,
      context: contextOf(this.#kernel),
    });
    entry.messages = [];
    entry.ledger = ledger;
    return { ledger, sources: new Map(names.map((name) => [name, BEGIN])) };
  }

  async pause({ id }: Record, paused: boolean): Promise<boolean> {
    const { record } = this.#entries.get(id) as Entry;
    if (record.ended !== undefined) return false;
    record.status = paused ? "paused" : "running";
    return true;
  }

  async end(record: Record, as: "failed" | "cancelled", error: unknown): Promise<boolean> {
    const entry = this.#entries.get(record.id);
    if (entry === undefined || entry.record.ended !== undefined) return false;
    this.ended(record, as, error);
    return true;
  }

  ended({ id }: Record, as: Ended, error: unknown): void {
    const entry = this.#entries.get(id);
    if (entry === undefined || entry.record.ended !== undefined) return;
    Object.assign(entry.record, current(entry), { status: as, error, ended: this.#kernel.env.wallTime() });
    entry.ledger = undefined;
    this.#ended.add(id);
    const [oldest] = this.#ended;
    if (this.#ended.size <= MOST_ENDED || oldest === undefined) return;
    this.#ended.delete(oldest);
    this.#entries.delete(oldest);
  }

  bytesOf(value: unknown): number {
    return JSON.stringify(value)?.length ?? 0;
  }

  async close(): Promise<void> {
    this.#entries.clear();
  }
}

function current({ record, ledger }: Entry): Record {
  return { ...record, ...ledger?.counts() };
}

/** What a ledger needs, of a system. */
export function contextOf(kernel: Kernel): LedgerContext {
  return {
    now: () => kernel.env.now(),
    after(ms, fn) {
      const timer = kernel.addTimer(ms, { fire: fn });
      return () => void kernel.cancelTimer(timer);
    },
  };
}
