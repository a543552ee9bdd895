// Where a host keeps its executions: in a store, or in memory alone.

import type { Payloads } from "../../host/payload/payloads.js";
import type { Store } from "../../store/index.js";
import type { MissingPart } from "../definition/missing.js";
import type { Ended, Ledger, LedgerListener, Publication, SourcePlace } from "../ledger/ledger.js";
import type { Offer } from "../ledger/offers.js";
import type { GivenUp, GiveUpRequest, Moved, MoveRequest } from "../operations/change-options.js";
import type { PipelineSummary } from "../operations/operations.js";
import type { ReplayRequest } from "../operations/replay-options.js";
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

/** Executions in a store outlive their host, and hosts of a shared store work on them together. */
export interface StoredExecutions {
  readonly tables: OpenTables;
  /** Whether other hosts work on the same executions. Then the host looks at intervals for executions that they have started or ended. */
  readonly shared: boolean;
  /** Executions that have not ended, without those that the host knows. */
  unfinished(isKnown: (id: string) => boolean): Promise<readonly ExecutionRecord[]>;
  /** Executions whose end is not announced yet. */
  unannounced(): Promise<readonly ExecutionRecord[]>;
  announced(record: ExecutionRecord): Promise<void>;
  /**
   * Looks whether an execution can end.
   *
   * @returns the missing parts, if they were not reported before
   */
  strand(
    record: ExecutionRecord,
    plan: PipelinePlan | "no pipeline" | "no version",
  ): Promise<readonly MissingPart[] | undefined>;
  /** In a shared store: the versions that its hosts can run. */
  offered(): Promise<readonly Offer[]>;
  /** Gives back the rows that lost hosts held. */
  giveBack(): Promise<void>;
  /** Creates the execution of a replay, or finds the one with this id. It is filled when it is opened. @throws ReplayError */
  replay(
    record: ExecutionRecord,
    plan: PipelinePlan,
    to: string,
    request: ReplayRequest,
  ): Promise<BegunReplay>;
  /** Gives messages and sources of an execution up. @throws PipelineChangeError */
  giveUp(record: ExecutionRecord, request: GiveUpRequest): Promise<GivenUp>;
  /** Moves messages to another route. @throws PipelineChangeError, MessageTooLargeError */
  move(record: ExecutionRecord, plan: PipelinePlan, request: MoveRequest): Promise<Moved>;
}

/** The executions of a host. */
export interface Catalogue {
  /** Undefined: executions are in memory alone. They end with their processes, and leave no lineage. */
  readonly stored: StoredExecutions | undefined;
  /** Creates an execution, or finds the one with this id. */
  create(beginning: Beginning): Promise<{ readonly record: ExecutionRecord; readonly isNew: boolean }>;
  find(id: string): Promise<ExecutionRecord | undefined>;
  open(record: ExecutionRecord, plan: PipelinePlan, listener: LedgerListener): Promise<OpenedLedger>;
  /** False: it has ended. */
  pause(record: ExecutionRecord, paused: boolean): Promise<boolean>;
  /** Ends an execution that does not run here. False: it has ended. */
  end(record: ExecutionRecord, as: "failed" | "cancelled", error: unknown): Promise<boolean>;
  /** The ledger of an execution has ended it. */
  ended(record: ExecutionRecord, as: Ended, error: unknown): void;
  bytesOf(value: unknown): number;
  /** Undefined: no route of the host asks for hashes, or no calls are recorded. */
  readonly hashOf: ValueHash | undefined;
  close(): Promise<void>;
}
