// The ledger of an execution that lives in memory alone: it counts and completes as any other, and is gone with its process. A step
// costs a few writes to fields: no ids are looked up, because a message carries its own state.

import { Ring } from "../../process/mailbox.js";
import type { MessageId } from "../definition/message-id.js";
import {
  type Ended,
  type Ledger,
  type LedgerContext,
  type LedgerCounts,
  type LedgerListener,
  laterOf,
  type Message,
  type Publication,
  type Remembered,
  type Setback,
  type Step,
} from "./ledger.js";
import { setbackAfter } from "./setback.js";

/** What a ledger in memory is made with. */
export interface VolatileLedgerOptions {
  readonly listener: LedgerListener;
  /** The names of the sources, all of them open. */
  readonly sources: readonly string[];
  /** The messages that are there from the start. */
  readonly messages?: readonly Publication[];
  readonly context: LedgerContext;
}

const NO_ERRORS: readonly string[] = [];

class LiveMessage implements Message {
  readonly id: MessageId;
  readonly queue: string;
  readonly value: unknown;
  readonly key: string | undefined;
  readonly attempts: number;
  readonly errors: readonly string[];
  readonly setback: Setback | undefined;
  /** A host works on it. A step about a message that is not taken comes too late. */
  taken = false;
  #beats: Map<string, unknown> | undefined;

  constructor(
    { id, queue, value, key }: Publication,
    attempts: number,
    errors: readonly string[],
    setback?: Setback,
  ) {
    this.id = id;
    this.queue = queue;
    this.value = value;
    this.key = key;
    this.attempts = attempts;
    this.errors = errors;
    this.setback = setback;
  }

  beat(key: string, progress: unknown): void {
    this.#beats ??= new Map();
    this.#beats.set(key, progress);
  }

  lastBeat(key: string): unknown {
    return this.#beats?.get(key);
  }

  /** The next attempt at it. */
  again(attempts: number, errors: readonly string[], setback?: Setback): LiveMessage {
    const next = new LiveMessage(this, attempts, errors, setback);
    next.#beats = this.#beats;
    return next;
  }
}

class LiveQueue {
  readonly name: string;
  /** Messages that the route has not asked for. */
  readonly ready: Ring = new Ring();
  /** Messages that were asked for, and have not arrived. */
  wanted = 0;
  /** Live messages: ready, taken and delayed. */
  depth = 0;
  /** The mark that a route waits for. */
  mark = 0;

  constructor(name: string) {
    this.name = name;
  }
}

export class VolatileLedger implements Ledger {
  readonly #listener: LedgerListener;
  readonly #context: LedgerContext;
  readonly #queues = new Map<string, LiveQueue>();
  /** Open sources: how many messages each has given. */
  readonly #open: Map<string, number>;
  readonly #memory = new Map<string, Map<string, unknown>>();
  readonly #timers = new Set<() => void>();
  readonly #turn = (): void => this.#flush();
  #steps: Step[] = [];
  #called = false;
  #held = 0;
  #ended: Ended | undefined;
  #closed = false;
  #pending: number;
  #done = 0;
  #dead = 0;
  #inputs = 0;
  /** Something has changed that others wait for. */
  #moved = true;

  constructor({ listener, sources, messages = [], context }: VolatileLedgerOptions) {
    this.#listener = listener;
    this.#context = context;
    this.#open = new Map(sources.map((name) => [name, 0]));
    this.#pending = sources.length;
    this.#publish(messages);
    this.#inputs = messages.length;
    this.#call();
  }

  want(queue: string, count: number): void {
    this.#of(queue).wanted += count;
    this.#moved = true;
    this.#call();
  }

