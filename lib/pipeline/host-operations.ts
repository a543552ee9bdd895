// The operations of a host's handle: they read its store, and change executions through its process.

import type { CallRules, HostCaller } from "../host/index.js";
import type { Kernel } from "../process/kernel.js";
import { storeContext } from "../store/open-store.js";
import {
  checkGiveUp,
  checkMove,
  type GivenUp,
  type GiveUpOptions,
  type Moved,
  type MoveOptions,
} from "./changes/options.js";
import type { DeedOptions, DeedResult, DropOptions } from "./dead/options.js";
import type { MessageId } from "./definition/message-id.js";
import type {
  DeadChoice,
  DeadFilter,
  DeadMessage,
  DeadMessageRecord,
  DeadRecordFilter,
  ExecutionDetails,
  ExecutionListOptions,
  ExecutionPage,
  ExecutionSummary,
  Lineage,
  MessageFilter,
  MessageRange,
  MessageRecord,
  OutcomeOptions,
  PipelineOperations,
  ReplayStarted,
} from "./operations/operations.js";
import { StoreOperations } from "./operations/store-operations.js";
import { checkReplay, type ReplayOptions } from "./replay/options.js";
import type { OpenTables } from "./runtime/catalogue.js";
import { ExecutionOutcomeUnknownError, NoLineageError } from "./runtime/errors.js";
import type { HostRequest } from "./runtime/host-process.js";

/** Asks a host. */
export type Caller = HostCaller<HostRequest>;

/** Of an operation that changes an execution: it is not asked twice, unless its repeat finds what the first did. */
export const changing = (
  operation: string,
  executionId: string,
  repeat: NonNullable<CallRules["repeat"]> = "if untaken",
): CallRules => ({
  repeat,
  unknown: (cause) => new ExecutionOutcomeUnknownError(operation, executionId, cause),
});

/** Operations through a host. The host says first where its executions are. */
export class HostOperations implements PipelineOperations {
  readonly #kernel: Kernel;
  readonly #call: Caller;

  constructor(kernel: Kernel, call: Caller) {
    this.#kernel = kernel;
    this.#call = call;
  }

  /** @throws NoLineageError */
  async #on(): Promise<StoreOperations> {
    const tables = await this.#call<OpenTables | undefined>((replyTo) => ({ type: "tables", replyTo }));
    if (tables === undefined) throw new NoLineageError();
    const { after } = storeContext(this.#kernel);
    return new StoreOperations({ ...tables, after });
  }

  async *#each<T>(of: (on: StoreOperations) => AsyncIterable<T>): AsyncGenerator<T, void, undefined> {
    yield* of(await this.#on());
  }

  async list(options?: ExecutionListOptions): Promise<ExecutionPage> {
    return (await this.#on()).list(options);
  }

  executions(options?: ExecutionListOptions): AsyncIterable<ExecutionSummary> {
    return this.#each((on) => on.executions(options));
  }

  async status(id: string): Promise<ExecutionSummary> {
    return (await this.#on()).status(id);
  }

  async inspect(id: string): Promise<ExecutionDetails> {
    return (await this.#on()).inspect(id);
  }

  async lineage(id: string, message: MessageId): Promise<Lineage> {
    return (await this.#on()).lineage(id, message);
  }

  children(id: string, message: MessageId, range?: MessageRange): AsyncIterable<MessageRecord> {
    return this.#each((on) => on.children(id, message, range));
  }

  batch(id: string, message: MessageId, range?: MessageRange): AsyncIterable<MessageRecord> {
    return this.#each((on) => on.batch(id, message, range));
  }

  messages(id: string, filter?: MessageFilter): AsyncIterable<MessageRecord> {
    return this.#each((on) => on.messages(id, filter));
  }

  failures(id: string, filter?: MessageFilter): AsyncIterable<MessageRecord> {
    return this.#each((on) => on.failures(id, filter));
  }

  deadLetters(id: string, filter?: DeadFilter): AsyncIterable<DeadMessage> {
    return this.#each((on) => on.deadLetters(id, filter));
  }

  deadRecords(id: string, filter?: DeadRecordFilter): AsyncIterable<DeadMessageRecord> {
    return this.#each((on) => on.deadRecords(id, filter));
  }

  async retryDead(
    id: string,
    which: MessageId | readonly MessageId[] | DeadChoice,
    options?: DeedOptions,
  ): Promise<DeedResult> {
    return (await this.#on()).retryDead(id, which, options);
  }

  async editDead(id: string, message: MessageId, value: unknown, options?: DeedOptions): Promise<void> {
    return (await this.#on()).editDead(id, message, value, options);
  }

  async dropDead(
    id: string,
    which: MessageId | readonly MessageId[] | DeadChoice,
    options: DropOptions,
  ): Promise<DeedResult> {
    return (await this.#on()).dropDead(id, which, options);
  }

  async outcome(id: string, options?: OutcomeOptions): Promise<ExecutionSummary> {
    return (await this.#on()).outcome(id, options);
  }

  pause(id: string): Promise<boolean> {
    return this.#wish("pause", id);
  }

  resume(id: string): Promise<boolean> {
    return this.#wish("resume", id);
  }

  cancel(id: string): Promise<boolean> {
    return this.#wish("cancel", id);
  }

  async replay(id: string, options: ReplayOptions): Promise<ReplayStarted> {
    const request = checkReplay(options);
    const to = options.id ?? this.#kernel.env.id();
    const timeoutMs = Number.POSITIVE_INFINITY;
    return this.#call<ReplayStarted>(
      (replyTo) => ({ type: "replay", id, to, request, replyTo }),
      { timeoutMs },
      changing("replay", to),
    );
  }

  async giveUp(id: string, options: GiveUpOptions): Promise<GivenUp> {
    const request = checkGiveUp(options);
    const timeoutMs = Number.POSITIVE_INFINITY;
    return this.#call<GivenUp>(
      (replyTo) => ({ type: "give up", id, request, replyTo }),
      { timeoutMs },
      changing("giveUp", id),
    );
  }

  async move(id: string, options: MoveOptions): Promise<Moved> {
    const request = checkMove(options);
    const timeoutMs = Number.POSITIVE_INFINITY;
    return this.#call<Moved>(
      (replyTo) => ({ type: "move", id, request, replyTo }),
      { timeoutMs },
      changing("move", id),
    );
  }

  #wish(type: "pause" | "resume" | "cancel", id: string): Promise<boolean> {
    return this.#call<boolean>((replyTo) => ({ type, id, replyTo }), undefined, changing(type, id));
  }
}
