// The commits of a ledger. Steps gather while one is in flight, and many go into the next one, so a commit costs what its rows cost,
// however small the steps are. A set that is refused is tried again step by step, to find the step that came too late.

import { ConflictError } from "../../store/index.js";
import type { Ended, Step } from "./ledger.js";
import type { LedgerState } from "./ledger-state.js";
import type { LiveMessage } from "./live-message.js";
import { messagesOf, publishedBy, rememberedBy, sizeOf } from "./step-parts.js";
import { dueOf, type Entry, type Writing, writingOf } from "./step-writes.js";
import { executionTopic, READY, READY_NEWS } from "./tables.js";

export class StepCommits {
  readonly #ledger: LedgerState;
  #gathered: Entry[] = [];
  /** Steps of a set that was refused: each is tried alone, before all others. */
  readonly #single: Entry[] = [];
  #flight: readonly Entry[] | undefined;
  /** How many sets are durable. */
  #durable = 0;
  /** When others were last notified of ready messages, by queue. */
  readonly #newsAt = new Map<string, number>();

  constructor(ledger: LedgerState) {
    this.#ledger = ledger;
  }

  /** Whether steps are on their way. */
  get inFlight(): boolean {
    return this.#flight !== undefined;
  }

  /** Whether steps are on their way, or wait for that. */
  get busy(): boolean {
    return this.#flight !== undefined || this.#gathered.length > 0 || this.#single.length > 0;
  }

  /** Neither is a step in flight, nor was one submitted. */
  get quiet(): boolean {
    return this.#flight === undefined && this.#gathered.length === 0;
  }

  get durable(): number {
    return this.#durable;
  }

  add(entry: Entry): void {
    this.#gathered.push(entry);
  }

  /** Writes the next steps, if none are on their way. */
  write(): void {
    while (this.#flight === undefined && this.#ledger.phase !== "closed") {
      const entries = this.#next();
      if (entries.length === 0) return;
      const refused: Step[] = [];
      const accepted = entries.filter(({ step }) => {
        const isInTime = begin(step);
        if (!isInTime) refused.push(step);
        return isInTime;
      });
      if (accepted.length > 0) this.#submit(accepted);
      for (const step of refused) this.#late(step);
    }
  }