  submit(step: Step): void {
    if (this.#ended !== undefined || this.#closed) return;
    this.#steps.push(step);
    this.#call();
  }

  depth(queue: string): number {
    return this.#of(queue).depth;
  }

  awaitBelow(queue: string, mark: number): void {
    this.#of(queue).mark = mark;
    this.#moved = true;
    this.#call();
  }

  held(count: number): void {
    this.#held = count;
    this.#call();
  }

  counts(): LedgerCounts {
    return { pending: this.#pending, done: this.#done, dead: this.#dead, inputs: this.#inputs };
  }

  forget(): void {
    // There is no other host that could remember something in between.
  }

  async recall(adapter: string, key: string): Promise<unknown> {
    // Behind the steps that were submitted: they are applied in the turn that was asked for first.
    if (this.#steps.length > 0) await new Promise<void>((resolve) => laterOf(this.#context)(resolve));
    return this.#memory.get(adapter)?.get(key);
  }

  async close(): Promise<void> {
    if (this.#steps.length > 0) this.#apply();
    this.#closed = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
  }

  #of(name: string): LiveQueue {
    let queue = this.#queues.get(name);
    if (queue === undefined) {
      queue = new LiveQueue(name);
      this.#queues.set(name, queue);
    }
    return queue;
  }

  #call(): void {
    if (this.#called || this.#closed) return;
    this.#called = true;
    laterOf(this.#context)(this.#turn);
  }

  #flush(): void {
    this.#called = false;
    if (this.#closed) return;
    const isOver = this.#ended !== undefined;
    if (this.#steps.length > 0) this.#apply();
    if (isOver || this.#closed) return;
    if (this.#pending === 0) this.#ended ??= "completed";
    if (this.#ended !== undefined) {
      this.#closed = true;
      for (const cancel of this.#timers) cancel();
      this.#listener.ended(this.#ended);
      return;
    }
    if (this.#moved) this.#deliver();
    if (this.#held > 0 && this.#pending === this.#held && this.#steps.length === 0) this.#listener.onlyHeld();
  }

  #apply(): void {
    const steps = this.#steps;
    this.#steps = [];
    this.#moved = true;
    let refused: Step[] | undefined;
    for (let i = 0; i < steps.length; i++) {
      const step = steps[i] as Step;
      if (this.#decide(step)) continue;
      refused ??= [];
      refused.push(step);
    }
    if (refused === undefined) this.#listener.committed(steps);
    else {
      const late = new Set(refused);
      this.#listener.committed(steps.filter((step) => !late.has(step)));
      for (const step of refused) this.#listener.refused(step);
    }
  }

  /** False: the step comes too late. */
  #decide(step: Step): boolean {
    // Behind the step that makes nothing pending there is none that applies; behind an end there may be.
    if (this.#ended !== undefined) return false;
    switch (step.type) {
      case "settle":
        return this.#settle(step);
      case "source": {
        if (this.#open.get(step.source) !== step.from) return false;
        this.#open.set(step.source, step.from + step.messages.length);
        this.#inputs += step.messages.length;
        this.#publish(step.messages);
        return true;
      }
      case "close":
        if (!this.#open.delete(step.source)) return false;
        this.#pending--;
        return true;
      case "emit":
        return this.#emit(step);
      case "retry":
        return this.#retry(step);
      case "dead":
        if (!this.#remove(step.message)) return false;
        this.#dead++;
        return true;
      case "end":
        this.#ended = step.as;
        return true;
      default:
        return step satisfies never;
    }
  }

  #settle({ message, children, remember }: Extract<Step, { type: "settle" }>): boolean {
    if (!this.#remove(message)) return false;
    if (children.length > 0) this.#publish(children);
    if (remember !== undefined) this.#remember(remember);
    return true;
  }

  #remember(all: readonly Remembered[]): void {
    for (const { adapter, key, value } of all) {
      const known = this.#memory.get(adapter) ?? new Map<string, unknown>();
      this.#memory.set(adapter, known.set(key, value));
    }
  }

  #emit({ messages, children, remember }: Extract<Step, { type: "emit" }>): boolean {
    const distinct = new Set(messages);
    for (const message of distinct) if (!(message as LiveMessage).taken) return false;
    for (const message of distinct) this.#remove(message);
    this.#publish(children);
    if (remember !== undefined) this.#remember(remember);
    return true;
  }

  #retry({ message, delayMs, error, setback }: Extract<Step, { type: "retry" }>): boolean {
    const live = message as LiveMessage;
    if (!live.taken) return false;
    live.taken = false;
    const next =
      error === undefined
        ? live.again(live.attempts, live.errors, setbackAfter(live, error, setback))
        : live.again(live.attempts + 1, [...live.errors, error]);
    if (delayMs <= 0) {
      this.#of(next.queue).ready.push(next);
      return true;
    }
    const cancel = this.#context.after(delayMs, () => {
      this.#timers.delete(cancel);
      this.#of(next.queue).ready.push(next);
      this.#moved = true;
      this.#call();
    });
    this.#timers.add(cancel);
    return true;
  }

  #remove(message: Message): boolean {
    const live = message as LiveMessage;
    if (!live.taken) return false;
    live.taken = false;
    this.#of(live.queue).depth--;
    this.#pending--;
    this.#done++;
    return true;
  }

  #publish(messages: readonly Publication[]): void {
    let queue: LiveQueue | undefined;
    for (let i = 0; i < messages.length; i++) {
      const one = messages[i] as Publication;
      if (queue?.name !== one.queue) queue = this.#of(one.queue);
      queue.ready.push(new LiveMessage(one, 0, NO_ERRORS));
      queue.depth++;
    }
    this.#pending += messages.length;
  }

  #deliver(): void {
    this.#moved = false;
    for (const queue of this.#queues.values()) {
      const { ready } = queue;
      const count = Math.min(queue.wanted, ready.size);
      if (count > 0) {
        const messages: LiveMessage[] = [];
        for (let i = 0; i < count; i++) {
          const message = ready.shift() as LiveMessage;
          message.taken = true;
          messages.push(message);
        }
        queue.wanted -= count;
        this.#listener.arrived(queue.name, messages);
      }
      if (queue.depth >= queue.mark) continue;
      queue.mark = 0;
      this.#listener.drained(queue.name);
    }
  }
}
