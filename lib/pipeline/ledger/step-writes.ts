// The write set of many steps. Pure: the same steps give the same writes.
//
// The steps of a set are applied together, behind one expectation of the execution: it has not ended. Their counts are added up into one
// update, and behind it the end is decided: the commit that makes `pending` 0 ends the execution, too.

import type { AnyRow, Claim, RowExpectation, Write, WriteSet } from "../../store/index.js";
import type { Message, Publication, Remembered, Step } from "./ledger.js";
import { encodeEntry, type LineageEntry, type MessageChange } from "./lineage.js";
import type { Body, LiveMessage } from "./live-message.js";
import { setbackAfter, setbackText } from "./setback.js";
import {
  deadLetters,
  executions,
  keptValues,
  lineage,
  memory,
  messages,
  outbox,
  READY,
  sources,
} from "./tables.js";

/** A step that was submitted, with what has to be stored of it. */
export interface Entry {
  readonly step: Step;
  /** The values of its children, or of its source's messages. */
  readonly bodies: readonly Body[];
  /** Whether this host takes each child as soon as it is committed. Empty: none. */
  readonly passed: boolean[];
  /** A checkpoint, the values to remember, or an error. */
  readonly extra: readonly (Body | null)[];
  /** What else has to hold for the step. Default: nothing. */
  readonly expect?: readonly RowExpectation[];
}

/** Where steps are written. */
export interface Place {
  /** The number of the execution. */
  readonly scope: number;
  readonly claim: Claim;
  /** Other hosts write to the store: rows name the host that has taken them. */
  readonly shared: boolean;
  /** Queues whose messages leave their values behind when they are settled. */
  readonly kept?: ReadonlySet<string>;
  /** A broker carries the messages: those that no host has taken are in the outbox until the broker has them. */
  readonly carried: boolean;
  /**
   * `changed` of the row of the execution, as far as this host knows. Rows of a store of one process do not say who has taken them, so
   * its steps are refused once people have changed messages. Undefined: steps are refused by the rows alone.
   */
  readonly changed?: number | null;
}

/** A write set, and what it does to the counts. */
export interface Writing {
  readonly set: WriteSet;
  /** The place of the write that ends the execution, if pending becomes 0. */
  readonly end: number;
  readonly pending: number;
  readonly done: number;
  readonly dead: number;
  readonly inputs: number;
}

/** @param now - the clock of the store */
export function writingOf(entries: readonly Entry[], place: Place, now: number): Writing {
  const writer = new StepWriter(place, now);
  for (const entry of entries) writer.add(entry);
  return writer.finish();
}

class StepWriter {
  readonly #place: Place;
  readonly #now: number;
  readonly #writes: Write[] = [];
  readonly #expect: RowExpectation[];
  /** Sources of which this set has a step already. */
  readonly #sources = new Set<string>();
  #pending = 0;
  #done = 0;
  #dead = 0;
  #inputs = 0;
  #ends = false;

  constructor(place: Place, now: number) {
    this.#place = place;
    this.#now = now;
    const { scope, changed } = place;
    const is = changed === undefined ? { ended: null } : { ended: null, changed };
    this.#expect = [{ table: executions, key: [scope], is }];
  }

