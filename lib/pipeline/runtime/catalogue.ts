// Where a host keeps its executions: in a store, or in memory alone.

import type { EvidenceView } from "../../host/index.js";
import type { Payloads } from "../../host/payload/payloads.js";
import type { Store } from "../../store/index.js";
import type { Ledger, LedgerListener, Publication, SourcePlace } from "../ledger/ledger.js";
import type { PipelineSummary } from "../operations/operations.js";
import type { PipelinePlan } from "./plan.js";
import type { ValueHash } from "./value-hash.js";

/** The beginning of an execution. */
export interface Beginning {
  readonly id: string;
  readonly plan: PipelinePlan;
  readonly input: unknown;
  readonly messages: readonly Publication[];
  /** The trace in which it is started. */
  readonly trace?: string | undefined;
  /** The call that starts it: the id of the execution if it was made for this start. */
  readonly request?: string | undefined;
}

/** An execution as a catalogue knows it. */
export interface ExecutionRecord extends PipelineSummary {
  readonly number: number;
  readonly input: unknown;
  /** Why it failed. */
  readonly error: unknown;
  /** The trace in which it was started. */
  readonly trace: string | null;
}

/** A ledger that was opened for an execution. */
export interface OpenedLedger {
  readonly ledger: Ledger;
  /** The places of the sources that are open, by name. */
  readonly sources: ReadonlyMap<string, SourcePlace>;
}

/** The tables in which a host keeps its executions, and how their values are read. */
export interface OpenTables {
  readonly store: Store;
  readonly payloads: Payloads;
  /** What the evidence of the host says. */
  evidence(): readonly EvidenceView[];
}

/** The execution of a replay. */
export interface BegunReplay {
  readonly record: ExecutionRecord;
  /** How many messages it replays. */
  readonly messages: number;
}

/** A catalogue notifies its host. */
export type CatalogueNotice =
  | { readonly type: "lost"; readonly error: Error }
  /** Other hosts have started executions, or announced ends; or a dead letter was put back. */
  | { readonly type: "look" };

/** Where an execution finds what it needs: in a store, or in memory alone. */
export interface Catalogue {
  /** Undefined: executions are in memory alone. They end with their processes, and leave no lineage. */
  readonly stored: object | undefined;
  open(record: ExecutionRecord, plan: PipelinePlan, listener: LedgerListener): Promise<OpenedLedger>;
  bytesOf(value: unknown): number;
  /** Undefined: no route of the host asks for hashes, or no calls are recorded. */
  readonly hashOf: ValueHash | undefined;
}
