// The operations of a flow's code. Every method that returns a promise is an *ask*: its outcome is written to the journal before
// the code sees it, and comes from the journal when the code runs again after a crash.

import type { ConsumerGroup } from "../../dispatch/index.js";
import type { Backoff } from "../../process/backoff.js";
import type { Duration } from "../../process/duration.js";
import type { Job, JobPlace } from "../../process/program-host.js";
import type { SqlTransaction } from "../../store/index.js";
import type { Session, SessionWait } from "../sessions/session.js";
import type { AnyFlow, FlowDefinition, MessageTypes } from "./define.js";

/** How a failed step is repeated. */
export interface RetryOptions {
  /** How often the step runs at most, 1 or more. Default 3. `Infinity`: until it succeeds. */
  readonly attempts?: number;
  /**
   * The pauses between the attempts. Default: 1 s, doubled each time, at most 5 minutes, with jitter. An error asks for a longer one, up to an
   * hour, by its `retryAfterMs`, or by the header `Retry-After` of its `response`.
   */
  readonly backoff?: Partial<Backoff>;
}

/** Options of a step. */
export interface StepOptions {
  /** Repeats a step that throws. Default: no repetition, the error goes to the flow at once. */
  readonly retry?: RetryOptions;
  /** How long one attempt may take. A step that takes longer fails with StepTimeoutError. Default: no limit. */
  readonly timeout?: Duration;
}

/** Options of a step that is a job: where it runs, and its arguments. */
export type PlacedStepOptions<Args extends readonly unknown[]> = StepOptions &
  JobPlace &
  ([] extends Args
    ? {
        /** The arguments of the job. They travel, so they may be data, pids and errors, but no functions. */
        readonly args?: Readonly<Args>;
      }
    : {
        /** The arguments of the job. They travel, so they may be data, pids and errors, but no functions. */
        readonly args: Readonly<Args>;
      });

/** What the body of a step gets. */
export interface StepContext {
  /** The id of the flow. */
  readonly flowId: string;
  /** The step's key in the journal: its name, with `#2` and so on when the name was used before. */
  readonly key: string;
  /** The same in every attempt of this step, also after a crash, and in no other step: give it to services that deduplicate. */
  readonly idempotencyKey: string;
  /** 1 for the first attempt. Attempts before a crash count when their failure was recorded. */
  readonly attempt: number;
  /**
   * The fencing token of the flow: 1 or more, and larger each time that a host takes the flow, also one that had it before. A host that
   * has lost the flow has a smaller one. Give it to a service that keeps the largest token it has seen of a flow and refuses smaller ones:
   * then a step that still runs on a host that lost the flow does no harm there.
   */
  readonly token: number;
  /**
   * Says that the step is alive, and how far it has come. A heartbeat is written to the store once a second at most, shows in
   * `signalbox flows show`, and is the `lastHeartbeat` of the next attempt. A step that has just written one is no suspect when the
   * program dies again and again.
   *
   * @example
   * const load = async (line: string): Promise<void> => console.log(line);
   * const importLines = defineFlow("import", (flow, lines: string[]) =>
   *   flow.step("import", async (step) => {
   *     for (const [i, line] of lines.entries()) {
   *       if (i < Number(step.lastHeartbeat ?? 0)) continue;
   *       await load(line);
   *       step.heartbeat(i + 1);
   *     }
   *   }),
   * );
   * @param progress - any value that can be stored. Default: none
   * @throws UnstorableValueError, PayloadTooLargeError
   */
  heartbeat(progress?: unknown): void;
  /** The last heartbeat of an earlier attempt that was written, also before a crash. Undefined: there was none. */
  readonly lastHeartbeat: unknown;
  /** Fails the step for good, even if retries are left. @throws NonRetriableError */
  giveUp(reason: string, cause?: unknown): never;
  /** Aborts at the step's timeout, and when the flow ends, is cancelled, killed or moves to another host. */
  readonly signal: AbortSignal;
}

/** Options of a transaction on the flow's own store. */
export interface TransactionOptions {
  /** How long the body may take. Default 5 s. */
  readonly timeout?: Duration;
  /** Repeats a transaction that throws. Default: no repetition. */
  readonly retry?: RetryOptions;
}

/** Options of a wait. */
export interface WaitOptions {
  /** After this time the wait ends with `undefined`. Counted from the ask, across restarts. Default: no limit. */
  readonly timeout?: Duration;
}

