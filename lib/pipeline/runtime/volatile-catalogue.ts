// Executions in memory alone: they end with their processes.

import type { Kernel } from "../../process/kernel.js";
import type { Ended, LedgerContext, LedgerCounts, LedgerListener, SourcePlace } from "../ledger/ledger.js";
import { VolatileLedger } from "../ledger/volatile-ledger.js";
import type { Beginning, Catalogue, ExecutionRecord, OpenedLedger } from "./catalogue.js";
import type { PipelinePlan } from "./plan.js";

type Changing = { -readonly [K in keyof ExecutionRecord]: ExecutionRecord[K] };

interface KnownExecution {
  readonly record: Changing;
  /** Let go of when the ledger has them. */
  messages: Beginning["messages"];
  ledger: { counts(): LedgerCounts } | undefined;
}

/** Executions that have ended, and are still known. Of more, the oldest are forgotten. */
const MOST_ENDED = 1_000;

const BEGIN: SourcePlace = { given: 0, checkpoint: undefined };

export class VolatileCatalogue implements Catalogue {
  readonly stored = undefined;
  readonly hashOf = undefined;
  readonly #kernel: Kernel;
  readonly #entries = new Map<string, KnownExecution>();
  readonly #ended = new Set<string>();
  #last = 0;

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  async create({
    id,
    plan,
    input,
    messages,
    trace,
  }: Beginning): Promise<{ record: ExecutionRecord; isNew: boolean }> {
    const known = this.#entries.get(id);
    if (known !== undefined) return { record: current(known), isNew: false };
    const pending = plan.sources.length + messages.length;
    const record: Changing = {
      id,
      pipeline: plan.name,
      status: "running",
      inputs: messages.length,
      done: 0,
      dead: 0,
      pending,
      created: this.#kernel.env.wallTime(),
      ended: undefined,
      ...(plan.version !== 1 && { version: plan.version }),
      number: ++this.#last,
      input,
      error: undefined,
      trace: trace ?? null,
    };
    const entry: KnownExecution = { record, messages, ledger: undefined };
    this.#entries.set(id, entry);
    return { record: current(entry), isNew: true };
  }

  async find(id: string): Promise<ExecutionRecord | undefined> {
    const entry = this.#entries.get(id);
    return entry === undefined ? undefined : current(entry);
  }

  async open({ id }: ExecutionRecord, plan: PipelinePlan, listener: LedgerListener): Promise<OpenedLedger> {
    const entry = this.#entries.get(id) as KnownExecution;
    const names = plan.sources.map(({ source }) => source.name);
    const { messages } = entry;
    const ledger = new VolatileLedger({
      listener,
      sources: names,
      messages,
      context: ledgerContextOf(this.#kernel),
    });
    entry.messages = [];
    entry.ledger = ledger;
    return { ledger, sources: new Map(names.map((name) => [name, BEGIN])) };
  }

  async pause({ id }: ExecutionRecord, paused: boolean): Promise<boolean> {
    const { record } = this.#entries.get(id) as KnownExecution;
    if (record.ended !== undefined) return false;
    record.status = paused ? "paused" : "running";
    return true;
  }

  async end(record: ExecutionRecord, as: "failed" | "cancelled", error: unknown): Promise<boolean> {
    const entry = this.#entries.get(record.id);
    if (entry === undefined || entry.record.ended !== undefined) return false;
    this.ended(record, as, error);
    return true;
  }

  ended({ id }: ExecutionRecord, as: Ended, error: unknown): void {
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

function current({ record, ledger }: KnownExecution): ExecutionRecord {
  return { ...record, ...ledger?.counts() };
}

/** The surroundings of a ledger, on a system. */
export function ledgerContextOf(kernel: Kernel): LedgerContext {
  return {
    now: () => kernel.env.now(),
    after(ms, fn) {
      const timer = kernel.addTimer(ms, { fire: fn });
      return () => void kernel.cancelTimer(timer);
    },
  };
}
