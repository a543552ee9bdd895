// The events of telemetry, with their fields. This table is the contract; channels.ts makes a channel of node:diagnostics_channel
// of each name.

import type { FlowEndOutcome, FlowStepOutcome } from "../../flow/runtime/taps.js";
import type { Pid } from "../../process/pid.js";
import type { ExitReason } from "../../process/reason.js";
import type { CallOutcome } from "../../process/taps.js";
import type { RequestOutcome } from "./edges.js";
import type { QueueOutcome, RouteOutcome, TappedAttempt, TappedMessage } from "./pipeline-taps.js";

/** The fields of all events. */
export interface TelemetryEvent {
  /** Name of the system. */
  readonly system: string;
  /** Id of the system's node: tells systems of the same name apart. */
  readonly node: string;
  /** When, in milliseconds of the system's clock: monotonic, and virtual under a test clock or the simulator. */
  readonly at: number;
}

/** The begin of a span. */
export interface SpanBegin extends TelemetryEvent {
  /** Number of the span: its end has the same. Unique within a system. */
  readonly span: number;
}

/** The end of a span. Each begin has exactly one. */
export interface SpanEnd extends SpanBegin {
  /** Milliseconds since the begin. */
  readonly durationMs: number;
}

/** The two ends of a call. */
export interface CallBegin extends SpanBegin {
  /** The process that calls; undefined for code outside of all processes. */
  readonly from: Pid | undefined;
  /** The pid or the name that is called. */
  readonly to: Pid | string;
  /** Label of the callee. Without one: the name of its registry, or `unregistered` for a name that no process has. */
  readonly label: string;
  /** The call of a server, or undefined for a `ctx.call`, whose messages telemetry does not read. */
  readonly method: string | undefined;
}

/** The end of a call. */
export interface CallEnd extends CallBegin, SpanEnd {
  /** How the call ended. */
  readonly outcome: CallOutcome;
  /** The error with which the call rejects; undefined when it was `replied`. */
  readonly error: unknown;
}

/** A cast is sent. */
export interface CastSent extends SpanBegin {
  /** The process that casts, if its handle was made `with({ from })`. */
  readonly from: Pid | undefined;
  /** The pid or the name of the server. */
  readonly to: Pid | string;
  /** Label of the server. Without one: the name of its registry, or `unregistered` for a name that no process has. */
  readonly label: string;
  /** The cast. */
  readonly method: string;
}

/** A process begins to handle a message. */
export interface MessageBegin extends SpanBegin {
  /** The process. */
  readonly process: Pid;
  /** Its label. */
  readonly label: string;
  /** The kind of the message: of a call, a cast, a dispatch (`delivery`), or a plain one. */
  readonly kind: "call" | "cast" | "delivery" | "message";
  /** The call or cast of a server, or the group of a dispatch. */
  readonly name: string | undefined;
  /** Span of the call, cast or attempt that sent it, if that one was sampled. One of another node has no event here. */
  readonly cause: number | undefined;
  /** Milliseconds that the message was in the mailbox. */
  readonly waitedMs: number;
}

/** A process has handled a message: the handler returned, or what it returned has settled, or a body receives again. */
export interface MessageEnd extends MessageBegin, SpanEnd {
  /** `crashed`: the handler threw or rejected. `exited`: the process ended meanwhile. */
  readonly outcome: "handled" | "crashed" | "exited";
}

/** A dispatch begins. */
export interface DispatchBegin extends SpanBegin {
  /** The process that dispatches; undefined for code outside of all processes. */
  readonly from: Pid | undefined;
  /** Name of the consumer group. */
  readonly group: string;
  /** Id of the envelope, if its maker gave it one. */
  readonly envelope: string | undefined;
}

/**
 * How a dispatch ended: `delivered`; `withdrawn` by its last caller; or the failure that docs/guide/telemetry.md names with the
 * error of each.
 */