/** Options of a child flow. */
export interface ChildOptions extends WaitOptions {
  /** Default: the id of the flow, `/` and the key of the ask. */
  readonly id?: string;
  /**
   * The effect on the child when this flow is cancelled or killed: `cancel` cancels it, and its own children with it; `leave` lets it go
   * on. A child that this flow starts after its cancellation, to clean up, goes on. Default `cancel`.
   */
  readonly onCancel?: "cancel" | "leave";
}

/** A child flow that was started. */
export interface Child<Output> {
  /** The id of the child. */
  readonly id: string;
  /** Waits for its end. Rejects with FlowFailedError if it fails. */
  result(options?: WaitOptions): Promise<Output>;
  /** Asks the child to end early. */
  cancel(): Promise<void>;
}

/** Options of a dispatched step. */
export interface FlowDispatchOptions extends StepOptions {
  /** How often the dispatch is routed anew when its consumer exits. Default: as `system.dispatch`. */
  readonly maxAttempts?: number;
}

/** A flow's undo list: see {@link FlowContext.saga}. */
export interface Saga {
  /** Runs a step. If the saga rolls back, `undo` runs as a step named `undo <name>`, with the step's result. */
  step<T>(
    name: string,
    body: (step: StepContext) => T | PromiseLike<T>,
    undo: (result: T, step: StepContext) => unknown,
    options?: StepOptions,
  ): Promise<T>;
  /** Runs the undo steps of all steps that succeeded, the last first. Errors are collected in an AggregateError. */
  rollback(): Promise<void>;
}

/**
 * The type of a message. With a stated type it is that; else what the definition declares for the topic; `unknown` for a topic that it
 * does not declare.
 */
export type Received<Messages, Stated, Topic extends string> = [Stated] extends [never]
  ? Topic extends keyof Messages
    ? Messages[Topic]
    : unknown
  : Stated;

