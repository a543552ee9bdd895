// The process of a subscriber: carries out what its machine decides. Each attempt at a message is a process of its own, linked to this
// one: its exit ends the attempt, however it comes.

import { takeNewClaim } from "../../host/claims/claims.js";
import type { Evidence, Subject } from "../../host/index.js";
import type { Payloads } from "../../host/payload/payloads.js";
import type { Callbacks } from "../../process/behaviour.js";
import type { BodyContext } from "../../process/body-context.js";
import type { Context } from "../../process/context.js";
import { EffectLoop } from "../../process/effect-loop.js";
import type { Signal } from "../../process/entries.js";
import type { Kernel } from "../../process/kernel.js";
import type { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { type ExitReason, formatReason, KILLED, NORMAL, shutdown } from "../../process/reason.js";
import { reportLate } from "../../process/report-failure.js";
import { spawnIn } from "../../process/spawn-in.js";
import type { QueueOutcome } from "../../service/telemetry/pipeline-taps.js";
import { type Claim, ConflictError, FencedError, StoreClosedError } from "../../store/index.js";
import { QueueStatusError, QueueTimeoutError } from "../messages/errors.js";
import { Inbox } from "../messages/inbox.js";
import { MESSAGE_LIMITS } from "../messages/limits.js";
import { TimedAttempt } from "../messages/timed-attempt.js";
import type { SubscriberPolicy } from "./limits.js";
import { type Beats, MessageBeats } from "./message-beats.js";
import { letterOf, numberIn, type QueueBroker } from "./outbox.js";
import type { QueueSignals } from "./queue-signals.js";
import type { Child, QueueStore, Settlement, Taken } from "./queue-store.js";
import type { SharedEnds } from "./shared-ends.js";
import { endsOf, isStatus, type Outcome, type Verdict, verdictOf, verdictOnEnd } from "./status.js";
import {
  decide,
  initial,
  placesOf,
  type SubscriberEffect,
  type SubscriberEvent,
} from "./subscriber-machine.js";
import { type QueuedRow, topicOf } from "./tables.js";

type Event = SubscriberEvent<QueuedRow, Settlement>;
type Effect = SubscriberEffect<QueuedRow, Settlement>;

/** The letter of a message that is in work here comes again after this time, in milliseconds. */
const IN_WORK_MS = 1_000;

/** What the subscriber's process is sent. */
type Note = { readonly type: "event"; readonly event: Event } | { readonly type: "look" };

/** Runs the user's handler with a message. */
export type Handle = (row: QueuedRow, limit: TimedAttempt, beats: MessageBeats) => PromiseLike<Handled>;

/** What a handler returned, and what it wants to publish. */
export interface Handled {
  readonly returned: unknown;
  readonly children: readonly Child[];
}

export interface SubscriberSettings extends SubscriberPolicy {
  readonly queue: QueueStore;
  readonly handle: Handle;
  readonly payloads: Payloads;
  /** Knows which message ends the program. */
  readonly evidence: Evidence;
  /** Calls `fn` when messages that wait for evidence may run by now. Returns the call that ends that. */
  opened(fn: () => void): () => void;
  readonly ends: SharedEnds;
  /** Counts what this subscriber holds among the signals of its queue. Returns the call that ends that. */
  readonly count: QueueSignals["count"];
  /** The broker that carries the messages, if one does: it says which of them are ready. Without one, the store is asked. */
  readonly broker: QueueBroker | undefined;
}

interface Ended {
  readonly outcome: Outcome;
  readonly children: readonly Child[];
  readonly heartbeats?: Beats | undefined;
}

/** An attempt at a message, and how it ended. */
interface Attempt {
  readonly delivery: number;
  readonly row: QueuedRow;
  ended: Ended | undefined;
}

export class SubscriberProcess implements Callbacks<Note> {
  readonly #settings: SubscriberSettings;
  readonly #loop: EffectLoop<ReturnType<typeof initial<QueuedRow, Settlement>>, Event, Effect>;
  readonly #attempts = new Map<Pid, Attempt>();
  readonly #pids = new Map<number, Pid>();
  /** In whose name handlers run, by delivery. */
  readonly #subjects = new Map<number, Subject>();
  /** Releases of messages that have to end before this process ends. */
  readonly #releases = new Set<Promise<void>>();
  #ctx!: Context<Note>;
  #kernel!: Kernel;
  #claim: Claim | undefined;
  /** Where a broker carries the messages. */
  #inbox: Inbox<number> | undefined;
  #unwatch: (() => void) | undefined;
  #unlisten: (() => void) | undefined;
  #uncount: (() => void) | undefined;
  #stopping: ExitReason = NORMAL;
  #dueAt: number | undefined;

  constructor(settings: SubscriberSettings) {
    this.#settings = settings;
    const { concurrency, prefetch } = settings;
    const first = initial<QueuedRow, Settlement>({ concurrency, prefetch, again: MESSAGE_LIMITS.again });
    this.#loop = new EffectLoop(first, decide<QueuedRow, Settlement>, (effect) => this.#carryOut(effect));
  }

  get #queue(): QueueStore {
    return this.#settings.queue;
  }

  async init(ctx: Context<Note>): Promise<void> {
    this.#ctx = ctx;
    ctx.trapExit(true);
    this.#kernel = ctx.self.process?.kernel as Kernel;
    // A process that is killed does not terminate. Its claim ends with it, so that others find its messages.
    this.#kernel.links.watch(
      ctx.self,
      () => void this.#letGo(),
      () => undefined,
    );
    await this.#settings.ends.share();
    await this.#enter();
    if (!ctx.alive) return;
    const news = (): void => this.#tell({ type: "news" });
    this.#unwatch = this.#queue.store.watch(topicOf(this.#queue.name), { notified: news, again: news });
    this.#unlisten = this.#settings.opened(() => this.#tell({ type: "opened" }));
    this.#uncount = this.#settings.count(() => placesOf(this.#loop.state));
    this.#openInbox(news);
    this.#tell({ type: "claimed", claim: this.#loop.state.claim });
    this.#note({ type: "look" });
  }

  /** The broker may be away. @param news - called when there may be messages */
  #openInbox(news: () => void): void {
    const { broker, prefetch } = this.#settings;
    const { name: queue } = this.#queue;
    if (broker !== undefined)
      this.#inbox = new Inbox({ queue, ...broker, prefetch, inWorkMs: IN_WORK_MS, read: numberIn, news });
  }

  handle(_ctx: Context<Note>, note: Note): void {
    if (note.type === "event") this.#loop.dispatch(note.event);
    else void this.#look();
  }

  signal(_ctx: Context<Note>, signal: Signal): void {
    if (signal.type !== "exit") return;
    const attempt = this.#attempts.get(signal.from);
    if (attempt === undefined) return;
    this.#attempts.delete(signal.from);
    this.#pids.delete(attempt.delivery);
    const ended: Ended = attempt.ended ?? { outcome: crashed(signal.reason), children: [] };
    const { outcome, children, heartbeats } = ended;
    const { policy } = this.#queue;
    const { env } = this.#kernel;
    const verdict = verdictOf(policy, attempt.row, outcome, env.random(), env.wallTime());
    const settlement = { verdict, children: verdict.type === "done" ? children : [], heartbeats };
    this.#loop.dispatch({ type: "handled", delivery: attempt.delivery, verdict: settlement });
  }

  /** Lets the messages in work end. The others go back to the queue. */
  parentExit(_ctx: Context<Note>, reason: ExitReason): void {
    this.#stopping = reason;
    this.#loop.dispatch({ type: "stop" });
  }

  async terminate(): Promise<void> {
    this.#unwatch?.();
    for (const pid of this.#attempts.keys()) this.#end(pid);
    await Promise.allSettled(this.#releases);
    await this.#inbox?.close();
    await this.#letGo();
  }

  #carryOut(effect: Effect): void {
    switch (effect.type) {
      case "claim":
        // Messages that it held under the lost claim are found by the token of that claim.
        this.#follow(
          this.#enter().then(() => this.#queue.recover()),
          () => ({ type: "claimed", claim: effect.claim }),
          effect.claim,
        );
        return;
      case "take":
        this.#take(effect.claim, effect.count);
        return;
      case "run":
        this.#run(effect.delivery, effect.message);
        return;
      case "settle":
        this.#settle(effect);
        return;
      case "end":
        this.#lost(effect.messages);
        for (const delivery of effect.deliveries) this.#forgetAttempt(delivery);
        return;
      case "release":
        this.#release(effect.messages);
        return;
      case "alarm":
        this.#ctx.runAfter(effect.inMs, () => this.#loop.dispatch({ type: "again" }));
        return;
      case "stopped":
        this.#kernel.stop(this.#ctx.self.process as never, this.#stopping, undefined);
        return;
      default:
        effect satisfies never;
    }
  }

  #take(claim: number, count: number): void {
    const held = this.#claim as Claim;
    const inbox = this.#inbox;
    this.#follow(
      inbox === undefined ? this.#queue.take(held, count) : this.#takeFrom(inbox, held, count),
      ({ rows, more, dueInMs }) => {
        if (dueInMs !== undefined) this.#wakeIn(dueInMs);
        return { type: "taken", claim, messages: rows, more };
      },
      claim,
    );
  }

  async #takeFrom(inbox: Inbox<number>, claim: Claim, count: number): Promise<Taken> {
    const rows = await inbox.take(count, (numbers) => this.#queue.takeNumbers(claim, numbers));
    return { rows, more: !inbox.isEmpty, dueInMs: undefined };
  }

  /** Letters of messages that this subscriber does not have any more come again. */
  #lost(messages: readonly QueuedRow[]): void {
    for (const { number } of messages) this.#inbox?.lost(letterOf(number));
  }

  /** Looks again when the next delayed message is due. */
  #wakeIn(ms: number): void {
    const at = this.#ctx.now() + ms;
    if (this.#dueAt !== undefined && this.#dueAt <= at) return;
    this.#dueAt = at;
    this.#ctx.runAfter(ms, () => {
      if (this.#dueAt === at) this.#dueAt = undefined;
      this.#loop.dispatch({ type: "news" });
    });
  }

  #run(delivery: number, row: QueuedRow): void {
    const judged = this.#judged(row);
    if (judged === "run") this.#attempt(delivery, row);
    else if (judged === "wait") this.#loop.dispatch({ type: "held", delivery });
    else this.#loop.dispatch({ type: "handled", delivery, verdict: { verdict: judged, children: [] } });
  }

  /** What becomes of a message that has ended its process. One that may be the one that does waits for more evidence. */
  #judged(row: QueuedRow): Verdict | "run" | "wait" {
    const { mark, mayRun } = this.#settings.evidence.find(this.#subjectOf(row.number));
    if (mark !== undefined)
      return verdictOnEnd(this.#queue.policy, endsOf(row), mark.kind, this.#kernel.env.random());
    return mayRun ? "run" : "wait";
  }

  #subjectOf(number: number): string {
    return `queued:${this.#queue.name}/${number}`;
  }

  /** A message is settled, or not this subscriber's any more. */
  #over(delivery: number, number: number, verdict: Verdict | undefined): void {
    const subject = this.#subjects.get(delivery);
    this.#subjects.delete(delivery);
    if (verdict !== undefined) subject?.progressed();
    subject?.end();
    if (verdict !== undefined && "evidence" in verdict)
      this.#settings.evidence.taken(this.#subjectOf(number));
  }

  #attempt(delivery: number, row: QueuedRow): void {
    const { handle, evidence } = this.#settings;
    const { name } = this.#queue;
    const subject = evidence.begin(this.#subjectOf(row.number));
    this.#subjects.set(delivery, subject);
    const attempt: Attempt = { delivery, row, ended: undefined };
    const kernel = this.#kernel;
    const body = async (ctx: BodyContext<never>): Promise<void> => {
      subject.own(ctx.self);
      const limit = timed(ctx, name, this.#settings);
      const of = { queue: name, message: row.id, attempt: row.attempts + 1 };
      const tap = kernel.taps?.queueAttempt(of, row.trace, ctx.self.process as Process);
      const beats = this.#beats(ctx, row, subject);
      const run = (): Promise<Ended> => subject.run(() => outcomeOf(name, handle, row, limit, beats));
      const ended = await (tap === undefined ? run() : tap.around(run));
      const { overdue: error } = limit;
      attempt.ended =
        error === undefined ? ended : { ...ended, outcome: { type: "threw", error }, children: [] };
      tap?.ended(wordOf(attempt.ended.outcome));
    };
    const pid = spawnIn(kernel, row.trace, `message of ${name}`, () =>
      this.#ctx.spawnLink(body, { label: `message ${row.id} of ${name}` }),
    );
    this.#attempts.set(pid, attempt);
    this.#pids.set(delivery, pid);
  }

  /** A message that shows progress is no suspect. A failure of the store is ignored here: the settlement reports it. */
  #beats(ctx: BodyContext<never>, row: QueuedRow, subject: Subject): MessageBeats {
    const { payloads } = this.#settings;
    return new MessageBeats(row, {
      payloads,
      now: () => this.#queue.time.now(),
      after: (ms, fn) => void (ctx.alive && ctx.runAfter(ms, fn)),
      write: (heartbeats) => {
        const claim = this.#claim;
        if (!ctx.alive || claim === undefined) return;
        this.#queue.store.submit(this.#queue.beat(claim, row, heartbeats), (error) => {
          if (error === undefined) subject.progressed();
        });
      },
    });
  }

  #settle({ delivery, message, verdict, inMs }: Effect & { readonly type: "settle" }): void {
    if (inMs > 0) {
      const later = { type: "settle", delivery, message, verdict, inMs: 0 } as const;
      // Under a later claim the same message may be in work again: a delivery that is over settles nothing.
      this.#ctx.runAfter(inMs, () => this.#loop.state.inFlight.has(delivery) && this.#settle(later));
      return;
    }
    const claim = this.#claim as Claim;
    const set = this.#queue.settlement(claim, message, verdict);
    this.#queue.store.submit(set, (error) => {
      const isRefused = error instanceof ConflictError || error instanceof FencedError;
      if (isRefused || error === undefined)
        this.#over(delivery, message.number, isRefused ? undefined : verdict.verdict);
      if (isRefused) this.#lost([message]);
      else if (error === undefined) this.#inbox?.settled(letterOf(message.number));
      if (isRefused || error === undefined) return this.#tell({ type: "settled", delivery });
      this.#failed(error);
      this.#tell({ type: "unsettled", delivery, verdict, roll: this.#kernel.env.random() });
    });
  }

  #release(messages: readonly QueuedRow[]): void {
    this.#lost(messages);
    const released = this.#queue.release(this.#claim as Claim, messages);
    // Messages that are not given back are found by the token of their holder.
    const ended = released.catch((error: unknown) => this.#failed(error)).then(() => undefined);
    this.#releases.add(ended);
    void ended.then(() => this.#releases.delete(ended));
  }

  #forgetAttempt(delivery: number): void {
    this.#subjects.get(delivery)?.end();
    this.#subjects.delete(delivery);
    const pid = this.#pids.get(delivery);
    this.#pids.delete(delivery);
    if (pid === undefined) return;
    this.#attempts.delete(pid);
    this.#end(pid);
  }

  #end(pid: Pid): void {
    if (pid.process !== undefined) this.#kernel.stop(pid.process, KILLED, undefined);
  }

  /** Claims the right to take messages. */
  async #enter(): Promise<void> {
    // The one that is lost; or one that was not used, because the store failed after it was taken.
    const before = this.#claim;
    this.#claim = undefined;
    await before?.release();
    const claim = await takeNewClaim(this.#queue.store, this.#queue.claims, this.#kernel);
    if (!this.#ctx.alive) return claim.release();
    this.#claim = claim;
    await this.#queue.enter(claim, this.#settings.concurrency);
    // Its signal has aborted before anyone listened.
    if (claim.lost.aborted) throw new FencedError(claim.name, claim.token);
    claim.lost.addEventListener("abort", () => {
      if (this.#claim === claim) this.#tell({ type: "lost" });
    });
  }

  /** Looks for messages that were left behind, and for those without a notification. */
  async #look(): Promise<void> {
    this.#ctx.sendAfter(this.#ctx.self, { type: "look" }, MESSAGE_LIMITS.lookMs);
    try {
      await this.#settings.ends.share();
      await this.#queue.time.read();
      await this.#queue.recover();
      await this.#queue.forget();
      this.#tell({ type: "news" });
    } catch (error) {
      this.#failed(error);
    }
  }

  #follow<T>(work: Promise<T>, then: (result: T) => Event, claim: number): void {
    work.then(
      (result) => {
        if (this.#ctx.alive) this.#tell(then(result));
      },
      (error: unknown) => {
        this.#failed(error);
        this.#tell({ type: "failed", claim, roll: this.#kernel.env.random() });
      },
    );
  }

  /** A store that failed is asked again. Unexpected errors are reported. */
  #failed(error: unknown): void {
    if (error instanceof FencedError || error instanceof StoreClosedError || !this.#ctx.alive) return;
    reportLate(this.#kernel, this.#ctx.self, error);
  }

  #tell(event: Event): void {
    this.#note({ type: "event", event });
  }

  #note(note: Note): void {
    this.#ctx.self.process?.deliver(note, undefined);
  }

  async #letGo(): Promise<void> {
    this.#unwatch?.();
    this.#unlisten?.();
    this.#uncount?.();
    void this.#inbox?.close();
    const claim = this.#claim;
    this.#claim = undefined;
    if (claim === undefined) return;
    try {
      await claim.release();
      // Its messages go back at once. If that fails, the next subscriber that looks finds them.
      await this.#queue.recover();
    } catch (error) {
      this.#failed(error);
    }
  }
}