export type DispatchOutcome =
  | "delivered"
  | "withdrawn"
  | "no-consumer"
  | "unknown-consumer"
  | "evaluation"
  | "deadline"
  | "attempts"
  | "rejected"
  | "crashed"
  | "compensated"
  | "compensation-failed"
  | "died";

/** The end of a dispatch. */
export interface DispatchEnd extends DispatchBegin, SpanEnd {
  /** How the dispatch ended. */
  readonly outcome: DispatchOutcome;
  /** Deliveries that were made. */
  readonly attempts: number;
}

/** One attempt of a dispatch begins: the envelope is forwarded to a consumer. */
export interface AttemptBegin extends SpanBegin {
  /** Span of the dispatch. */
  readonly dispatch: number;
  /** Name of the consumer group. */
  readonly group: string;
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** Id of the consumer. */
  readonly consumer: string;
  /** Process of the consumer. */
  readonly process: Pid;
  /** For an attempt after the crash of a consumer: the id of that crash. */
  readonly crash: string | undefined;
}

/** The end of an attempt. */
export interface AttemptEnd extends Omit<AttemptBegin, "crash">, SpanEnd {
  /**
   * `settled`: the dispatch is delivered. `crashed`, `rejected`, `returned` and `interrupted`: as in `EndedAttempt`. `withdrawn`:
   * the dispatch ended first.
   */
  readonly outcome: "settled" | "crashed" | "rejected" | "returned" | "interrupted" | "withdrawn";
  /** The id of the crash that ended the attempt. */
  readonly crash: string | undefined;
}

/** A start begins that its caller waits for: of a child, or `system.start`. */
export interface StartBegin extends SpanBegin {
  /** The new process. */
  readonly process: Pid;
  /** The names from the system down to the process: `shop/floor/clerk`. */
  readonly path: string;
  /** The supervisor, if one starts it. */
  readonly supervisor: Pid | undefined;
  /** For a restart: the id of the crash that it follows. */
  readonly crash: string | undefined;
}

/** The end of a start: `init` has ended. */
export interface StartEnd extends StartBegin, SpanEnd {
  /** How the start ended. */
  readonly outcome: "started" | "ignored" | "failed";
}

/** The life of a process begins. */
export interface ProcessBegin extends SpanBegin {
  /** The new process. */
  readonly process: Pid;
  /** The process that spawned it; undefined when code outside of all processes did. */
  readonly parent: Pid | undefined;
  /** The names from the system down to the process. */
  readonly path: string;
}

/** A process has ended. */
export interface ProcessEnd extends Omit<ProcessBegin, "path">, SpanEnd {
  /** Its exit reason. */
  readonly reason: ExitReason;
  /** The process whose exit signal ended it, if one did. */
  readonly by: Pid | undefined;
  /** The id of the crash, if the end was one. */
  readonly crash: string | undefined;
  /** Messages and signals that it has handled. */
  readonly handled: number;
}

/** A process ended with another reason than `normal` or `shutdown`. */
export interface Crash extends TelemetryEvent {
  /** Id of this crash: restarts and attempts that follow from it have the same. `shop.17`, for the process `<shop.17 clerk>`. */
  readonly crash: string;
  /** The process. */
  readonly process: Pid;
  /** The names from the system down to the process. */
  readonly path: string;
  /** Its exit reason. */
  readonly reason: ExitReason;
  /** The crash along a link, or the crash of the process that sent the exit signal, that this one follows from. */
  readonly cause: string | undefined;
  /** Span of the message that the process was handling, if that one was sampled. */
  readonly message: number | undefined;
}

/** A supervisor restarts a child, or gives up. */
export interface Restarted extends TelemetryEvent {
  /** The supervisor. */
  readonly supervisor: Pid;
  /** The names from the system down to the child. */
  readonly path: string;
  /** Id of the child. */
  readonly child: string;
  /** The id of the crash that it follows. Undefined for a child that ended in order, or that was never spawned. */
  readonly crash: string | undefined;
  /** The reason of the child's exit. */
  readonly reason: ExitReason;
  /** Siblings that are restarted together with it. */
  readonly siblings: readonly string[];
  /** Milliseconds until the next start. */
  readonly delayMs: number;
  /** The intensity allows no more restarts: the supervisor stops its children and ends. */
  readonly gaveUp: boolean;
}