  #next(): Entry[] {
    const single = this.#single.shift();
    if (single !== undefined) return [single];
    const { batchMessages, commitSize } = this.#ledger.limits;
    let weight = 0;
    let size = 0;
    let count = 0;
    const places = new Map<string, number>();
    while (count < this.#gathered.length && weight < batchMessages) {
      const entry = this.#gathered[count] as Entry;
      const { step, bodies } = entry;
      // The first write shows which of them is wrong.
      if (!follows(step, places)) break;
      size += sizeOf(entry);
      if (size > commitSize && count > 0) break;
      count++;
      weight += 1 + bodies.length;
      // Behind the end there is nothing, in the same set neither.
      if (step.type === "end") break;
    }
    return this.#gathered.splice(0, count);
  }

  #submit(entries: readonly Entry[]): void {
    const ledger = this.#ledger;
    const { place } = ledger;
    const news = new Set<string>();
    for (const { step, passed } of entries) {
      passed.length = 0;
      if (step.type === "end") news.add("");
      for (const { queue } of publishedBy(step)) {
        const isPromised = ledger.handOut.promise(queue);
        passed.push(isPromised);
        if (place.shared && !isPromised && this.#isNews(queue)) news.add(READY_NEWS + queue);
      }
    }
    const now = ledger.now();
    const writing = writingOf(entries, place, now);
    const { set } = writing;
    const topic = executionTopic(place.scope);
    const notify = [...news].map((one) => topic + one);
    this.#flight = entries;
    ledger.asking();
    ledger.store.submit(notify.length === 0 ? set : { ...set, notify }, (error, committed) => {
      if (ledger.phase === "closed") this.#flight = undefined;
      ledger.answered();
      if (ledger.phase === "closed") return;
      if (error !== undefined) {
        this.#failed(error, entries);
        return;
      }
      this.#flight = undefined;
      this.#committed(entries, writing, now, committed?.results[writing.end] === 1);
    });
  }

  /** Whether other hosts are to be notified that messages of this queue are ready that this host does not take. */
  #isNews(queue: string): boolean {
    const now = this.#ledger.options.context.now();
    if (now - (this.#newsAt.get(queue) ?? Number.NEGATIVE_INFINITY) < NEWS_MS) return false;
    this.#newsAt.set(queue, now);
    return true;
  }

  // ── a set is durable ─────────────────────────────────────────────────────────────────────────────────────────

  /** @param isEnd - it has completed the execution */
  #committed(entries: readonly Entry[], writing: Writing, now: number, isEnd: boolean): void {
    const ledger = this.#ledger;
    const { listener } = ledger.options;
    this.#durable++;
    const { pending, done, dead, inputs } = ledger.counts;
    ledger.counts = {
      pending: pending + writing.pending,
      done: done + writing.done,
      dead: dead + writing.dead,
      inputs: inputs + writing.inputs,
    };
    const arrived = new Map<string, LiveMessage[]>();
    let ended: Ended | undefined = isEnd ? "completed" : undefined;
    for (const entry of entries) {
      this.#apply(entry, now, arrived);
      if (entry.step.type === "end") ended = entry.step.as;
    }
    listener.committed(entries.map(({ step }) => step));
    if (ended !== undefined) {
      ledger.end(ended);
      return;
    }
    for (const [queue, some] of arrived) listener.arrived(queue, some);
    if (ledger.watch.isBehind) ledger.watch.look();
    ledger.call();
  }

  #apply({ step, bodies, passed }: Entry, now: number, arrived: Map<string, LiveMessage[]>): void {
    const { handOut, recall } = this.#ledger;
    this.#outlived(step);
    if (step.type === "retry") handOut.retried(step, now);
    else for (const message of messagesOf(step)) handOut.settled(message);
    this.#carry(step, passed, now);
    recall.over(rememberedBy(step));
    for (const [i, child] of publishedBy(step).entries()) {
      const message = handOut.published(child, bodies[i] as Entry["bodies"][number], passed[i] === true);
      if (message === undefined) continue;
      const some = arrived.get(child.queue);
      if (some === undefined) arrived.set(child.queue, [message]);
      else some.push(message);
    }
  }

  /** A message that was settled, or is to be retried, has ended no process; or its row says now that it has. */
  #outlived(step: Step): void {
    const { blame, place } = this.#ledger;
    const evidence = step.type === "retry" || step.type === "dead" ? step.evidence : undefined;
    for (const message of messagesOf(step))
      if (evidence === undefined) message.progressed();
      else blame.taken(place.scope, message.id);
  }

  /** Where a broker carries messages: sends the step's messages that this host does not keep, and acknowledges letters that are over. */
  #carry(step: Step, passed: readonly boolean[], now: number): void {
    const { broker } = this.#ledger;
    if (broker === undefined) return;
    const children = publishedBy(step).flatMap(({ queue, id }, i) =>
      passed[i] === true ? [] : [{ queue, lane: READY, id }],
    );
    if (step.type !== "retry") broker.committed(messagesOf(step), children, now);
    else if (step.delayMs > 0) {
      const { queue, id } = step.message;
      broker.committed(messagesOf(step), [{ queue, lane: dueOf(now, step.delayMs), id }], now);
    }
  }

  // ── a set is refused ─────────────────────────────────────────────────────────────────────────────────────────

  #failed(error: Error, entries: readonly Entry[]): void {
    const ledger = this.#ledger;
    for (const { step, passed } of entries) {
      for (const [i, { queue }] of publishedBy(step).entries())
        if (passed[i] === true) ledger.handOut.breakPromise(queue);
      for (const message of messagesOf(step)) message.state = "taken";
    }
    if (!(error instanceof ConflictError)) {
      this.#flight = undefined;
      ledger.lose(error);
      return;
    }
    // The steps stay in flight until it is known why.
    ledger.watch.whyRefused().then(
      (why) => {
        this.#flight = undefined;
        if (ledger.phase === "closed") return;
        if (why === "late" && entries.length === 1) this.#overtaken((entries[0] as Entry).step);
        else if (why !== "ended") this.#single.unshift(...entries);
        ledger.call();
      },
      (cause: unknown) => {
        this.#flight = undefined;
        ledger.lose(cause as Error);
      },
    );
  }

  /** The step was refused alone: another host was faster, and decides about the messages of the step. */
  #overtaken(step: Step): void {
    const { handOut, broker, place } = this.#ledger;
    const all = messagesOf(step);
    for (const message of all) {
      handOut.of(message.queue).forget(message);
      broker?.lost(message);
    }
    this.#late(step);
    if (!place.shared || all.length === 0) return;
    this.#ledger.asked(handOut.again(all)).catch((error: Error) => this.#ledger.lose(error));
  }

  /** The step came too late to be written. */
  #late(step: Step): void {
    this.#ledger.recall.over(rememberedBy(step));
    this.#ledger.options.listener.refused(step);
  }
}

/** Others are notified of ready messages of a queue this often at most, in milliseconds. */
const NEWS_MS = 25;

/** Whether a step of a source begins where the step before it in its set has left the source. @param places - where that is */
function follows(step: Step, places: Map<string, number>): boolean {
  if (step.type !== "source" && step.type !== "close") return true;
  const place = places.get(step.source);
  if (step.type === "close") places.set(step.source, CLOSED);
  else places.set(step.source, step.from + step.messages.length);
  return place === undefined || (step.type === "close" ? place !== CLOSED : place === step.from);
}

/** The place of a source behind all of its messages. */
const CLOSED = Number.POSITIVE_INFINITY;

/** False: the step comes too late. */
function begin(step: Step): boolean {
  const all: readonly LiveMessage[] = messagesOf(step);
  if (!all.every((message) => message.state === "taken")) return false;
  for (const message of all) message.state = "settling";
  return true;
}
