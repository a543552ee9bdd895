// Where a host keeps its executions: in a store, or in memory alone.

import type { LedgerListener, Publication } from "../ledger/ledger.js";
import type { Ended } from "../ledger/ledger-machine.js";
import type { OpenedLedger } from "./execution.js";
import type { PipelinePlan } from "./plan.js";
import type { PipelineSummary } from "./summary.js";

/** What an execution begins with. */
export interface Beginning {
  readonly id: string;
  readonly plan: PipelinePlan;
  readonly input: unknown;
  readonly messages: readonly Publication[];
}

/** An execution as a catalogue knows it. */
export interface Record extends PipelineSummary {
  readonly number: number;
  readonly input: unknown;
  /** Why it failed. */
  readonly error: unknown;
}

/** The executions of a host. */
export interface Catalogue {
  /** Whether calls of adapters are recorded. */
  readonly lineage: boolean;
  /** Whether an execution outlives its process. */
  readonly durable: boolean;
  /** Creates an execution, or finds the one with this id. */
  create(beginning: Beginning): Promise<{ readonly record: Record; readonly isNew: boolean }>;
  find(id: string): Promise<Record | undefined>;
  /** Executions that have not ended. */
  unfinished(): Promise<readonly Record[]>;
  /** Executions whose end nobody was told of. */
  unannounced(): Promise<readonly Record[]>;
  announced(record: Record): Promise<void>;
  open(record: Record, plan: PipelinePlan, listener: LedgerListener): Promise<OpenedLedger>;
  /** False: it has ended. */
  pause(record: Record, paused: boolean): Promise<boolean>;
  /** Ends an execution that does not run here. False: it has ended. */
  end(record: Record, as: "failed" | "cancelled", error: unknown): Promise<boolean>;
  /** The ledger of an execution has ended it. */
  ended(record: Record, as: Ended, error: unknown): void;
  bytesOf(value: unknown): number;
  close(): Promise<void>;
}