/** What the code of a flow can do. See the guide, chapter "Durable flows". */
export interface FlowContext<Messages extends MessageTypes = MessageTypes, Progress = unknown> {
  /** The id of the flow. */
  readonly flowId: string;
  /** Aborts when the flow is cancelled. On replay it aborts at the same place. */
  readonly signal: AbortSignal;
  /**
   * Runs `body` at least once and gives its result. Once the result is in the journal, the body never runs again. A job runs elsewhere, in
   * a thread or on another node: where the option `on` says.
   *
   * @throws what the last attempt threw; OptionError; UnsendableError for arguments and results that cannot travel
   * @example
   * const sum = job((numbers: number[]) => numbers.reduce((one, other) => one + other, 0));
   * const workers = await threads(system, { program: new URL("./sums.js", import.meta.url) });
   * const adding = defineFlow("adding", (flow, numbers: number[]) =>
   *   flow.step("sum", sum, { on: workers, args: [numbers], retry: { attempts: 3 } }),
   * );
   */
  step<T>(
    name: string,
    body: (step: StepContext) => T | PromiseLike<T>,
    options?: StepOptions,
  ): Promise<Awaited<T>>;
  step<Args extends readonly unknown[], T>(
    name: string,
    job: Job<Args, T>,
    options: PlacedStepOptions<Args>,
  ): Promise<T>;
  /**
   * Runs SQL on the flow's own store, exactly once: it commits together with the journal's entry, or not at all. When the store cannot
   * carry it out, because other writers were faster in each attempt, say, or it is away, the hospital runs the flow again.
   *
   * @throws what the last attempt of the body threw
   */
  transaction<T>(
    name: string,
    body: (tx: SqlTransaction) => T | PromiseLike<T>,
    options?: TransactionOptions,
  ): Promise<Awaited<T>>;
  /** Waits, also across restarts. A flow that sleeps for long leaves memory. */
  sleep(duration: Duration): Promise<void>;
  /** Waits until a moment: milliseconds since 1970, or a Date. */
  sleepUntil(moment: number | { getTime(): number }): Promise<void>;
  /**
   * Takes the oldest message of a topic, or waits for one. `undefined` after the timeout. A topic that the definition declares in
   * `messages` has the type of its schema. Any other topic has the type that the caller states: `receive<string>("approval")`.
   */
  receive<T = never, K extends string = string>(topic: K): Promise<Received<Messages, NoInfer<T>, K>>;
  receive<T = never, K extends string = string>(
    topic: K,
    options: WaitOptions,
  ): Promise<Received<Messages, NoInfer<T>, K> | undefined>;
  /** Sends a message to a flow of the same store, exactly once. Fulfilled when it is durable. */
  send(to: string | { readonly id: string }, topic: string, value: unknown): Promise<void>;
  /** Starts a child flow and waits for its result. */
  call<I, O, M extends MessageTypes, P>(
    flow: FlowDefinition<I, O, M, P>,
    input: I,
    options?: ChildOptions,
  ): Promise<O>;
  /** Starts a child flow. Fulfilled when the child is durable. */
  start<I, O, M extends MessageTypes, P>(
    flow: FlowDefinition<I, O, M, P>,
    input: I,
    options?: ChildOptions,
  ): Promise<Child<O>>;
  /** A step that a consumer of the group does: when the consumer exits, the next one gets it at once. */
  dispatch<T, R = unknown>(
    name: string,
    group: ConsumerGroup<T>,
    payload: T,
    options?: FlowDispatchOptions,
  ): Promise<R>;
  /** Several asks as one step without a journal of its own: repeated as a whole after a crash, so it must be idempotent. */
  idempotent<T>(name: string, body: (inner: InnerContext) => Promise<T>, options?: StepOptions): Promise<T>;
  /** An idempotent part that is repeated when it takes too long: by default 30 s, 6 restarts, each 1.8 times as long, with jitter. */
  timed<T>(name: string, body: (inner: InnerContext) => Promise<T>, options?: TimedOptions): Promise<T>;
  /** A list of undo steps: compensation for what cannot be rolled back. */
  saga(): Saga;
  /**
   * Opens a session with another flow of the store, on any host: with the one of this id, which has to `accept` the protocol; or with a
   * new flow of a definition that `answers` it, and that is started without input. Fulfilled when the other side has accepted.
   *
   * @throws SessionRejectedError when no flow answers; SessionWaitError after the timeout
   */
  session(
    to: string | { readonly id: string } | AnyFlow,
    protocol: string,
    options?: SessionWait,
  ): Promise<Session>;
  /** Answers the oldest session that another flow opens with this one, or waits for one. `undefined` after the timeout. */
  accept(protocol: string): Promise<Session>;
  accept(protocol: string, options: SessionWait): Promise<Session | undefined>;
  /** Milliseconds since 1970: the time at which the last outcome that the code has seen was recorded. The same on replay. */
  now(): number;
  /** In [0, 1). The same on replay. Not for secrets. */
  random(): number;
  /** An id that is unique among all flows, and the same on replay. */
  id(): string;
  /** For changed code: `to` for flows that come here for the first time, what was recorded (or `from`) for older ones. */
  version(change: string, from: number, to: number): number;
  /** Publishes how far the flow is. Durable with the next entry of the journal. */
  progress(value: Progress): void;
  /** Adds an event to the flow's stream of events. Fulfilled when it is durable. */
  emit(topic: string, value: unknown): Promise<void>;
  /** Answers `run.query(name)` from outside, from the code's own variables. Must change nothing. */
  query<T>(name: string, answer: (argument: unknown) => T): void;
  /**
   * Ends this journal and starts the flow anew with another input, under the same id. The other sides of open sessions get a
   * SessionPeerError, with a SessionLeftError as its cause.
   */
  continueAsNew(input: unknown): never;
  /** Sends this flow to the hospital: it stops until it is discharged, and then does this again. */
  hospital(reason: string): never;
}

/** Inside of an idempotent part: nothing of it is written to the journal. */
export interface InnerContext extends StepContext {
  /** Runs a step at once, with its retries. Nothing of it is recorded. A job runs elsewhere, as in a step of the flow. */
  step<T>(
    name: string,
    body: (step: StepContext) => T | PromiseLike<T>,
    options?: StepOptions,
  ): Promise<Awaited<T>>;
  step<Args extends readonly unknown[], T>(
    name: string,
    job: Job<Args, T>,
    options: PlacedStepOptions<Args>,
  ): Promise<T>;
  /** Waits in memory. */
  sleep(duration: Duration): Promise<void>;
}

/** Options of {@link FlowContext.timed}. */
export interface TimedOptions {
  /** How long the first attempt may take. Default 30 s. */
  readonly timeout?: Duration;
  /** How often the part is repeated, 0 or more. Default 6. */
  readonly restarts?: number;
  /** Each attempt may take this many times as long as the one before, 1 or more. Default 1.8. */
  readonly factor?: number;
}
