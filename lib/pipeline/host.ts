// Pipeline hosts as users start them, and the handles of a host and of a run.

import { socketOf } from "../admin/admin-socket.js";
import { offerWhile } from "../admin/system/offered.js";
import { adminLodging, HostCalls } from "../host/index.js";
import type { HostSignals } from "../host/signals.js";
import { labelOf } from "../host/versions.js";
import { checkCallOptions } from "../process/calls.js";
import { OptionError } from "../process/errors.js";
import type { Kernel } from "../process/kernel.js";
import { only } from "../process/known-options.js";
import { address, delay, kernelOf, text } from "../process/options.js";
import type { Pid } from "../process/pid.js";
import type { CallOptions } from "../process/request.js";
import { validated } from "../process/standard-schema.js";
import { type Launch, launch, type Startable } from "../process/start.js";
import type { ProcessSystem } from "../process/system.js";
import { supervisor } from "../supervisor/supervisor.js";
import { type MessageId, sourceId } from "./definition/message-id.js";
import type { PipelineDefinition } from "./definition/pipeline.js";
import type { Queue } from "./definition/queue.js";
import { checkPipeline } from "./definition/routes-graph.js";
import { type Caller, changing, hostOperations } from "./host-operations.js";
import type { Publication } from "./ledger/ledger.js";
import type { DeedOptions, DeedResult, DropOptions } from "./messages/dead-options.js";
import type { GivenUp, GiveUpOptions, Moved, MoveOptions } from "./operations/change-options.js";
import { ExecutionFailedError, PipelineInputError, UnknownPipelineError } from "./operations/errors.js";
import type {
  DeadChoice,
  DeadFilter,
  DeadMessage,
  DeadMessageRecord,
  DeadRecordFilter,
  ExecutionDetails,
  Lineage,
  MessageFilter,
  MessageRecord,
  PipelineOperations,
  PipelineSummary,
} from "./operations/operations.js";
import { pipelineService } from "./operations/operations-table.js";
import type { ReplayOptions } from "./operations/replay-options.js";
import { checkWait, type OperationWaitOptions, WAIT } from "./operations/waits.js";
import type { ExecutionRecord } from "./runtime/catalogue.js";
import { type HostRequest, type HostService, PipelineHostProcess } from "./runtime/host-process.js";
import { checkHost, type PipelineHostOptions, type PipelineHostSettings } from "./runtime/options.js";
import type { PipelinePlan } from "./runtime/plan.js";
import type { PipelineProgress } from "./runtime/progress.js";

/** Messages that an execution begins with. */
export interface GivenMessages<T> {
  /** The queue that they go to. */
  readonly to: Queue<T>;
  /** Their values. */
  readonly values: Iterable<T>;
  /** Gives the key of each message. Default: they have none. */
  readonly key?: (value: T, index: number) => string | undefined;
}

/** Options of a start. */
export interface StartExecutionOptions<Input, T> extends OperationWaitOptions {
  /** The id of the execution. A second start under it attaches to the first. Default: a new id. */
  readonly id?: string;
  /** The input: sources of the pipeline find it as `ctx.input`. */
  readonly input?: Input;
  /** Messages that are there from the start. */
  readonly messages?: GivenMessages<T>;
}

/** Options of {@link runPipeline}. */
export interface RunOptions<Input, T>
  extends Omit<StartExecutionOptions<Input, T>, "id" | keyof OperationWaitOptions> {
  /** Ends the run early: messages in work are aborted, and the promise rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
  /** How many milliseconds the run may take. Default: no limit. */
  readonly timeoutMs?: number;
}

/** The definition of a pipeline host. See {@link pipelineHost}. */
export interface PipelineHostDefinition extends Startable<readonly [], PipelineHost> {
  /** A handle of a running host, by pid or by registered name. */
  at(system: ProcessSystem, where: Pid | string): PipelineHost;
}