/** The mailboxes of all processes with one label, at one moment. {@link TelemetryStream.sample} emits one for each label. */
export interface MailboxDepth extends TelemetryEvent {
  /** The label. */
  readonly label: string;
  /** Living processes with this label. */
  readonly processes: number;
  /** Messages and signals that wait in all their mailboxes together. */
  readonly depth: number;
  /** Messages and signals in the fullest of their mailboxes. */
  readonly deepest: number;
}

/** An HTTP server got a request. */
export interface HttpBegin extends SpanBegin {
  /** Label of the server. */
  readonly label: string;
  /** `GET`, `POST` and so on. */
  readonly method: string;
}

/** A request has been answered, or cannot be answered any more. */
export interface HttpEnd extends HttpBegin, SpanEnd {
  /** `gone`: the client went away, or the server ended, before the response was complete. */
  readonly outcome: RequestOutcome;
  /** The status of the response; undefined when none was begun. */
  readonly status: number | undefined;
  /** The route that answered, as the handler has named it. Never the path, which clients choose. */
  readonly route: string | undefined;
}

/** A durable flow is about to be started, or begins anew. */
export interface FlowStart extends SpanBegin {
  /** The name of the flow's definition. */
  readonly flow: string;
  /** The id of the flow. */
  readonly id: string;
  /** For a flow that begins anew: the `traceparent` of its start before. */
  readonly follows: string | undefined;
}

/** An attempt of a durable flow's step begins. */
export interface FlowStepBegin extends SpanBegin {
  /** The name of the flow's definition. */
  readonly flow: string;
  /** The id of the flow. */
  readonly id: string;
  /** The kind of the request: `step`, `transaction`, `dispatch`, and so on. */
  readonly kind: string;
  /** The key of the step in the journal. */
  readonly key: string;
}

/** An attempt of a durable flow's step has ended. */
export interface FlowStepEnd extends FlowStepBegin, SpanEnd {
  /**
   * `retried`: it failed and runs again. `failed`: its error went to the flow's code. `aborted`: the flow was cancelled, or its process
   * ended.
   */
  readonly outcome: FlowStepOutcome;
}

/** The end of a durable flow is durable. */
export interface FlowEnd extends TelemetryEvent {
  /** The name of the flow's definition. */
  readonly flow: string;
  /** The id of the flow. */
  readonly id: string;
  /** How it ended. */
  readonly outcome: FlowEndOutcome;
  /** How many milliseconds it took since its start, across restarts. */
  readonly durationMs: number;
}

/** An execution of a pipeline is about to be started. */
export interface PipelineStart extends SpanBegin {
  /** The name of the pipeline. */
  readonly pipeline: string;
  /** The id of the execution. */
  readonly execution: string;
  /** For a replay: the `traceparent` of the execution whose messages it replays. */
  readonly follows: string | undefined;
}

/** An attempt at a message of a pipeline, or at a batch, begins. */
export interface RouteBegin extends SpanBegin, TappedAttempt {}

/** The attempt has ended. */
export interface RouteEnd extends RouteBegin, SpanEnd {
  /** `held`: a breaker did not admit it. `aborted`: its worker has ended. */
  readonly outcome: RouteOutcome;
}

/** A message is about to be published in a durable queue. */
export interface QueuePublish extends SpanBegin {
  /** The name of the queue. */
  readonly queue: string;
}

/** An attempt at a message of a durable queue begins. */
export interface QueueBegin extends SpanBegin, TappedMessage {}

/** The attempt has ended. */
export interface QueueEnd extends QueueBegin, SpanEnd {
  /** The status that the handler returned. `failed`: it threw. `aborted`: its process has ended. */
  readonly outcome: QueueOutcome;
}