/** How an attempt ended whose process did not get to say so. */
function crashed(reason: ExitReason): Outcome {
  if (reason.type === "crash") return { type: "threw", error: reason.error };
  if (reason.type === "shutdown" && reason.detail instanceof Error)
    return { type: "threw", error: reason.detail };
  return { type: "threw", error: new Error(`the handler's process ended: ${formatReason(reason)}`) };
}

/** An attempt that fails when its time is over, and whose process ends when its handler does not end a while later. */
function timed(ctx: BodyContext<never>, queue: string, policy: SubscriberPolicy): TimedAttempt {
  const { timeoutMs, overrunMs } = policy;
  const limit = new TimedAttempt(ctx);
  if (timeoutMs === Number.POSITIVE_INFINITY) return limit;
  ctx.runAfter(timeoutMs, () => {
    const error = new QueueTimeoutError(queue, timeoutMs);
    limit.tooLong(error);
    if (overrunMs < Number.POSITIVE_INFINITY) ctx.runAfter(overrunMs, () => ctx.exit(shutdown(error)));
  });
  return limit;
}

function wordOf(outcome: Outcome): QueueOutcome {
  return outcome.type === "status" ? outcome.status.type : "failed";
}

async function outcomeOf(
  queue: string,
  handle: Handle,
  row: QueuedRow,
  limit: TimedAttempt,
  beats: MessageBeats,
): Promise<Ended> {
  try {
    const { returned, children } = await handle(row, limit, beats);
    beats.check();
    if (!isStatus(returned)) throw new QueueStatusError(queue, returned);
    return { outcome: { type: "status", status: returned }, children, heartbeats: await beats.stored() };
  } catch (error) {
    return { outcome: { type: "threw", error }, children: [], heartbeats: await beats.stored() };
  }
}