/**
 * Defines a host of pipelines: start it, or make it a child of a supervisor. When it starts, it takes up the executions in its store that
 * were interrupted.
 *
 * @throws OptionError
 * @example
 * const lines = queue<string>("lines");
 * const shout = route("shout", { from: lines }).via("print", (line) => console.log(line.toUpperCase()));
 * const shouting = definePipeline("shouting", { routes: [shout] });
 * const host = await system.start(pipelineHost({ store: memory(), pipelines: [shouting] }));
 * const run = await host.start(shouting, { messages: { to: lines, values: ["a", "b"] } });
 * console.log((await run.completed()).done);
 */
export function pipelineHost(options: PipelineHostOptions): PipelineHostDefinition {
  const settings = checkHost(options);
  const { name } = settings;
  const service = serviceOf(options, settings);
  return {
    at: (system, where) =>
      new PipelineHost(address("where", where) as Pid<never>, kernelOf(system), settings),
    [launch]: (): Launch<PipelineHost> => ({
      behaviour: new PipelineHostProcess(settings, service),
      options: { label: "pipeline host", ...(name === undefined ? {} : { name }) },
      ref: (pid, kernel) => new PipelineHost(pid, kernel, settings),
    }),
  };
}

/** What a host offers to its program, and at its admin socket if it has one: the operations of a handle. @throws OptionError */
function serviceOf(options: PipelineHostOptions, settings: PipelineHostSettings): HostService | undefined {
  const path = socketOf(options);
  const { store } = settings;
  // Without a store there is nothing to look into.
  if (store === undefined && path === undefined) return undefined;
  return ({ kernel, self, alive }) => {
    const { operations } = new PipelineHost(self, kernel, settings);
    const service = pipelineService(operations, (pipeline) => settings.plans.has(pipeline));
    if (store !== undefined)
      offerWhile(alive, kernel, service, { store: store.label, atSockets: options.socket !== false });
    if (path === undefined) return undefined;
    const children = [{ id: "admin socket", start: adminLodging(path, service, kernel) }];
    return supervisor({ strategy: "one_for_one", children });
  };
}

/** A running host of pipelines. */
export class PipelineHost implements AsyncDisposable {
  readonly #kernel: Kernel;
  readonly #settings: PipelineHostSettings;
  readonly #calls: HostCalls<HostRequest>;

  /** @internal */
  constructor(where: Pid<never> | string, kernel: Kernel, settings: PipelineHostSettings) {
    this.#kernel = kernel;
    this.#settings = settings;
    const { hosts, store } = settings;
    const what = "pipeline host";
    this.#calls = new HostCalls({ kernel, address: where, hosts, what, store });
  }