/**
 * All events, by name. The channel of an event is `signalbox:` and its name: `signalbox:call:end`.
 *
 * | event | emitted when |
 * |---|---|
 * | `call:begin`, `call:end` | a call is made; it ended, by a reply or in any other way |
 * | `cast` | a cast is sent |
 * | `message:begin`, `message:end` | a process handles a message |
 * | `http:begin`, `http:end` | an HTTP server got a request; its response is complete, or its client is gone |
 * | `dispatch:begin`, `dispatch:end` | an envelope is dispatched; the dispatch ended |
 * | `attempt:begin`, `attempt:end` | a dispatch forwards its envelope to a consumer; the attempt ended |
 * | `start:begin`, `start:end` | a start begins that its caller waits for; its `init` ended |
 * | `process:begin`, `process:end` | a process was spawned; it ended |
 * | `crash` | a process ended with another reason than `normal` or `shutdown` |
 * | `restart` | a supervisor restarts a child, or gives up |
 * | `flow:start`, `flow:end` | a durable flow is about to be started, or begins anew; it ended |
 * | `flow:step:begin`, `flow:step` | an attempt of a durable flow's step begins; it ended |
 * | `pipeline:start` | an execution of a pipeline is about to be started |
 * | `route:begin`, `route:end` | an attempt at a message of a pipeline begins; it ended |
 * | `queue:publish` | a message is about to be published in a durable queue |
 * | `queue:begin`, `queue:end` | an attempt at a message of a durable queue begins; it ended |
 * | `mailbox` | a gauge: the mailboxes of one label are counted |
 */
export interface TelemetryEvents {
  /** A call is made. */
  readonly "call:begin": CallBegin;
  /** A call has ended. */
  readonly "call:end": CallEnd;
  /** A cast is sent. */
  readonly cast: CastSent;
  /** A process begins to handle a message. */
  readonly "message:begin": MessageBegin;
  /** A process has handled a message. */
  readonly "message:end": MessageEnd;
  /** An HTTP server got a request. */
  readonly "http:begin": HttpBegin;
  /** A request has been answered, or cannot be. */
  readonly "http:end": HttpEnd;
  /** An envelope is dispatched. */
  readonly "dispatch:begin": DispatchBegin;
  /** A dispatch has ended. */
  readonly "dispatch:end": DispatchEnd;
  /** The envelope is forwarded to a consumer. */
  readonly "attempt:begin": AttemptBegin;
  /** An attempt has ended. */
  readonly "attempt:end": AttemptEnd;
  /** A start begins. */
  readonly "start:begin": StartBegin;
  /** A start has ended. */
  readonly "start:end": StartEnd;
  /** A process was spawned. */
  readonly "process:begin": ProcessBegin;
  /** A process has ended. */
  readonly "process:end": ProcessEnd;
  /** A process has crashed. */
  readonly crash: Crash;
  /** A supervisor restarts a child, or gives up. */
  readonly restart: Restarted;
  /** A durable flow is about to be started. */
  readonly "flow:start": FlowStart;
  /** An attempt of a durable flow's step begins. */
  readonly "flow:step:begin": FlowStepBegin;
  /** An attempt of a durable flow's step has ended. */
  readonly "flow:step": FlowStepEnd;
  /** A durable flow has ended. */
  readonly "flow:end": FlowEnd;
  /** An execution of a pipeline is about to be started. */
  readonly "pipeline:start": PipelineStart;
  /** An attempt at a message of a pipeline begins. */
  readonly "route:begin": RouteBegin;
  /** An attempt at a message of a pipeline has ended. */
  readonly "route:end": RouteEnd;
  /** A message is about to be published in a durable queue. */
  readonly "queue:publish": QueuePublish;
  /** An attempt at a message of a durable queue begins. */
  readonly "queue:begin": QueueBegin;
  /** An attempt at a message of a durable queue has ended. */
  readonly "queue:end": QueueEnd;
  /** The mailboxes of one label. */
  readonly mailbox: MailboxDepth;
}

/** The name of an event. */
export type TelemetryEventName = keyof TelemetryEvents;