  add({ step, bodies, passed, extra, expect }: Entry): void {
    if (expect !== undefined) this.#expect.push(...expect);
    switch (step.type) {
      case "settle":
        this.#settle(step.message as LiveMessage);
        this.#publish(step.children, bodies, passed);
        if (step.entry !== undefined) this.#lineage(step.entry, step.message as LiveMessage);
        this.#remember(step.remember, extra);
        return;
      case "emit":
        for (const message of new Set(step.messages)) this.#settle(message as LiveMessage);
        this.#publish(step.children, bodies, passed);
        this.#lineages(step.entries ?? [], step.messages);
        this.#remember(step.remember, extra);
        return;
      case "retry":
        this.#retry(step);
        return;
      case "dead":
        this.#bury(step.message as LiveMessage, step.error);
        if (step.entry !== undefined) this.#lineage(step.entry, step.message as LiveMessage);
        return;
      case "source":
        this.#source(step.source, { given: step.from });
        this.#writes.push({
          type: "update",
          table: sources,
          key: [this.#place.scope, step.source],
          set: { checkpoint: extra[0] ?? null },
          add: { given: step.messages.length },
        });
        this.#inputs += step.messages.length;
        this.#publish(step.messages, bodies, passed);
        return;
      case "close":
        this.#source(step.source, {});
        this.#writes.push({
          type: "update",
          table: sources,
          key: [this.#place.scope, step.source],
          set: { open: 0, holder: null },
        });
        this.#pending--;
        return;
      case "end":
        this.#ends = true;
        this.#writes.push({
          type: "update",
          table: executions,
          key: [this.#place.scope],
          set: { ...this.#ended(step.as), error: extra[0] ?? null },
        });
        return;
      default:
        step satisfies never;
    }
  }

  finish(): Writing {
    const { scope, claim } = this.#place;
    const key = [scope];
    const [pending, done, dead, inputs] = [this.#pending, this.#done, this.#dead, this.#inputs];
    this.#writes.push({ type: "update", table: executions, key, add: { pending, done, dead, inputs } });
    const end = this.#writes.length;
    if (!this.#ends)
      this.#writes.push({
        type: "when",
        table: executions,
        key,
        is: { pending: 0 },
        writes: [{ type: "update", table: executions, key, set: this.#ended("completed") }],
      });
    return {
      set: { expect: this.#expect, writes: this.#writes, claim },
      end,
      pending,
      done,
      dead,
      inputs,
    };
  }

  #ended(status: string): AnyRow {
    return { status, ended: this.#now, unannounced: 1, kept: this.#now };
  }

  #settle(message: LiveMessage): void {
    this.#remove(message);
    const { queue, id, body, key: tag } = message;
    if (this.#place.kept?.has(queue) !== true) return;
    const row = { scope: this.#place.scope, queue, id, body, ...(tag !== undefined && { tag }) };
    this.#writes.push({ type: "put", table: keptValues, row });
  }

  #remove({ queue, lane, id }: LiveMessage): void {
    const key = [this.#place.scope, queue, lane, id];
    this.#expectMine(key);
    this.#writes.push({ type: "delete", table: messages, key, blind: true });
    this.#pending--;
    this.#done++;
  }

  /** Elsewhere another host may have taken the message over. A store of one process knows no other host. */
  #expectMine(key: readonly (string | number)[]): void {
    const { claim, shared } = this.#place;
    if (shared) this.#expect.push({ table: messages, key, is: { holder: claim.token } });
  }

  /** A child comes with its parent's removal, and a source's message with its place in the source: neither can be there already. */
  #publish(all: readonly Publication[], bodies: readonly Body[], passed: readonly boolean[]): void {
    const { scope, claim, shared, carried } = this.#place;
    for (let i = 0; i < all.length; i++) {
      const { queue, id, key } = all[i] as Publication;
      const row: Record<string, string | number | Uint8Array> = {
        scope,
        queue,
        lane: READY,
        id,
        since: this.#now,
        body: bodies[i] as Body,
      };
      if (key !== undefined) row.tag = key;
      const isTaken = shared && passed[i] === true;
      if (isTaken) row.holder = claim.token;
      this.#writes.push({ type: "put", table: messages, row });
      if (carried && !isTaken) this.#send(queue, READY, id);
    }
    this.#pending += all.length;
  }

  #retry({ message: of, delayMs, error, evidence, setback }: Extract<Step, { type: "retry" }>): void {
    const { scope } = this.#place;
    const message = of as LiveMessage;
    const { queue, lane, id, key: tag, body } = message;
    const key = [scope, queue, lane, id];
    this.#expectMine(key);
    const isAttempt = error !== undefined && evidence === undefined;
    const attempts = isAttempt ? message.attempts + 1 : message.attempts;
    const quarantines = (evidence === undefined ? message.ends : message.ends + 1) || null;
    const errors = error === undefined ? message.errors : [...message.errors, error];
    const history = errors.length === 0 ? null : JSON.stringify(errors);
    const failed = {
      attempts,
      history,
      quarantines,
      setback: setbackText(setbackAfter(message, error, setback)),
      ...(message.beats !== undefined && { heartbeats: message.beats, alive: scope }),
    };
    if (delayMs <= 0) {
      // This host tries it again, so it stays taken.
      this.#writes.push({ type: "update", table: messages, key, set: failed });
      return;
    }
    const due = dueOf(this.#now, delayMs);
    const row = {
      scope,
      queue,
      lane: due,
      id,
      body,
      ...failed,
      ...(tag !== undefined && { tag }),
      ...(message.changes !== undefined && { changes: message.changes }),
    };
    if (due !== lane) this.#writes.push({ type: "delete", table: messages, key, blind: true });
    this.#writes.push({ type: "put", table: messages, row });
    if (this.#place.carried) this.#send(queue, due, id);
  }

  #send(queue: string, lane: number, id: string): void {
    const row = { scope: this.#place.scope, queue, lane, id, round: this.#now };
    this.#writes.push({ type: "put", table: outbox, row });
  }

  #bury(message: LiveMessage, error: string): void {
    const { queue, id, body, key: tag, errors } = message;
    this.#remove(message);
    this.#dead++;
    const row = {
      scope: this.#place.scope,
      queue,
      id,
      body,
      history: JSON.stringify([...errors, error]),
      at: this.#now,
      ...(tag !== undefined && { tag }),
    };
    this.#writes.push({ type: "put", table: deadLetters, row });
  }

  #remember(all: readonly Remembered[] | undefined, values: Entry["extra"]): void {
    if (all === undefined) return;
    const { scope } = this.#place;
    for (const [i, { adapter, key }] of all.entries())
      this.#writes.push({
        type: "put",
        table: memory,
        row: { scope, adapter, key, value: values[i] ?? null },
      });
  }

  #lineages(entries: readonly LineageEntry[], all: readonly Message[]): void {
    const byId = new Map(all.map((message) => [message.id, message]));
    for (const entry of entries) this.#lineage(entry, byId.get(entry.id) as LiveMessage);
  }

  /** Adds the changes that people made to the message. */
  #lineage(entry: LineageEntry, { changes }: LiveMessage): void {
    const whole =
      changes === undefined ? entry : { ...entry, changes: JSON.parse(changes) as MessageChange[] };
    const row = { scope: this.#place.scope, id: entry.id, entry: encodeEntry(whole) };
    this.#writes.push({ type: "put", table: lineage, row });
  }

  /** Expectations are checked before the whole set, so only the first step of a source in the set can have one. */
  #source(name: string, is: AnyRow): void {
    if (this.#sources.has(name)) return;
    this.#sources.add(name);
    const { scope, claim, shared } = this.#place;
    const holder = shared ? claim.token : null;
    this.#expect.push({ table: sources, key: [scope, name], is: { ...is, open: 1, holder } });
  }
}

/** The lane of a message that is delayed: when it is due. */
export function dueOf(now: number, delayMs: number): number {
  return Math.max(READY + 1, Math.ceil(now + delayMs));
}
