// The port of a flow's process to its host.

import type { Subject } from "../../host/index.js";
import type { Values } from "../../host/payload/values.js";
import type { Kernel } from "../../process/kernel.js";
import type { Claim, Store } from "../../store/index.js";
import type { AnyFlow, FlowDefinition } from "../definition/define.js";
import type { Suspension } from "../hospital/record.js";
import type { SymptomKind } from "../hospital/symptom.js";
import type { BlobWriter } from "../journal/blobs.js";
import type { FlowWrites } from "../journal/changes.js";
import type { Ask, Entry, Stored } from "../journal/entry.js";
import type { FlowRow } from "../journal/tables.js";
import type { FlowEffect, FlowEvent, FlowState, UnreadMessage } from "../machine/state.js";
import type { Timing } from "../queues/options.js";
import type { Evictable } from "./capacity.js";

/** A flow's transition. */
export type Transition = (state: FlowState, event: FlowEvent) => [FlowState, readonly FlowEffect[]];

/** The flow that a transition belongs to, for interceptors. */
export interface TransitionOf {
  /** The id of the flow. */
  readonly id: string;
  /** The name of its definition. */
  readonly name: string;
  /** The version of its definition. */
  readonly version: number;
}

/** Wraps the transition of every flow of a host: for the hospital, metrics, traces, checks. Called once for each flow. */
export type Interceptor = (next: Transition, flow: TransitionOf) => Transition;

/** Limits of flows in a host. See FLOW_DEFAULTS. */
export interface FlowLimits {
  /** A flow that only waits leaves memory after this time. */
  readonly idleMs: number;
  /** How long code that runs over its journal may wait for something that is no ask. */
  readonly stallMs: number;
  /** Most flows in memory at the same time. Others wait in the store; one that only waits leaves its place to them. */
  readonly mostLoaded: number;
  /** How often a host looks for flows of dead hosts and for changes whose notification was lost, where several hosts share a store. */
  readonly pollMs: number;
  /** How many milliseconds flows have to end their running steps when the host stops. */
  readonly drainMs: number;
  /** How many flows are taken from the store at the same time. */
  readonly takeAtOnce: number;
}

/** Limits that are in force unless a host says otherwise. */
export const FLOW_DEFAULTS: FlowLimits = {
  idleMs: 5_000,
  stallMs: 10_000,
  mostLoaded: 100_000,
  pollMs: 5_000,
  drainMs: 5_000,
  takeAtOnce: 200,
};

/** A flow, and what its journal has. */
export interface RecordedFlow {
  readonly definition: FlowDefinition<never>;
  readonly row: FlowRow;
  readonly history: readonly Entry[];
  /** The subject in whose name its code runs. */
  readonly subject: Subject;
}

/** An ask whose place in the code is sought. */
export interface Sought {
  readonly ask: Ask;
  /** The code makes the ask, as recorded: an error that was made there. */
  found(here: Error): void;
}

/** The port of a flow's process to its host. */
export interface FlowPort {
  readonly kernel: Kernel;
  readonly store: Store;
  readonly claim: Claim;
  readonly payloads: Values;
  /** Puts large values apart. */
  readonly blobs: BlobWriter;
  readonly limits: FlowLimits;
  readonly interceptors: readonly Interceptor[];
  /**
   * Replays a journal, after each of its writes: gives the error at which the code stopped. `time`: how many replays of the flow were
   * before; undefined: all kinds of replays are done. Absent unless `verify` is on.
   */
  readonly readBack?:
    | ((
        definition: FlowDefinition<never>,
        row: FlowRow,
        history: readonly Entry[],
        time: number | undefined,
      ) => Promise<unknown>)
    | undefined;
  /**
   * Runs the code of a flow over its journal once more, up to an ask: gives an error that was made there, or undefined if the code did not
   * make the ask. Absent where the code runs for that.
   */
  readonly replayTo?: (flow: RecordedFlow, ask: Ask, signal: AbortSignal) => Promise<Error | undefined>;
  /** The code runs up to this ask. `found` is called there. */
  readonly sought?: Sought;
  /** Runs the code of a flow. Absent: as it is. */
  readonly around?: (code: () => unknown) => unknown;
  /** Milliseconds since 1970 by the store's clock. */
  now(): number;
  /** Calls `drained` of a flow when its code has run as far as it can. */
  drain(flow: { drained(): void }): void;
  /** The code of a flow is about to run. Returns the subject to blame if that code ends the program. */
  begin(id: string): Subject;
  /** Whether an error that the code did not catch keeps the flow, for the hospital, instead of ending it. */
  isForHospital(row: FlowRow, error: unknown, at: Suspension, kind: SymptomKind | undefined): boolean;
  /** The writes that start a child. @throws FlowInputError, UnknownFlowError */
  childOf(parent: FlowRow, flow: AnyFlow, input: unknown, as: NewChild): Promise<FlowWrites>;
  /** Cancels the children of a flow, except those of these asks. Fulfilled when that is durable. */
  cancelChildren(number: number, isSpared: (key: string) => boolean): Promise<void>;
  /** The writes that start a flow that answers a session. @throws UnknownFlowError */
  answererOf(from: FlowRow, flow: AnyFlow, id: string): Promise<FlowWrites>;
  /** The writes that send a message. @throws FlowNotFoundError, MessageError */
  mailTo(from: FlowRow, id: string, topic: string, value: unknown, key: string): Promise<FlowWrites>;
  /** The writes that request something of a flow. Empty if it has ended. @throws FlowNotFoundError */
  control(id: string, action: "cancel" | "kill" | "pause"): Promise<FlowWrites>;
  /**
   * Gives a flow back to the store, if it has no mail behind `lastMessage`. Fulfilled with such mail, or with none when the flow was
   * given back.
   */
  park(number: number, lastMessage: number, row: Parked): Promise<UnreadMessage[]>;
  /** The journal is caught up, and the flow runs on. */
  caughtUp(number: number): void;
  /** A flow only waits, or works again. */
  idle(flow: Evictable, isIdle: boolean): void;
}

/** How a flow is given back. */
export interface Parked {
  readonly status: string;
  readonly due: number | null;
  /** Its journal has the cancellation: the request for it is no reason to look at the flow again. */
  readonly isCancelled: boolean;
}

/** A child that a flow starts. */
export interface NewChild {
  readonly id: string;
  /** The key of the ask, from outside. */
  readonly key: string;
  /** Whether it goes on when its parent is cancelled or killed. */
  readonly isLeft: boolean;
}

/** A flow that is to be started. */
export interface NewFlow {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly input: Stored;
  readonly parent?: number;
  readonly parentKey?: string;
  /** It goes on when its parent is cancelled or killed. */
  readonly isLeft?: boolean;
  /** The call that starts it, for a start from outside: the id of the flow if it was made for this start. */
  readonly request?: string | undefined;
  /** The trace that it belongs to. */
  readonly trace?: string | undefined;
  /** It may be there with another input. */
  readonly attach?: boolean;
  /** When it runs. Default: as soon as a host takes it. */
  readonly timing?: Timing;
}
