// A spout of ours under another host: its hooks are run by commands from the wire, each answered with `sync`.
//
// The other host knows nothing of retries: what failed is emitted again from here, as `retries.ts` decides for our own
// host too. What is under way outlives a crash of the task, since the host goes on with it and tells how it ended.

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
  type GuestTask,
  type HostConnection,
  initContext,
  type Place,
  sendTuple,
  taskContext,
} from "./guest-task.js";

export type GuestSpoutItem = Extract<HostMessage, { readonly type: "command" }>;

type Ctx = SpoutContext<Streams, unknown>;

const TWO_32 = 2 ** 32;

/** What one task has under way, through all its lives. */
export class ReliableTuples {
  readonly pending: Retries;
  readonly kept: Set<PendingTuple> = new Set();
  readonly #task: number;
  readonly #former: FormerTrees = new FormerTrees();
  /** A tuple has the same id on the wire in all its tries: that of its author may be anything. */
  readonly #numbers: Map<PendingTuple, number> = new Map();
  #last = 0;

  /** @param letters - whether anybody reads the stream `dead` */
  constructor(task: number, retries: number, letters: boolean) {
    this.#task = task;
    this.pending = new Retries(retries, letters, this.#former);
  }

  /** The id of a tuple on the wire. */
  idOf(kept: PendingTuple): string {
    return `${this.#task}-${this.#numberOf(kept)}`;
  }

  /** It is on its way. */
  fly(kept: PendingTuple): void {
    this.pending.emitted(kept, ...rootOf(this.#numberOf(kept)), this);
  }

  /** What the host's word about an id means. Undefined for one that is not under way. */
  heard(how: "ack" | "fail", id: unknown): Decision | undefined {
    const [task, number = "", ...more] = String(id).split("-");
    if (task !== String(this.#task) || !/^\d{1,15}$/.test(number) || more.length > 0) return undefined;
    const root = rootOf(Number(number));
    return how === "ack" ? this.pending.done(...root) : this.pending.failed(...root, "failed");
  }

  /** It is settled. */
  over(kept: PendingTuple): void {
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

/** Both halves of a root. */
function rootOf(number: number): [hi: number, lo: number] {
  return [Math.floor(number / TWO_32) | 0, number | 0];
}

export class GuestSpout implements GuestTask<GuestSpoutItem> {
  readonly #plan: ComponentPlan;
  readonly #definition: SpoutDefinition;
  readonly #place: Place;
  readonly #wire: HostConnection;
  readonly #process: Context<never>;
  readonly #underway: ReliableTuples;
  /** Their wait is over: they go out with the next command that asks for tuples. */
  readonly #due: Set<PendingTuple> = new Set();
  #ctx: Ctx | undefined;
  #active = false;
  #done = false;
  /** A command is at hand, and not answered. */
  #asked = false;
  #complained = false;

  constructor(
    plan: ComponentPlan,
    place: Place,
    wire: HostConnection,
    process: Context<never>,
    underway: ReliableTuples,
  ) {
    this.#plan = plan;
    this.#definition = plan.definition as SpoutDefinition;
    this.#place = place;
    this.#wire = wire;
    this.#process = process;
    this.#underway = underway;
  }

  async start(): Promise<void> {
    const { init } = this.#definition.options;
    const task = initContext(this.#place, this.#wire, this.#process);
    this.#ctx = {
      ...taskContext(task, await init?.(task)),
      emit: this.#emitters(),
      // The host asks again by itself.
      wake: () => undefined,
      // And for ever: then without troubling the spout.
      done: () => {
        this.#done = true;
      },
    };
    // Those that waited for their next try when the life before this one ended, and those that had not begun it.
    for (const kept of this.#underway.kept) if (!kept.inFlight) this.#later(kept, Math.max(1, kept.attempts));
  }

  async handle({ command, id }: GuestSpoutItem): Promise<void> {
    const ctx = this.#ctx as Ctx;
    const { options } = this.#definition;
    this.#asked = true;
    switch (command) {
      case "activate":
        await this.#activate(ctx);
        break;
      case "deactivate":
        this.#active = false;
        await options.deactivate?.(ctx);
        break;
      case "next":
        // Old hosts say nothing of activation, and a new life of this task has not been told.
        await this.#activate(ctx);
        this.#sendDue();
        if (!this.#done && this.#underway.kept.size < this.#plan.config.maxPending) await options.next(ctx);
        break;
      case "ack":
      case "fail":
        await this.#carry(this.#underway.heard(command, id), ctx);
        break;
      default:
        command satisfies never;
    }
    this.#sync();
  }

  async stop(final: boolean): Promise<void> {
    const { deactivate, close } = this.#definition.options;
    const ctx = this.#ctx;
    if (ctx === undefined) return;
    // Whatever the host makes of what is under way, nobody will hear of it.
    await inTurn(final ? [...this.#underway.kept] : [], (kept) =>
      this.#over(kept, { type: "stopped", attempts: kept.attempts, deadLettered: false }, ctx),
    );
    if (this.#active) await deactivate?.(ctx);
    await close?.(ctx, final);
  }

  crashed(): void {
    this.#sync();
  }

  /** Once for each command, whoever comes first: the end of its work, or that of the task. */
  #sync(): void {
    if (!this.#asked) return;
    this.#asked = false;
    this.#wire.send({ command: "sync" });
  }

  async #activate(ctx: Ctx): Promise<void> {
    if (this.#active) return;
    this.#active = true;
    await this.#definition.options.activate?.(ctx);
  }

  #carry(decision: Decision | undefined, ctx: Ctx): unknown {
    switch (decision?.type) {
      case "acked":
        return this.#over(decision.pending, undefined, ctx);
      case "failed":
        return this.#over(decision.pending, decision.failure, ctx);
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
      if (this.#underway.kept.has(kept)) this.#due.add(kept);
    });
  }

  /** The host listens to a spout only while it waits for the answer to a command. */
  #sendDue(): void {
    for (const kept of this.#due) {
      this.#due.delete(kept);
      this.#send(kept);
    }
  }

  #over(kept: PendingTuple, failure: Failure | undefined, ctx: Ctx): unknown {
    this.#underway.over(kept);
    this.#due.delete(kept);
    const { options } = this.#definition;
    if (failure === undefined) return options.ack?.(kept.id, ctx);
    if (options.fail !== undefined) return options.fail(kept.id, ctx, failure);
    if (failure.deadLettered || this.#complained) return undefined;
    this.#complained = true;
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
            this.#underway.kept.add(kept);
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
    try {
      this.#emit(isLetter ? "dead" : stream, message, options, { id: this.#underway.idOf(kept) });
    } catch (error) {
      if (!(error instanceof MultilangError)) throw error;
      // As under our own host: it could not be emitted, which was a try.
      const ctx = this.#ctx as Ctx;
      ctx.log("error", `could not emit on ${stream}: ${error.message}`);
      const decision = this.#underway.pending.emitFailed(kept);
      // Not within `next`, which may be what emitted it.
      processOf(this.#process).deliverSignal(new TaskEntry(() => this.#carry(decision, ctx)));
      return;
    }
    this.#underway.fly(kept);
  }

  #emit(stream: string, values: AnyValues, options: SpoutEmitOptions<unknown>, more: object): void {
    sendTuple(this.#wire, this.#process, stream, this.#plan.streams[stream] ?? {}, values, options, more);
  }
}
