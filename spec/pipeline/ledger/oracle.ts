// A ledger as its rule says it (lib/pipeline/ledger/ledger.ts): a set of live messages, a set of open sources, dead letters, and what becomes
// of them. Nothing is counted that can be said: `pending` is the size of two sets, and the execution is complete when both are empty. Written
// with plain maps, so that it shares no idea with the ledgers that are held against it.

import type { Message, Publication, Remembered, Step } from "../../../lib/pipeline/ledger/ledger.js";

interface Live {
  readonly queue: string;
  readonly value: string;
  readonly attempts: number;
  readonly errors: readonly string[];
  /** Not before this time. */
  readonly due: number;
  /** The attempt that somebody works on. */
  taken: Message | undefined;
}

interface Letter {
  readonly queue: string;
  readonly value: string;
  readonly errors: readonly string[];
}

/** What a ledger has to say of an execution, in a form that can be compared. */
export interface Facts {
  readonly pending: number;
  readonly done: number;
  readonly dead: number;
  readonly dropped: number;
  readonly inputs: number;
  readonly live: readonly string[];
  /** Open sources, with how many messages each has given. */
  readonly open: readonly string[];
  readonly letters: readonly string[];
  readonly lineage: readonly string[];
  readonly memory: readonly string[];
  readonly ended: string | undefined;
}

export class Oracle {
  live: Map<string, Live> = new Map();
  open: Map<string, number> = new Map();
  readonly letters: Map<string, Letter> = new Map();
  readonly lineage: Set<string> = new Set();
  readonly memory: Map<string, unknown> = new Map();
  done = 0;
  dead = 0;
  dropped = 0;
  inputs = 0;
  ended: string | undefined;

  constructor(sources: readonly string[], messages: readonly Publication[]) {
    for (const name of sources) this.open.set(name, 0);
    this.insert(messages);
    this.inputs = messages.length;
  }

  clone(): Oracle {
    const copy = new Oracle([], []);
    Object.assign(copy, {
      live: new Map([...this.live].map(([id, one]) => [id, { ...one }])),
      open: new Map(this.open),
      letters: new Map(this.letters),
      lineage: new Set(this.lineage),
      memory: new Map(this.memory),
      ...{ done: this.done, dead: this.dead, inputs: this.inputs, ended: this.ended, dropped: this.dropped },
    });
    return copy;
  }

  /** The process has ended: nobody works on anything. */
  crash(): void {
    for (const one of this.live.values()) one.taken = undefined;
  }

  /** Whether the message could arrive now, as it is. Then somebody works on it. */
  arrive(message: Message, now: number): string | undefined {
    const one = this.live.get(message.id);
    if (one === undefined) return "is not live";
    if (one.taken !== undefined) return "is in work already";
    if (one.due > now) return `is due at ${one.due}, and now is ${now}`;
    const is = JSON.stringify([one.queue, one.value, one.attempts, one.errors]);
    const was = JSON.stringify([message.queue, message.value, message.attempts, message.errors]);
    if (is !== was) return `is ${is}, and arrived as ${was}`;
    one.taken = message;
    return undefined;
  }

  /** One step, at a time. False: it comes too late, and nothing has changed. */
  apply(step: Step, now: number): boolean {
    if (this.ended !== undefined || !this.#isInTime(step)) return false;
    switch (step.type) {
      case "source":
        this.open.set(step.source, step.from + step.messages.length);
        this.inputs += step.messages.length;
        this.insert(step.messages);
        break;
      case "close":
        this.open.delete(step.source);
        break;
      case "settle":
        this.#leave(step.message);
        this.insert(step.children);
        if (step.entry !== undefined) this.lineage.add(step.entry.id);
        this.#remember(step.remember);
        break;
      case "emit":
        for (const message of new Set(step.messages)) this.#leave(message);
        this.insert(step.children);
        for (const { id } of step.entries ?? []) this.lineage.add(id);
        this.#remember(step.remember);
        break;
      case "dead":
        this.#leave(step.message);
        this.dead++;
        this.letters.set(step.message.id, {
          queue: step.message.queue,
          value: step.message.value as string,
          errors: [...step.message.errors, step.error],
        });
        if (step.entry !== undefined) this.lineage.add(step.entry.id);
        break;
      case "retry": {
        const { message, delayMs, error } = step;
        const one = this.live.get(message.id) as Live;
        this.live.set(message.id, {
          ...one,
          attempts: one.attempts + (error === undefined ? 0 : 1),
          errors: error === undefined ? one.errors : [...one.errors, error],
          due: now + delayMs,
          taken: undefined,
        });
        break;
      }
      case "end":
        this.ended = step.as;
        break;
      default:
        step satisfies never;
    }
    this.#completeIfDone();
    return true;
  }

  #completeIfDone(): void {
    if (this.live.size + this.open.size === 0) this.ended ??= "completed";
  }

  /** People end messages and a source. */
  giveUp(ids: readonly string[], source: string | undefined): void {
    for (const id of ids) {
      this.live.delete(id);
      this.lineage.add(id);
      this.done++;
      this.dropped++;
    }
    if (source !== undefined) this.open.delete(source);
    this.#completeIfDone();
  }

  /** People put a dead letter back: it is as new, but for its errors. False: the execution failed or was cancelled. */
  putBack(id: string): boolean {
    if (this.ended !== undefined && this.ended !== "completed") return false;
    const letter = this.letters.get(id) as Letter;
    this.letters.delete(id);
    this.lineage.delete(id);
    this.live.set(id, { ...letter, attempts: 0, due: 0, taken: undefined });
    this.done--;
    this.dead--;
    this.ended = undefined;
    return true;
  }

  /** People give a dead letter up for good. */
  drop(id: string): void {
    this.letters.delete(id);
    this.dead--;
    this.dropped++;
  }

  /** People move messages to a queue, where they are as new. */
  move(ids: readonly string[], to: string): void {
    for (const id of ids) {
      const one = this.live.get(id) as Live;
      this.live.set(id, { ...one, queue: to, attempts: 0, due: 0, taken: undefined });
    }
  }

  #remember(all: readonly Remembered[] = []): void {
    for (const { adapter, key, value } of all) this.memory.set(`${adapter}/${key}`, value);
  }

  facts(): Facts {
    const { done, dead, dropped, inputs, ended } = this;
    return {
      pending: this.live.size + this.open.size,
      ...{ done, dead, dropped, inputs, ended },
      live: [...this.live]
        .map(([id, { queue, attempts, errors }]) => JSON.stringify([queue, id, attempts, errors]))
        .sort(),
      open: [...this.open].map((one) => JSON.stringify(one)).sort(),
      letters: [...this.letters].map(([id, { errors }]) => JSON.stringify([id, errors])).sort(),
      lineage: [...this.lineage].sort(),
      memory: [...this.memory].map((one) => JSON.stringify(one)).sort(),
    };
  }

  insert(messages: readonly Publication[]): void {
    for (const { id, queue, value } of messages)
      this.live.set(id, { queue, value: value as string, attempts: 0, errors: [], due: 0, taken: undefined });
  }

  #isInTime(step: Step): boolean {
    switch (step.type) {
      case "source":
        return this.open.get(step.source) === step.from;
      case "close":
        return this.open.has(step.source);
      case "emit":
        return step.messages.every((message) => this.isTaken(message));
      case "end":
        return true;
      default:
        return this.isTaken(step.message);
    }
  }

  /** Whether somebody works on this attempt. */
  isTaken(message: Message): boolean {
    return this.live.get(message.id)?.taken === message;
  }

  #leave({ id }: Message): void {
    this.live.delete(id);
    this.done++;
  }
}
