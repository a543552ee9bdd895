// The usual consumer: a function works on the payload, and the way it ends settles the delivery. A consumer whose parent stops
// it takes no new envelope, finishes the jobs that it has begun, and ends.

import { Refusal } from "../behaviour/server/replies.js";
import { type Callbacks, Stop } from "../process/behaviour.js";
import type { Context } from "../process/context.js";
import { OptionError } from "../process/errors.js";
import { only, onlyKnown } from "../process/known-options.js";
import { callable, count } from "../process/options.js";
import { type ExitReason, NORMAL } from "../process/reason.js";
import { isThenable } from "../process/thenable.js";
import { Delivery, REJECTION } from "./delivery.js";
import { type ConsumerGroup, leaveAll } from "./group.js";
import type { JoinOptions } from "./member.js";
import { GROUP_DEFAULTS } from "./settings.js";

/**
 * Works on one payload. The value that it returns is the reply; {@link reject} rejects the envelope; a throw is a crash, and
 * the envelope is re-routed. Pass `delivery.signal` to everything that the function awaits: once the signal is aborted, no
 * caller waits for the result.
 */
export type Work<T, R = unknown> = (
  payload: T,
  delivery: Delivery<T, R>,
  ctx: Context<Delivery<T>>,
) => Result<R> | PromiseLike<Result<R>>;

/** How work ends: with a reply, without one, with a rejection, or with the end of the consumer. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function without a return statement gives `void`
type Result<R> = R | undefined | void | Rejection | Stop;

/** Options of a {@link consumer}: the group that it joins, how it joins, and how many envelopes it works on at a time. */
export interface ConsumerOptions<T, R = unknown> extends Omit<JoinOptions, "acknowledges"> {
  /** The group that the consumer joins each time it starts, so that a restarted consumer is at work at once. */
  readonly group?: ConsumerGroup<T, R>;
  /**
   * Envelopes that the consumer works on at the same time, if its work is asynchronous; 1 or more. Default 1. It is also the
   * default of `maxInFlight`.
   */
  readonly concurrency?: number;
  /**
   * Envelopes that the consumer may have in flight: those that it works on, and those that it has at hand for when it is
   * done. Further ones wait in the group, where the priority counts, and where the end of this consumer does not concern
   * them. Default: `concurrency`, or 16 where that is not given.
   */
  readonly maxInFlight?: number;
}

/** A consumer's rejection of one envelope. {@link reject} makes it. */
export class Rejection {
  /** Why the consumer rejects the envelope: an Error or another value. */
  readonly why: unknown;
  /** No other consumer gets the envelope. */
  readonly final: boolean;
  /** Created by {@link reject}. */
  constructor(why: unknown, final: boolean) {
    this.why = why;
    this.final = final;
  }
}

/**
 * A consumer's function returns it to reject the envelope. Another consumer gets the envelope, if attempts are left. With
 * `final` no other consumer gets it: the envelope is a dead letter, and the dispatch fails with RejectedError, whose `cause`
 * is `why`. A server's `refuse` is something else: it answers a call.
 *
 * @param options.final - no other consumer gets the envelope. Default false
 * @example
 * const picker = consumer((order: Order) =>
 *   order.item === "" ? reject(new RangeError("no item"), { final: true }) : shelf.take(order.item),
 * );
 */
export function reject(why: unknown, options?: { readonly final?: boolean }): Rejection {
  onlyKnown(options, REJECTION);
  return new Rejection(why, options?.final === true);
}

/**
 * The behaviour of a consumer. It acknowledges the delivery when `work` is done, with the returned value as the reply, unless
 * `work` has settled the delivery itself. When its supervisor or its system stops the consumer, it leaves its groups, gives
 * back the envelopes that it has not begun, finishes its jobs, and ends. Give the child a `shutdown` time that is long enough
 * for the jobs.
 *
 * @throws OptionError
 * @example
 * const picker = consumer((order: Order) => shelf.take(order.item), { group: pickers });
 * const Floor = supervisor({ children: [{ id: "picker", start: picker }] });
 */
