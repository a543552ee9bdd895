// Where a host keeps its executions: in a store, or in memory alone.

import type { Payloads } from "../../host/payload/payloads.js";
import type { Store } from "../../store/index.js";
import type { MissingPart } from "../definition/missing.js";
import type { Ended, LedgerListener, Publication } from "../ledger/ledger.js";
import type { Offer } from "../ledger/offers.js";
import type { GivenUp, GiveUpRequest, Moved, MoveRequest } from "../operations/change-options.js";
import type { PipelineSummary } from "../operations/operations.js";
import type { ReplayRequest } from "../operations/replay-options.js";
import type { OpenedLedger } from "./execution.js";
import type { PipelinePlan } from "./plan.js";
import type { ValueHash } from "./value-hash.js";

/** What an execution begins with. */
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
export interface Record extends PipelineSummary {
  readonly number: number;
  readonly input: unknown;
  /** Why it failed. */
  readonly error: unknown;
  /** The trace in which it was started. */
  readonly trace: string | null;
}

/** The tables in which a host keeps its executions, and how their values are read. */
export interface OpenTables {
  readonly store: Store;
  readonly payloads: Payloads;
}

/** The execution of a replay. */
export interface BegunReplay {
  readonly record: Record;
  /** How many messages it replays. */
  readonly messages: number;
}

/** The executions of a host. */
export interface Catalogue {
  /** Whether calls of adapters are recorded. */
  readonly lineage: boolean;
  /** Whether an execution outlives its process. */
  readonly durable: boolean;
  /** Undefined: they are in memory alone. */
  readonly tables: OpenTables | undefined;
  /** Whether other hosts work on the same executions. Then the host looks at intervals for executions that they have started or ended. */
  readonly shared: boolean;
  /** Creates an execution, or finds the one with this id. */
  create(beginning: Beginning): Promise<{ readonly record: Record; readonly isNew: boolean }>;
  find(id: string): Promise<Record | undefined>;
  /** Executions that have not ended, without those that the host knows. */
  unfinished(isKnown: (id: string) => boolean): Promise<readonly Record[]>;
  /** Executions whose end is not announced yet. */
  unannounced(): Promise<readonly Record[]>;
  /**
   * Looks whether an execution can end.
   *
   * @returns the missing parts, if they were not reported before
   */
  strand(
    record: Record,
    plan: PipelinePlan | "no pipeline" | "no version",
  ): Promise<readonly MissingPart[] | undefined>;
  /** In a shared store: the versions that its hosts can run. */
  offered(): Promise<readonly Offer[]>;
  /** Gives back the rows that lost hosts held. */
  giveBack(): Promise<void>;
  announced(record: Record): Promise<void>;
  /** Creates the execution of a replay, or finds the one with this id. It is filled when it is opened. @throws ReplayError */
  replay(record: Record, plan: PipelinePlan, to: string, request: ReplayRequest): Promise<BegunReplay>;
  open(record: Record, plan: PipelinePlan, listener: LedgerListener): Promise<OpenedLedger>;
  /** False: it has ended. */
  pause(record: Record, paused: boolean): Promise<boolean>;
  /** Ends an execution that does not run here. False: it has ended. */
  end(record: Record, as: "failed" | "cancelled", error: unknown): Promise<boolean>;
  /** Gives messages and sources of an execution up. @throws PipelineChangeError, NoLineageError */
  giveUp(record: Record, request: GiveUpRequest): Promise<GivenUp>;
  /** Moves messages to another route. @throws PipelineChangeError, MessageTooLargeError, NoLineageError */
  move(record: Record, plan: PipelinePlan, request: MoveRequest): Promise<Moved>;
  /** The ledger of an execution has ended it. */
  ended(record: Record, as: Ended, error: unknown): void;
  bytesOf(value: unknown): number;
  /** Undefined: no route of the host asks for hashes, or no calls are recorded. */
  readonly hashOf: ValueHash | undefined;
  close(): Promise<void>;
}
