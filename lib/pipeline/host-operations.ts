// The operations of a host's handle: they read its store, and change executions through its process.

import { type CallRules, type HostCaller, isHostOver } from "../host/index.js";
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
import { checkWait } from "./changes/waits.js";
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

/** Rules of an operation that changes an execution: it is not repeated, unless a repeat finds the result of the first call. */
export const changing = (
  operation: string,
  executionId: string,
  repeat: NonNullable<CallRules["repeat"]> = "if untaken",
): CallRules => ({
  repeat,
  unknown: (cause) => new ExecutionOutcomeUnknownError(operation, executionId, cause),
});

const afterId = ({ id: after }: MessageRecord): MessageRange => ({ after });

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

  /** Reads, and reads again with the next host when this one ends in the middle. @throws HostGoneError when no host comes */
  async #read<T>(of: (on: StoreOperations) => Promise<T>): Promise<T> {
    for (;;) {
      const on = await this.#on();
      try {
        return await of(on);
      } catch (error) {
        if (!isHostOver(error)) throw error;
      }
    }
  }

  /**
   * Reads item by item. When its host ends in the middle, it goes on with the next host behind the last item.
   *
   * @param given - the range or filter that the caller gave
   * @param behind - the place behind an item, in words of the range
   * @throws HostGoneError when no host comes
   */
  async *#each<T, R extends { readonly limit?: number }>(
    given: R | undefined,
    behind: (last: T) => Partial<R>,
    of: (on: StoreOperations, range: R | undefined) => AsyncIterable<T>,
  ): AsyncGenerator<T, void, undefined> {
    let range = given;
    for (;;) {
      const on = await this.#on();
      try {
        for await (const item of of(on, range)) {
          // Items that the caller already has are not read again.
          const left = range?.limit === undefined ? {} : { limit: range.limit - 1 };
          range = { ...range, ...behind(item), ...left } as R;
          yield item;
        }
        return;
      } catch (error) {
        if (!isHostOver(error)) throw error;
        if (range?.limit === 0) return;
      }
    }
  }

  list(options?: ExecutionListOptions): Promise<ExecutionPage> {
    return this.#read((on) => on.list(options));
  }

  async *executions(options: ExecutionListOptions = {}): AsyncGenerator<ExecutionSummary, void, undefined> {
    for (let { cursor } = options; ; ) {
      const page = await this.list(cursor === undefined ? options : { ...options, cursor });
      yield* page.executions;
      cursor = page.next;
      if (cursor === undefined) return;
    }
  }

  status(id: string): Promise<ExecutionSummary> {
    return this.#read((on) => on.status(id));
  }

  inspect(id: string): Promise<ExecutionDetails> {
    return this.#read((on) => on.inspect(id));
  }

  lineage(id: string, message: MessageId): Promise<Lineage> {
    return this.#read((on) => on.lineage(id, message));
  }

  children(id: string, message: MessageId, range?: MessageRange): AsyncIterable<MessageRecord> {
    return this.#each(range, afterId, (on, rest) => on.children(id, message, rest));
  }

  batch(id: string, message: MessageId, range?: MessageRange): AsyncIterable<MessageRecord> {
    return this.#each(range, afterId, (on, rest) => on.batch(id, message, rest));
  }

  messages(id: string, filter?: MessageFilter): AsyncIterable<MessageRecord> {
    return this.#each(filter, afterId, (on, rest) => on.messages(id, rest));
  }

  failures(id: string, filter?: MessageFilter): AsyncIterable<MessageRecord> {
    return this.#each(filter, afterId, (on, rest) => on.failures(id, rest));
  }

  deadLetters(id: string, filter?: DeadFilter): AsyncIterable<DeadMessage> {
    const behind = ({ queue, id: last }: DeadMessage): DeadFilter => ({ behind: { queue, id: last } });
    return this.#each(filter, behind, (on, rest) => on.deadLetters(id, rest));
  }

  deadRecords(id: string, filter?: DeadRecordFilter): AsyncIterable<DeadMessageRecord> {
    const behind = ({ queue, id: last, turn }: DeadMessageRecord): DeadRecordFilter => ({
      behind: { queue, id: last, turn },
    });
    return this.#each(filter, behind, (on, rest) => on.deadRecords(id, rest));
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
    return this.#call<ReplayStarted>(
      (replyTo) => ({ type: "replay", id, to, request, replyTo }),
      checkWait(options),
      changing("replay", to),
    );
  }

  async giveUp(id: string, options: GiveUpOptions): Promise<GivenUp> {
    const request = checkGiveUp(options);
    return this.#call<GivenUp>(
      (replyTo) => ({ type: "give up", id, request, replyTo }),
      checkWait(options),
      changing("giveUp", id),
    );
  }

  async move(id: string, options: MoveOptions): Promise<Moved> {
    const request = checkMove(options);
    return this.#call<Moved>(
      (replyTo) => ({ type: "move", id, request, replyTo }),
      checkWait(options),
      changing("move", id),
    );
  }

  #wish(type: "pause" | "resume" | "cancel", id: string): Promise<boolean> {
    return this.#call<boolean>((replyTo) => ({ type, id, replyTo }), undefined, changing(type, id));
  }
}