export function consumer<T, R = unknown>(
  work: Work<T, NoInfer<R>>,
  options: ConsumerOptions<T, R> = {},
): Callbacks<Delivery<T>> {
  callable("work", work, "a function of the payload");
  only("", options, ["group", "concurrency", "id", "maxInFlight", "maxBuffer", "weight", "tags"]);
  const { group, concurrency, ...joining } = options;
  const most = count("concurrency", concurrency ?? 1, 1);
  const maxInFlight = joining.maxInFlight ?? concurrency ?? GROUP_DEFAULTS.maxInFlight;
  const join = { ...joining, maxInFlight };
  // Several processes may share one behaviour. A process whose work is synchronous has no jobs between two messages.
  const all = new WeakMap<Context<Delivery<T>>, Jobs<T>>();
  let asynchronous = false;
  return {
    init: (ctx) => {
      group?.join(ctx.self, join);
    },
    handle: (ctx, delivery) => {
      const jobs = asynchronous ? all.get(ctx) : undefined;
      if (jobs?.isStopping === true) {
        delivery.giveBack(jobs.reason);
        return undefined;
      }
      let result: unknown;
      try {
        result = work(delivery.payload, delivery, ctx);
        if (!isThenable(result))
          return jobs === undefined ? settle(delivery, result) : jobs.stopped(settle(delivery, result));
      } catch (error) {
        jobs?.blame(delivery);
        throw error;
      }
      asynchronous = true;
      const mine = jobs ?? new Jobs(ctx, most);
      if (jobs === undefined) all.set(ctx, mine);
      return mine.add(delivery, result);
    },
    shutdown: (ctx, reason) => {
      giveBack(ctx, reason);
      return all.get(ctx)?.stop(reason) ?? false;
    },
  };
}

/** The asynchronous jobs of one consumer. */
class Jobs<T> {
  reason: ExitReason = NORMAL;
  isStopping = false;
  readonly #ctx: Context<Delivery<T>>;
  readonly #most: number;
  readonly #active = new Set<Delivery<T>>();
  /** Lets the process take its next message. Set while the consumer has as many jobs as it may. */
  #gate: (() => void) | undefined = undefined;

  constructor(ctx: Context<Delivery<T>>, most: number) {
    this.#ctx = ctx;
    this.#most = most;
  }

  /** Follows a job. The process awaits the returned promise before it takes its next message. */
  add(delivery: Delivery<T>, job: PromiseLike<unknown>): Promise<void> | undefined {
    this.#active.add(delivery);
    Promise.resolve(job).then(
      (result) => this.#done(delivery, result),
      (error) => this.#failed(delivery, error),
    );
    if (this.#active.size < this.#most) return undefined;
    return new Promise((open) => {
      this.#gate = open;
    });
  }

  /** Ends the consumer as soon as its jobs have ended. False when it has no jobs. */
  stop(reason: ExitReason): boolean {
    if (!this.isStopping) this.reason = reason;
    this.isStopping = true;
    return this.#active.size > 0;
  }

  /** A job asks for the end of its consumer. The other jobs may finish first. */
  stopped(end: Stop | undefined): Stop | undefined {
    if (end === undefined) return undefined;
    giveBack(this.#ctx, end.reason);
    return this.stop(end.reason) ? undefined : end;
  }

  /** The consumer crashes on this delivery. The other jobs did not cause the crash. */
  blame(culprit: Delivery<T>): void {
    for (const delivery of this.#active) delivery.innocent = delivery !== culprit;
  }

  #done(delivery: Delivery<T>, result: unknown): void {
    this.#active.delete(delivery);
    const { process } = this.#ctx.self;
    if (process === undefined) return;
    let end: Stop | undefined;
    try {
      end = this.stopped(settle(delivery, result));
    } catch (error) {
      this.#crash(delivery, error);
      return;
    }
    if (end !== undefined || (this.isStopping && this.#active.size === 0))
      process.kernel.stop(process, this.reason, undefined);
    else this.#gate?.();
  }

  #failed(delivery: Delivery<T>, error: unknown): void {
    if (delivery.isAbort(error)) {
      this.#done(delivery, undefined);
      return;
    }
    this.#crash(delivery, error);
  }

  #crash(delivery: Delivery<T>, error: unknown): void {
    this.blame(delivery);
    const { process } = this.#ctx.self;
    if (process === undefined) throw error;
    process.failed(error, process.rare?.message);
  }
}

/** Leaves all groups, and sends the deliveries that wait in the mailbox to other consumers. */
function giveBack(ctx: Context<never>, reason: ExitReason): void {
  const { process } = ctx.self;
  if (process === undefined) return;
  leaveAll(ctx.self);
  const waiting: Delivery[] = [];
  for (let index = 0; index < process.length; index++) {
    const entry = process.peek(index);
    if (entry instanceof Delivery && entry.queuedIn === process) waiting.push(entry);
  }
  for (const delivery of waiting) delivery.giveBack(reason);
}

function settle<T>(delivery: Delivery<T>, result: unknown): Stop | undefined {
  if (result === undefined || result instanceof Stop) {
    delivery.ack();
    return result;
  }
  if (result instanceof Rejection) delivery.reject(result.why, { final: result.final });
  else if (result instanceof Refusal)
    throw new OptionError(
      "result",
      "refuse(…)",
      "reject(…) in a consumer: refuse(…) answers a server's call",
    );
  else delivery.reply(result);
  return undefined;
}
