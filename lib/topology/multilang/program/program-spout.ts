// A spout of ours under another host: the host's commands run its hooks, and each command is answered with `sync`.
//
// The other host does not retry: this spout emits failed tuples again, as `retries.ts` decides for our own host too. Tuples in
// flight survive a crash of the task, since the host goes on with them and reports how they ended.

import { backoffMs } from "../../../process/backoff.js";
import type { Context } from "../../../process/context.js";
import { TaskEntry } from "../../../process/entries.js";
import type { ComponentPlan } from "../../definition/blueprint.js";
import type {
  Emitters,
  Failure,
  SpoutContext,
  SpoutDefinition,
  SpoutEmitOptions,
} from "../../definition/component.js";
import type { AnyValues, Streams } from "../../definition/field.js";
import { inTurn, processOf } from "../../tasks/task.js";
import { FormerTrees } from "../../tracking/former-trees.js";
import { letterOf, newPendingTuple, type PendingTuple, unheard } from "../../tracking/pending-tuple.js";
import { type Decision, Retries } from "../../tracking/retries.js";
import { MultilangError } from "../protocol/errors.js";
import type { HostMessage } from "../protocol/host-messages.js";
import {
  type HostConnection,
  type ProgramTask,
  programContext,
  sendTuple,
  type TaskIdentity,
} from "./program-task.js";

export type ProgramSpoutItem = Extract<HostMessage, { readonly type: "command" }>;

type Ctx = SpoutContext<Streams, unknown>;

const TWO_32 = 2 ** 32;
/** `next` is not called again in a command in which so many tuples were emitted: acks and fails wait for the end of the command. */
const EMITS_OF_A_COMMAND = 32;

/** The in-flight reliable tuples of one task. They survive crashes of the task. */
export class ReliableTuples {
  readonly pending: Retries;
  readonly kept: Set<PendingTuple> = new Set();
  /** Tuples that the host does not track. They are acked at the end of the command in progress. */
  readonly untracked: PendingTuple[] = [];
  readonly #task: number;
  readonly #former: FormerTrees = new FormerTrees();
  /** The number of each tuple in the protocol, the same in all its tries. (The id from the user may be any value.) */
  readonly #numbers: Map<PendingTuple, number> = new Map();
  #last = 0;

