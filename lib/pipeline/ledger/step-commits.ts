// The commits of a ledger. Steps gather while one is in flight, and many go into the next one, so a commit costs what its rows cost,
// however small the steps are. A set that is refused is tried again step by step, to find the step that came too late.

import { ConflictError, type Store } from "../../store/index.js";
import type { Step } from "./ledger.js";
import type { LiveMessage } from "./live-message.js";
import { messagesOf, publishedBy } from "./step-parts.js";
import { sizeOf } from "./step-size.js";
import { type Entry, type Place, type Writing, writingOf } from "./step-writes.js";
import { executionTopic, READY_NEWS } from "./tables.js";

/** What commits use of their ledger. */
export interface CommitsPort {
  readonly store: Store;
  readonly place: Place;
  /** Most messages of one set, and their largest size, unless a step alone has more. */
  readonly batchMessages: number;
  readonly commitSize: number;
  readonly closed: boolean;
  /** The clock of the store, which does not step back here. */
  now(): number;
  /** Whether this host takes a message of this queue as soon as it is committed. */
  promise(queue: string): boolean;
  breakPromise(queue: string): void;
  /** Whether other hosts are to be notified that messages of this queue are ready that this host does not take. */
  isNews(queue: string): boolean;
  /** A set is durable. @param ends - it has completed the execution */
  committed(entries: readonly Entry[], writing: Writing, now: number, ends: boolean): void;
  /** The step came too late to be written. */
  late(step: Step): void;
  /**
   * A set was refused. Fulfilled with the reason: the execution has ended, and nothing is done; or one step came too late, and is looked
   * for; or people have changed messages, and all steps are tried again.
   */
  refused(): Promise<"ended" | "late" | "changed">;
  /** The step was refused alone: another host was faster. */
  overtaken(step: Step): void;
  /** A set is on its way, and its outcome is known. */
  sent(): void;
  settled(): void;
  /** Writes again, soon. */
  call(): void;
  lost(error: Error): void;
}

export class StepCommits {
  readonly #port: CommitsPort;
  #gathered: Entry[] = [];
  /** Steps of a set that was refused: each is tried alone, before all others. */
  readonly #single: Entry[] = [];
  #flight: readonly Entry[] | undefined;

  constructor(port: CommitsPort) {
    this.#port = port;
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

  add(entry: Entry): void {
    this.#gathered.push(entry);
  }

  /** Writes the next steps, if none are on their way. */
  write(): void {
    while (this.#flight === undefined && !this.#port.closed) {
      const entries = this.#next();
      if (entries.length === 0) return;
      const refused: Step[] = [];
      const accepted = entries.filter(({ step }) => {
        const isInTime = begin(step);
        if (!isInTime) refused.push(step);
        return isInTime;
      });
      if (accepted.length > 0) this.#submit(accepted);
      for (const step of refused) this.#port.late(step);
    }
  }

  #next(): Entry[] {
    const single = this.#single.shift();
    if (single !== undefined) return [single];
    const { batchMessages, commitSize } = this.#port;
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
    const port = this.#port;
    const news = new Set<string>();
    for (const { step, passed } of entries) {
      passed.length = 0;
      if (step.type === "end") news.add("");
      for (const { queue } of publishedBy(step)) {
        const isPromised = port.promise(queue);
        passed.push(isPromised);
        if (port.place.shared && !isPromised && port.isNews(queue)) news.add(READY_NEWS + queue);
      }
    }
    const now = port.now();
    const writing = writingOf(entries, port.place, now);
    const { set } = writing;
    const topic = executionTopic(port.place.scope);
    const notify = [...news].map((one) => topic + one);
    this.#flight = entries;
    port.sent();
    port.store.submit(notify.length === 0 ? set : { ...set, notify }, (error, committed) => {
      if (port.closed) this.#flight = undefined;
      port.settled();
      if (port.closed) return;
      if (error !== undefined) {
        this.#failed(error, entries);
        return;
      }
      this.#flight = undefined;
      port.committed(entries, writing, now, committed?.results[writing.end] === 1);
    });
  }

  #failed(error: Error, entries: readonly Entry[]): void {
    const port = this.#port;
    for (const { step, passed } of entries) {
      for (const [i, { queue }] of publishedBy(step).entries())
        if (passed[i] === true) port.breakPromise(queue);
      for (const message of messagesOf(step)) message.state = "taken";
    }
    if (!(error instanceof ConflictError)) {
      this.#flight = undefined;
      port.lost(error);
      return;
    }
    // The steps stay in flight until it is known why.
    port.refused().then(
      (why) => {
        this.#flight = undefined;
        if (port.closed) return;
        if (why === "late" && entries.length === 1) port.overtaken((entries[0] as Entry).step);
        else if (why !== "ended") this.#single.unshift(...entries);
        port.call();
      },
      (cause: unknown) => {
        this.#flight = undefined;
        port.lost(cause as Error);
      },
    );
  }
}

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