  get #call(): Caller {
    return this.#calls.call;
  }

  /**
   * Starts an execution of a pipeline, or attaches to the one that was started under this id before. Fulfilled when the execution is in
   * the store, with its messages. An execution without messages, of a pipeline without sources, is complete at once.
   *
   * @throws UnknownPipelineError, ExecutionIdTakenError, PipelineInputError, MessageTooLargeError, OptionError,
   * ExecutionOutcomeUnknownError, StoreError
   */
  async start<Input, T = never>(
    pipeline: PipelineDefinition<Input>,
    options: StartExecutionOptions<Input, T> = {},
  ): Promise<PipelineRun> {
    only("", options, ["id", "input", "messages", ...WAIT]);
    const wait = checkWait(options);
    checkPipeline(pipeline as never);
    const { name, version } = pipeline;
    const { plans } = this.#settings;
    const plan = plans.get(name, version);
    if (plan === undefined) throw new UnknownPipelineError(labelOf(name, version), plans.labels);
    const id = options.id === undefined ? this.#kernel.env.id() : text("id", options.id);
    const input = await inputOf(plan, options.input);
    const messages = options.messages === undefined ? [] : publicationsOf(plan, options.messages);
    const trace = this.#kernel.taps?.executionStarting(name, id);
    const request = options.id === undefined ? id : this.#kernel.env.id();
    const { attached } = await this.#call<{ readonly attached: boolean }>(
      (replyTo) => ({ type: "start", id, pipeline: name, version, input, messages, trace, request, replyTo }),
      wait,
      changing("start", id, "always"),
    );
    return this.#run(id, attached);
  }

  /**
   * Finds the executions in the store of the host, shows what became of their messages, and changes their course. Needs a store: without
   * one, each operation throws a NoLineageError.
   */
  get operations(): PipelineOperations {
    return hostOperations(this.#kernel, this.#call);
  }

  /** The handle of an execution by its id. The execution need not exist. */
  get(id: string): PipelineRun {
    return this.#run(text("id", id), true);
  }

  #run(id: string, attached: boolean): PipelineRun {
    return new PipelineRun(id, attached, this.#kernel, this.#call);
  }

  /**
   * What an autoscaler asks: how many messages of executions that run are due and held by no host, for how many milliseconds the oldest of
   * them has waited, how many more messages the routes of this host ask for, and how many it holds. A message that waits for its next
   * attempt is due from its time on. Messages of an execution that is paused are not due.
   *
   * The host counts by the keys of the messages, and stops at 100,000. It looks at the 1,000 executions that were started first. The metrics
   * `signalbox_host_*` of the kind `pipelines` are the same numbers. On a store that one process has, these are the messages of the
   * executions that this host runs.
   *
   * @throws NoLineageError when the host has no store, CallTimeoutError, HostGoneError, StoreError
   * @example
   * const lines = queue<string>("lines");
   * const shout = route("shout", { from: lines }).via("print", (line) => console.log(line.toUpperCase()));
   * const shouting = definePipeline("shouting", { routes: [shout] });
   * const host = await system.start(pipelineHost({ store: memory(), pipelines: [shouting] }));
   * const { due, oldestDueMs, room, held } = await host.signals();
   * console.log(due, oldestDueMs, room, held);
   */
  signals(): Promise<HostSignals> {
    return this.#call<HostSignals>((replyTo) => ({ type: "signals", replyTo }));
  }

  /** Stops the host: workers end what they have at hand, the executions stay in the store. */
  stop(): Promise<void> {
    return this.#calls.stop();
  }

  /** Stops the host. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

async function inputOf({ name, definition }: PipelinePlan, input: unknown): Promise<unknown> {
  const schema = definition.options.input;
  if (schema === undefined) return input;
  return validated(schema, input, (issues) => new PipelineInputError(name, issues));
}

function publicationsOf<T>(plan: PipelinePlan, given: GivenMessages<T>): Publication[] {
  only("messages", given, ["to", "values", "key"]);
  const queue = given.to?.name;
  const queues = plan.routes.map((route) => route.queue);
  if (!queues.includes(queue))
    throw new OptionError(
      "messages.to",
      queue,
      `a queue that a route of ${plan.name} takes from: ${queues.join(", ")}`,
    );
  // Messages that no source gave have the number behind those of the sources.
  const number = plan.sources.length;
  return Array.from(given.values, (value, i) => ({
    id: sourceId(number, i),
    queue,
    value,
    key: given.key?.(value, i),
  }));
}

/** An execution of a pipeline, from outside. */
export class PipelineRun {
  /** The id of the execution. */
  readonly id: string;
  /** Whether it was there before the start. */
  readonly attached: boolean;
  readonly #kernel: Kernel;
  readonly #call: Caller;

  /** @internal */
  constructor(id: string, attached: boolean, kernel: Kernel, call: Caller) {
    this.id = id;
    this.attached = attached;
    this.#kernel = kernel;
    this.#call = call;
  }

  /**
   * Waits until the execution has completed, however long that takes: nothing is pending, and nothing can become pending any more. An
   * execution that has ended already answers at once. The wait outlives the host: it goes on with the next one of the same definition.
   *
   * @throws ExecutionFailedError when it has failed or was cancelled, ExecutionNotFoundError, CallTimeoutError, HostGoneError
   */
  async completed(options: CallOptions = {}): Promise<PipelineSummary> {
    checkCallOptions(options);
    const { id } = this;
    const record = await this.#call<ExecutionRecord>((replyTo) => ({ type: "completed", id, replyTo }), {
      timeoutMs: Number.POSITIVE_INFINITY,
      ...options,
    });
    const summary = summaryOf(record);
    if (record.status === "completed") return summary;
    throw new ExecutionFailedError(summary, record.error);
  }

  /** The status and the counts of the execution. @throws ExecutionNotFoundError */
  async status(): Promise<PipelineSummary> {
    const { id } = this;
    return summaryOf(await this.#call<ExecutionRecord>((replyTo) => ({ type: "status", id, replyTo })));
  }

  /** How far the execution is, and how fast it goes. @throws ExecutionNotFoundError */
  progress(): Promise<PipelineProgress> {
    const { id } = this;
    return this.#call<PipelineProgress>((replyTo) => ({ type: "progress", id, replyTo }));
  }

  /**
   * How far the execution is, again and again until it has ended: the last value is that of the end.
   *
   * @param options.everyMs - milliseconds between two values. Default 1,000
   * @param options.signal - ends the values early
   * @throws ExecutionNotFoundError, and the reason of `signal` when it aborts
   */
  async *follow(
    options: { readonly everyMs?: number; readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<PipelineProgress, void, undefined> {
    only("", options, ["everyMs", "signal"]);
    const timeoutMs = delay("everyMs", options.everyMs ?? 1_000, 1);
    const { signal } = options;
    while (true) {
      signal?.throwIfAborted();
      const { ended } = await this.status();
      yield await this.progress();
      if (ended !== undefined) return;
      // Waits for the end at most so long.
      await this.completed({ timeoutMs, ...(signal !== undefined && { signal }) }).catch(() => undefined);
    }
  }

  get #operations(): PipelineOperations {
    return hostOperations(this.#kernel, this.#call);
  }

  /** The execution with its frozen configuration, its queues and sources. @throws ExecutionNotFoundError, NoLineageError */
  inspect(): Promise<ExecutionDetails> {
    return this.#operations.inspect(this.id);
  }

  /** A message, its ancestors, and its first children. @throws ExecutionNotFoundError, NoLineageError, OptionError */
  lineage(message: MessageId): Promise<Lineage> {
    return this.#operations.lineage(this.id, message);
  }

  /** The messages of which an attempt has failed. @throws ExecutionNotFoundError, NoLineageError, OptionError */
  failures(filter?: MessageFilter): AsyncIterable<MessageRecord> {
    return this.#operations.failures(this.id, filter);
  }

  /** The messages that were given up, with their whole history. @throws ExecutionNotFoundError, NoLineageError, OptionError */
  deadLetters(filter?: DeadFilter): AsyncIterable<DeadMessage> {
    return this.#operations.deadLetters(this.id, filter);
  }

  /** The records of dead letters that are dead no more. @throws ExecutionNotFoundError, NoLineageError, OptionError */
  deadRecords(filter?: DeadRecordFilter): AsyncIterable<DeadMessageRecord> {
    return this.#operations.deadRecords(this.id, filter);
  }

  /**
   * Puts dead letters back where they died, with all of their attempts. A completed execution goes on then, and completes again.
   *
   * @param which - an id, up to 1,000 ids, or a filter
   * @throws DeadLetterNotFoundError, ExecutionOverError, ExecutionNotFoundError, NoLineageError, OptionError
   */
  retryDead(
    which: MessageId | readonly MessageId[] | DeadChoice,
    options?: DeedOptions,
  ): Promise<DeedResult> {
    return this.#operations.retryDead(this.id, which, options);
  }

  /**
   * Puts a dead letter back with another value, which its record keeps.
   *
   * @throws DeadLetterNotFoundError, ExecutionOverError, UnstorableValueError, MessageTooLargeError, ExecutionNotFoundError, NoLineageError,
   * OptionError
   */
  editDead(message: MessageId, value: unknown, options?: DeedOptions): Promise<void> {
    return this.#operations.editDead(this.id, message, value, options);
  }

  /**
   * Gives dead letters up for good, with a reason. The execution counts them as `dropped`.
   *
   * @param which - an id, up to 1,000 ids, or a filter
   * @throws DeadLetterNotFoundError, ExecutionNotFoundError, NoLineageError, OptionError
   */
  dropDead(which: MessageId | readonly MessageId[] | DeadChoice, options: DropOptions): Promise<DeedResult> {
    return this.#operations.dropDead(this.id, which, options);
  }

  /**
   * Does messages of the execution again, in a new execution. Its dead letters go over to that one; nothing else changes here.
   *
   * @throws ReplayError, UnknownPipelineError, ExecutionNotFoundError, ExecutionOutcomeUnknownError, NoLineageError, OptionError
   */
  async replay(options: ReplayOptions): Promise<PipelineRun> {
    const { id } = await this.#operations.replay(this.id, options);
    return new PipelineRun(id, false, this.#kernel, this.#call);
  }

  /** Gives no more work to workers, until `resume`. False: the execution has ended. @throws ExecutionNotFoundError, ExecutionOutcomeUnknownError */
  pause(): Promise<boolean> {
    return this.#ask("pause");
  }

  /** Lets a paused execution go on. False: the execution has ended. @throws ExecutionNotFoundError, ExecutionOutcomeUnknownError */
  resume(): Promise<boolean> {
    return this.#ask("resume");
  }

  /** Ends the execution: messages in work are aborted, and settle nothing. False: it has ended already. @throws ExecutionNotFoundError */
  cancel(): Promise<boolean> {
    return this.#ask("cancel");
  }

  /**
   * Gives up messages in queues and open sources of the execution: they end, with a reason, and count as dropped.
   *
   * @throws PipelineChangeError, ExecutionNotFoundError, ExecutionOutcomeUnknownError, NoLineageError, OptionError
   */
  giveUp(options: GiveUpOptions): Promise<GivenUp> {
    return this.#operations.giveUp(this.id, options);
  }

  /**
   * Moves messages of the execution to another route of its pipeline, as it is now: by default all that no route of it takes.
   *
   * @throws PipelineChangeError, MessageTooLargeError, UnknownPipelineError, ExecutionNotFoundError, ExecutionOutcomeUnknownError,
   * NoLineageError, OptionError
   */
  move(options: MoveOptions): Promise<Moved> {
    return this.#operations.move(this.id, options);
  }

  #ask(type: "pause" | "resume" | "cancel"): Promise<boolean> {
    return this.#operations[type](this.id);
  }
}

function summaryOf({ number: _, input, error, trace, ...summary }: ExecutionRecord): PipelineSummary {
  return summary;
}

/**
 * Runs a pipeline once in memory alone, without a store: nothing outlives the process, and no lineage is kept. Resolves when it has
 * completed. The fastest way.
 *
 * @throws ExecutionFailedError, PipelineInputError, OptionError
 * @example
 * const lines = queue<string>("lines");
 * const shout = route("shout", { from: lines }).via("print", (line) => console.log(line.toUpperCase()));
 * const shouting = definePipeline("shouting", { routes: [shout] });
 * const { done } = await runPipeline(system, shouting, { messages: { to: lines, values: ["a", "b"] } });
 */
export async function runPipeline<Input, T = never>(
  system: ProcessSystem,
  pipeline: PipelineDefinition<Input>,
  options: RunOptions<Input, T> = {},
): Promise<PipelineSummary> {
  only("", options, ["signal", "timeoutMs", "input", "messages"]);
  const { signal, timeoutMs, ...start } = options;
  kernelOf(system);
  const host = await system.start(pipelineHost({ pipelines: [pipeline as never] }));
  try {
    const run = await host.start(pipeline, start);
    try {
      return await run.completed({
        ...(signal === undefined ? {} : { signal }),
        ...(timeoutMs === undefined ? {} : { timeoutMs }),
      });
    } catch (error) {
      // The caller waits no more: messages in work are aborted, not drained.
      await run.cancel();
      throw error;
    }
  } finally {
    await host.stop();
  }
}