  /** @param letters - whether a component subscribes to the stream `dead` */
  constructor(task: number, retries: number, letters: boolean) {
    this.#task = task;
    this.pending = new Retries(retries, letters, this.#former);
  }

  /** The id of a tuple in the protocol. */
  idOf(kept: PendingTuple): string {
    return `${this.#task}-${this.#numberOf(kept)}`;
  }

  /** The tuple was sent to the host. */
  sent(kept: PendingTuple): void {
    this.pending.emitted(kept, ...rootOf(this.#numberOf(kept)), this);
  }

  /** Decides on the host's ack or fail of an id. Undefined when no tuple with that id is in flight. */
  decide(how: "ack" | "fail", id: unknown): Decision | undefined {
    const [task, number = "", ...more] = String(id).split("-");
    if (task !== String(this.#task) || !/^\d{1,15}$/.test(number) || more.length > 0) return undefined;
    const root = rootOf(Number(number));
    return how === "ack" ? this.pending.done(...root) : this.pending.failed(...root, "failed");
  }

  /** The tuple is settled. */
  settled(kept: PendingTuple): void {
    kept.settled = true;
    this.#former.forget(kept);
    this.kept.delete(kept);
    this.#numbers.delete(kept);
  }

  #numberOf(kept: PendingTuple): number {
    const known = this.#numbers.get(kept);
    if (known !== undefined) return known;
    this.#numbers.set(kept, ++this.#last);
    return this.#last;
  }
}

/** The two halves of a root id. */
function rootOf(number: number): [hi: number, lo: number] {
  return [Math.floor(number / TWO_32) | 0, number | 0];
}

export class ProgramSpout implements ProgramTask<ProgramSpoutItem> {
  readonly #plan: ComponentPlan;
  readonly #definition: SpoutDefinition;
  readonly #place: TaskIdentity;
  readonly #wire: HostConnection;
  readonly #process: Context<never>;
  readonly #reliable: ReliableTuples;
  /** Tuples whose retry wait is over. They are sent with the next `next` command. */
  readonly #due: Set<PendingTuple> = new Set();
  #ctx: Ctx | undefined;
  #active = false;
  #done = false;
  /** Tuples that were emitted in the command in progress. */
  #emits = 0;
  /** A command is in progress, and not answered. */
  #isUnanswered = false;
  #hasLoggedFailure = false;

  constructor(
    plan: ComponentPlan,
    place: TaskIdentity,
    wire: HostConnection,
    process: Context<never>,
    reliable: ReliableTuples,
  ) {
    this.#plan = plan;
    this.#definition = plan.definition as SpoutDefinition;
    this.#place = place;
    this.#wire = wire;
    this.#process = process;
    this.#reliable = reliable;
  }

  async start(): Promise<void> {
    const { init } = this.#definition.options;
    const task = programContext(this.#place, this.#wire, this.#process);
    this.#ctx = {
      ...task,
      state: await init?.(task),
      emit: this.#emitters(),
      // The host sends `next` again by itself.
      wake: () => undefined,
      // The host keeps sending `next`; the spout is no longer asked.
      done: () => {
        this.#done = true;
      },
    };
    // Tuples that waited for a retry, or had not been sent, when the process before this one crashed.
    for (const kept of this.#reliable.kept) if (!kept.inFlight) this.#later(kept, Math.max(1, kept.attempts));
  }

  async handle({ command, id }: ProgramSpoutItem): Promise<void> {
    const ctx = this.#ctx as Ctx;
    const { options } = this.#definition;
    this.#isUnanswered = true;
    this.#emits = 0;
    switch (command) {
      case "activate":
        await this.#activate(ctx);
        break;
      case "deactivate":
        this.#active = false;
        await options.deactivate?.(ctx);
        break;
      case "next":
        // Old hosts send no `activate`, and no host repeats it after a restart of the task.
        await this.#activate(ctx);
        this.#sendDue();
        await this.#next(ctx);
        break;
      case "ack":
      case "fail":
        await this.#carryOut(this.#reliable.decide(command, id), ctx);
        break;
      default:
        command satisfies never;
    }
    await this.#ackUntracked(ctx);
    this.#sync();
  }

  /**
   * Calls `next` as long as it emits. The host waits for each answer before it does anything else with this spout, so a command for
   * each call would spend most of its time on the way.
   */
  async #next(ctx: Ctx): Promise<void> {
    const { maxPending } = this.#plan.config;
    for (let before = -1; this.#emits < EMITS_OF_A_COMMAND && before < this.#emits; ) {
      if (this.#done || this.#reliable.kept.size >= maxPending) return;
      before = this.#emits;
      await this.#definition.options.next(ctx);
    }
  }

  /** As under our own host, not within `next`. What `ack` emits waits for the next command. */
  async #ackUntracked(ctx: Ctx): Promise<void> {
    const { untracked } = this.#reliable;
    for (let left = untracked.length; left > 0; left--) {
      const kept = untracked.shift() as PendingTuple;
      await this.#carryOut(this.#reliable.decide("ack", this.#reliable.idOf(kept)), ctx);
    }
  }

  async stop(final: boolean): Promise<void> {
    const { deactivate, close } = this.#definition.options;
    const ctx = this.#ctx;
    if (ctx === undefined) return;
    if (final) await this.#ackUntracked(ctx);
    // The host can no longer report how the in-flight tuples end, so each ends as stopped.
    await inTurn(final ? [...this.#reliable.kept] : [], (kept) =>
      this.#settle(kept, { type: "stopped", attempts: kept.attempts, deadLettered: false }, ctx),
    );
    if (this.#active) await deactivate?.(ctx);
    await close?.(ctx, final);
  }

  crashed(): void {
    this.#sync();
  }

  /** Answers the current command, once: at the end of its work, or when the task crashes. */
  #sync(): void {
    if (!this.#isUnanswered) return;
    this.#isUnanswered = false;
    this.#wire.send({ command: "sync" });
  }

  async #activate(ctx: Ctx): Promise<void> {
    if (this.#active) return;
    this.#active = true;
    await this.#definition.options.activate?.(ctx);
  }

  #carryOut(decision: Decision | undefined, ctx: Ctx): unknown {
    switch (decision?.type) {
      case "acked":
        return this.#settle(decision.pending, undefined, ctx);
      case "failed":
        return this.#settle(decision.pending, decision.failure, ctx);
      case "retry":
        return this.#later(decision.pending, decision.attempt);
      case "letter":
        if (decision.attempt > 0) return this.#later(decision.pending, decision.attempt);
        this.#due.add(decision.pending);
        return undefined;
      default:
        return decision satisfies undefined;
    }
  }

  #later(kept: PendingTuple, attempt: number): void {
    const waitMs = backoffMs(this.#plan.config.retryBackoff, attempt, this.#process.random());
    this.#process.runAfter(waitMs, () => {
      if (this.#reliable.kept.has(kept)) this.#due.add(kept);
    });
  }

  /** Sends the tuples that are due. The host reads emits only while a command is in progress. */
  #sendDue(): void {
    for (const kept of this.#due) {
      this.#due.delete(kept);
      this.#send(kept);
    }
  }

  #settle(kept: PendingTuple, failure: Failure | undefined, ctx: Ctx): unknown {
    this.#reliable.settled(kept);
    this.#due.delete(kept);
    const { options } = this.#definition;
    if (failure === undefined) return options.ack?.(kept.id, ctx);
    if (options.fail !== undefined) return options.fail(kept.id, ctx, failure);
    if (failure.deadLettered || this.#hasLoggedFailure) return undefined;
    this.#hasLoggedFailure = true;
    ctx.log("error", unheard(kept));
    return undefined;
  }

  #emitters(): Emitters<Streams, SpoutEmitOptions<unknown>> {
    return Object.fromEntries(
      Object.keys(this.#plan.streams)
        .filter((stream) => stream !== "dead")
        .map((stream) => [
          stream,
          (values: AnyValues, options: SpoutEmitOptions<unknown> = {}) => {
            const { id } = options;
            if (id === undefined) {
              this.#emit(stream, values, options, {});
              return;
            }
            this.#process.now();
            const kept = newPendingTuple(stream, values, { ...options, id });
            this.#reliable.kept.add(kept);
            this.#send(kept);
          },
        ]),
    );
  }

  #send(kept: PendingTuple): void {
    const isLetter = kept.deadBecause !== undefined;
    const { stream, values, task, onTasks } = kept;
    kept.onTasks = undefined;
    const options = isLetter ? {} : { ...(task !== undefined && { task }), ...(onTasks && { onTasks }) };
    const message = (isLetter ? letterOf(kept) : values) as AnyValues;
    const name = isLetter ? "dead" : stream;
    const isTracked = this.#place.unanchored?.has(name) !== true;
    try {
      this.#emit(name, message, options, isTracked ? { id: this.#reliable.idOf(kept) } : {});
    } catch (error) {
      if (!(error instanceof MultilangError)) throw error;
      // As under our own host, an emit that fails counts as a try.
      const ctx = this.#ctx as Ctx;
      ctx.log("error", `could not emit on ${stream}: ${error.message}`);
      const decision = this.#reliable.pending.emitFailed(kept);
      // Not at once: the spout may have emitted the tuple within `next`.
      processOf(this.#process).deliverSignal(new TaskEntry(() => this.#carryOut(decision, ctx)));
      return;
    }
    this.#reliable.sent(kept);
    if (!isTracked) this.#reliable.untracked.push(kept);
  }

  #emit(stream: string, values: AnyValues, options: SpoutEmitOptions<unknown>, more: object): void {
    this.#emits++;
    sendTuple(this.#wire, this.#process, stream, this.#plan.streams[stream] ?? {}, values, options, more);
  }
}
