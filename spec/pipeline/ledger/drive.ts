// Drives a ledger with random moves, and holds it against the model after each few.

import * as fc from "fast-check";
import type { StoreSource } from "signalbox/store";
import { expect } from "vitest";
import { giveUp } from "../../../lib/pipeline/changes/give-up.js";
import { move } from "../../../lib/pipeline/changes/move.js";
import type { ChangeSelection } from "../../../lib/pipeline/changes/options.js";
import { childId, sourceId } from "../../../lib/pipeline/definition/message-id.js";
import type { Message, Publication, Step } from "../../../lib/pipeline/ledger/ledger.js";
import {
  deadLetters,
  type ExecutionRow,
  executions,
  lineage,
  memory,
  messages,
} from "../../../lib/pipeline/ledger/tables.js";
import { MortalSource } from "../../../lib/testing/flows/mortal-store.js";
import { Bench } from "./bench.js";
import { type Facts, Model } from "./model.js";
import { Troubles } from "./troubled-store.js";

const QUEUES = ["a", "b"] as const;
const SOURCES = ["s", "t"] as const;

/** What a host does, and what happens to it. Numbers choose among what there is. */
export interface Move {
  readonly what:
    | ("want" | "settle" | "dead" | "retry" | "emit" | "source" | "close" | "end")
    | ("pass" | "check" | "crash" | "fail" | "unknown" | "unread" | "hold" | "give up" | "move");
  readonly which: number;
  readonly count: number;
  /** About a message that was stepped on before, or from a place that a source has left. */
  readonly stale: boolean;
}

export const moves: fc.Arbitrary<Move[]> = fc.array(
  fc.record({
    what: fc.oneof(
      { weight: 6, arbitrary: fc.constant("want" as const) },
      { weight: 8, arbitrary: fc.constant("settle" as const) },
      { weight: 6, arbitrary: fc.constant("check" as const) },
      { weight: 3, arbitrary: fc.constantFrom("retry" as const, "emit" as const, "pass" as const) },
      { weight: 3, arbitrary: fc.constantFrom("source" as const, "dead" as const) },
      {
        weight: 2,
        arbitrary: fc.constantFrom(
          ...(["close", "crash", "crash", "fail", "unknown", "unread", "hold"] as const),
        ),
      },
      { weight: 2, arbitrary: fc.constantFrom("give up" as const, "move" as const) },
      { weight: 1, arbitrary: fc.constantFrom("end" as const, "check" as const, "check" as const) },
    ),
    which: fc.nat(50),
    count: fc.nat(6),
    stale: fc.nat(7).map((n) => n === 0),
  }),
  { maxLength: 60 },
);

const publication = (id: string, queue: string): Publication => ({
  id,
  queue,
  value: `v${id}`,
  key: undefined,
});

export class Drive {
  readonly model: Model;
  readonly #bench: Bench;
  readonly #troubles: Troubles = new Troubles();
  readonly #mortal: MortalSource | undefined;
  readonly #source: StoreSource | undefined;
  /** Every message that has ever arrived. */
  readonly #past: Message[] = [];
  /** Arrived, and no step about it was submitted. */
  #atHand: Message[] = [];
  #submitted: { readonly step: Step; readonly at: number }[] = [];
  readonly #wanted: Map<string, number> = new Map();
  readonly #given: Map<string, number> = new Map();
  #steps = 0;
  #late = 0;

  constructor(source: StoreSource | undefined, batchMessages: number) {
    const first = [0, 1, 2].map((n) => publication(sourceId(9, n), "a"));
    this.model = new Model(SOURCES, first);
    const limits = { batchMessages, readRows: 3 };
    this.#bench = new Bench({ sources: SOURCES, messages: first, limits, ownTime: true });
    if (source === undefined) return;
    this.#mortal = new MortalSource(source);
    this.#source = this.#troubles.of(this.#mortal);
  }

  async play(all: readonly Move[]): Promise<void> {
    await this.#bench.open(this.#source);
    for (const move of all) {
      if (this.model.ended !== undefined) break;
      await this.#move(move);
    }
    await this.#check();
    await this.#finish();
    await this.#bench.ledger.close();
    await this.#bench.store?.close();
  }

  async #move({ what, which, count, stale }: Move): Promise<void> {
    const pick = <T>(from: readonly T[]): T | undefined => from[which % Math.max(1, from.length)];
    const queue = pick(QUEUES) as string;
    switch (what) {
      case "want":
        return this.#want(queue, count + 1);
      case "pass":
        return this.#bench.clock.pass(count * 3);
      case "check":
        return this.#check();
      case "crash":
        return this.#crash();
      case "fail":
      case "unknown":
        this.#troubles.commit = what;
        return;
      case "unread":
        this.#troubles.reads = 1;
        return;
      case "hold":
        this.#troubles.held ??= [];
        return;
      case "give up":
        return this.#giveUp(which, count);
      case "move":
        return this.#moveMessages(which, count);
      case "source": {
        const source = pick(SOURCES) as string;
        const from = (this.#given.get(source) ?? 0) + (stale ? 1 : 0);
        const number = SOURCES.indexOf(source as "s");
        const given = Array.from({ length: count }, (_, i) => publication(sourceId(number, from + i), queue));
        if (!stale) this.#given.set(source, from + count);
        return this.#submit({ type: "source", source, from, messages: given, checkpoint: from + count });
      }
      case "close":
        return this.#submit({ type: "close", source: pick(SOURCES) as string });
      case "end":
        return this.#submit({ type: "end", as: "cancelled", error: undefined });
      default: {
        const message = pick(stale ? this.#past : this.#atHand);
        if (message !== undefined) this.#step(what, message, count, which);
      }
    }
  }

  /** People end messages, those at hand among them, and sometimes a source. */
  async #giveUp(which: number, count: number): Promise<void> {
    await this.#quiet();
    const { model } = this;
    const { store } = this.#bench;
    if (store === undefined || model.ended !== undefined) return;
    const ids = [...model.live.keys()].slice(which % 7, (which % 7) + count);
    const source = which % 5 === 0 ? [...model.open.keys()][0] : undefined;
    const ask = async (of: ChangeSelection): Promise<void> => {
      const [row] = await store.get(executions, [[this.#bench.row.number]]);
      const request = { by: "test", reason: "a test", limit: 100, of };
      await giveUp(store, row as ExecutionRow, new Map(), request);
    };
    if (ids.length > 0) await ask({ type: "messages", ids });
    model.giveUp(ids, undefined);
    if (model.ended !== undefined || source === undefined) return this.#afterChange(ids, which);
    await ask({ type: "named", queues: [], sources: [source] });
    model.giveUp([], source);
    await this.#afterChange(ids, which);
  }

  /** People move messages, those at hand among them. */
  async #moveMessages(which: number, count: number): Promise<void> {
    await this.#quiet();
    const { model } = this;
    const { store, row: of } = this.#bench;
    const to = QUEUES[which % 2] as string;
    const there = [...model.live].filter(([, { queue }]) => queue !== to).map(([id]) => id);
    const ids = there.slice(which % 5, (which % 5) + count);
    if (store === undefined || model.ended !== undefined || ids.length === 0) return;
    const [row] = await store.get(executions, [[of.number]]);
    const target = { pipeline: "test", routes: [{ name: "r", queue: to }], maxMessageBytes: 1_000 };
    const request = { to: "r", by: "test", reason: "a test", limit: 100 };
    const named = { ...request, of: { type: "messages" as const, ids } };
    const { messages: moved } = await move(store, row as ExecutionRow, target, named);
    expect(moved).toBe(ids.length);
    model.move(ids, to);
    await this.#afterChange(ids, which);
  }

  /** A host begins again when it worked on what is gone. Without that, whatever it still submits is refused. */
  async #afterChange(ids: readonly string[], which: number): Promise<void> {
    await this.#bench.settled();
    const isAny = this.#atHand.some(({ id }) => ids.includes(id));
    if (this.model.ended === undefined) {
      if (isAny) expect(this.#bench.ear.changes.some(({ isAnyGone }) => isAnyGone)).toBe(true);
      if (isAny && which % 2 === 0) await this.#beginAgain();
    }
    await this.#check();
  }

  async #beginAgain(): Promise<void> {
    const { ledger, claim, store } = this.#bench;
    await this.#reopen(async () => {
      await ledger.close();
      await claim.release();
      await store?.close();
    });
  }

  /** All that was submitted is known, and the store works. */
  async #quiet(): Promise<void> {
    await this.#check();
    if (this.#troubles.commit === undefined && this.#troubles.reads === 0) return;
    this.#troubles.commit = undefined;
    this.#troubles.reads = 0;
  }

  #want(queue: string, count: number): void {
    this.#wanted.set(queue, (this.#wanted.get(queue) ?? 0) + count);
    this.#bench.ledger.want(queue, count);
  }

  #step(what: "settle" | "dead" | "retry" | "emit", message: Message, count: number, which: number): void {
    const together = what === "emit" ? this.#atHand.filter((one) => one !== message).slice(0, which % 3) : [];
    const all = [message, ...together];
    this.#atHand = this.#atHand.filter((one) => !all.includes(one));
    this.#submit(this.#stepOf(what, all, count, which));
  }

  #stepOf(what: "settle" | "dead" | "retry" | "emit", all: Message[], count: number, which: number): Step {
    const message = all[0] as Message;
    const children = Array.from({ length: count }, (_, i) =>
      publication(childId(message.id, i), QUEUES[(which + i) % 2] as string),
    );
    const entries = all.map(({ id, attempts }) => ({
      ...{ id, route: "r", status: "completed" as const, attempt: attempts + 1, calls: [], children: count },
    }));
    const entry = entries[0];
    const remember = which % 3 === 0 ? [{ adapter: "r", key: `${which % 2}`, value: message.id }] : undefined;
    switch (what) {
      case "emit":
        return { type: what, messages: [...all, message], children, entries, remember };
      case "dead":
        return { type: what, message, error: `dead ${which}`, entry };
      case "retry":
        return {
          ...{ type: what, message, delayMs: (count % 3) * 4 },
          error: which % 2 === 0 ? `error ${which}` : undefined,
        };
      default:
        return { type: what, message, children, entry, remember };
    }
  }

  #submit(step: Step): void {
    this.#submitted.push({ step, at: this.#bench.clock.ms });
    this.#bench.ledger.submit(step);
  }

  /** Waits until all is done, and compares. */
  async #check(): Promise<void> {
    const { ear } = this.#bench;
    await this.#bench.settled();
    if (ear.errors.length > 0) return this.#lost();
    if (this.#troubles.held !== undefined) {
      this.#troubles.letGo();
      await this.#bench.settled();
      if (ear.errors.length > 0) return this.#lost();
    }
    const accepted: Step[] = [];
    const refused: Step[] = [];
    for (const { step, at } of this.#submitted.splice(0)) {
      const had = this.model.ended;
      if (this.model.apply(step, at)) accepted.push(step);
      else if (had === undefined) refused.push(step);
    }
    expect(ear.steps.slice(this.#steps)).toEqual(accepted);
    // Behind the end of the execution, it is enough that nothing is done.
    if (this.model.ended === undefined) expect(ear.late.slice(this.#late)).toEqual(refused);
    this.#steps = ear.steps.length;
    this.#late = ear.late.length;
    expect(ear.ends).toEqual(this.model.ended === undefined ? [] : [this.model.ended]);
    await this.#compare();
    // A batch that was refused still holds those of its messages that are in time.
    for (const step of refused)
      if (step.type === "emit")
        this.#atHand.push(...new Set(step.messages.filter((message) => this.model.isTaken(message))));
    this.#arrivals();
  }

  #arrivals(): void {
    const { ear, ledger, clock } = this.#bench;
    for (const queue of QUEUES) {
      const some = ear.take(queue);
      for (const message of some) {
        const wrong = this.model.arrive(message, clock.ms);
        if (wrong !== undefined) throw new Error(`${message.id} ${wrong}`);
        this.#past.push(message);
        this.#atHand.push(message);
      }
      const left = (this.#wanted.get(queue) ?? 0) - some.length;
      expect(left).toBeGreaterThanOrEqual(0);
      this.#wanted.set(queue, left);
      if (this.model.ended !== undefined) continue;
      const here = [...this.model.live.values()].filter((one) => one.queue === queue);
      expect(ledger.depth(queue)).toBe(here.length);
      const ready = here.filter((one) => one.taken === undefined && one.due <= clock.ms);
      // What is ready arrives, as far as somebody asks.
      if (left > 0) expect(ready).toEqual([]);
    }
  }

  /** The ledger has given up. A set of it may still be on its way to the store. */
  #lost(): Promise<void> {
    return this.#reopen(async () => {
      const closed = this.#bench.ledger.close();
      if (this.#troubles.held !== undefined) setImmediate(() => setImmediate(() => this.#troubles.letGo()));
      await closed;
    });
  }

  async #crash(): Promise<void> {
    const [mortal, bench] = [this.#mortal, this.#bench];
    if (mortal === undefined) return;
    mortal.kill();
    this.#troubles.letGo();
    await this.#reopen(async () => {
      await mortal.bury();
      // Nothing of a process that has ended is there in the next one, nor what it was given in its last moments.
      this.#past.length = 0;
      bench.ear.messages.clear();
    });
  }

  /** Opens the ledger again. What was submitted is there up to some step: at least up to the last that was announced. */
  async #reopen(over: () => Promise<void>): Promise<void> {
    const bench = this.#bench;
    const announced = bench.ear.steps.slice(this.#steps);
    await over();
    this.#past.push(...bench.ear.take("a"), ...bench.ear.take("b"));
    if (this.#mortal !== undefined && bench.ear.errors.length > 0) {
      await bench.claim.release();
      await bench.store?.close();
    }
    this.#troubles.commit = undefined;
    this.#troubles.reads = 0;
    await bench.open(this.#source);
    const facts = await this.#facts();
    const submitted = this.#submitted.splice(0);
    const states = [{ model: this.model.clone(), accepted: [] as Step[] }];
    for (const { step, at } of submitted) {
      const last = states.at(-1) as (typeof states)[number];
      const model = last.model.clone();
      const isIn = model.apply(step, at);
      states.push({ model, accepted: isIn ? [...last.accepted, step] : last.accepted });
    }
    const possible = states.filter(({ accepted }) => accepted.length >= announced.length);
    const match = possible.findLast(({ model }) => JSON.stringify(model.facts()) === JSON.stringify(facts));
    if (match === undefined) expect(facts).toEqual(possible.map(({ model }) => model.facts()));
    Object.assign(this.model, (match as (typeof states)[number]).model);
    this.model.crash();
    this.#atHand = [];
    this.#steps = 0;
    this.#late = 0;
    this.#wanted.clear();
    for (const [name] of this.#given) this.#given.set(name, this.model.open.get(name) ?? 0);
    await this.#check();
  }

  async #compare(): Promise<void> {
    const facts = this.model.facts();
    if (this.#bench.store !== undefined) expect(await this.#facts()).toEqual(facts);
    const { pending, done, dead, inputs } = facts;
    if (this.#bench.store === undefined || this.model.ended === undefined)
      expect(this.#bench.ledger.counts()).toEqual({ pending, done, dead, inputs });
  }

  /** What the store says. */
  async #facts(): Promise<Facts> {
    const { store, row, payloads } = this.#bench;
    if (store === undefined) throw new Error("a ledger in memory alone has no store");
    this.#troubles.reads = 0;
    const scan = { prefix: [row.number] };
    const [execution] = await store.scan(executions, scan);
    const [live, letters, entries, remembered] = await Promise.all([
      store.scan(messages, scan),
      store.scan(deadLetters, scan),
      store.scan(lineage, scan),
      store.scan(memory, scan),
    ]);
    const { pending, done, dead, dropped, inputs, status, ended } = execution as NonNullable<
      typeof execution
    >;
    const list = (text: string | null): unknown => JSON.parse(text ?? "[]");
    return {
      ...{ pending, done, dead, dropped: dropped ?? 0, inputs, ended: ended === null ? undefined : status },
      live: live
        .map(({ queue, id, attempts, history }) => JSON.stringify([queue, id, attempts ?? 0, list(history)]))
        .sort(),
      letters: letters.map(({ id, history }) => JSON.stringify([id, list(history)])).sort(),
      lineage: entries.map(({ id }) => id).sort(),
      memory: remembered
        .map(({ adapter, key, value }) =>
          JSON.stringify([`${adapter}/${key}`, payloads.load(value as string)]),
        )
        .sort(),
    };
  }

  /** Whatever has happened: the execution can be worked to its end. */
  async #finish(): Promise<void> {
    for (let round = 0; this.model.ended === undefined; round++) {
      if (round > 100) throw new Error("the execution does not come to its end");
      for (const source of this.model.open.keys()) this.#submit({ type: "close", source });
      for (const queue of QUEUES) this.#want(queue, 5);
      this.#bench.clock.pass(20);
      await this.#check();
      for (const message of this.#atHand.splice(0))
        this.#submit({ type: "settle", message, children: [], entry: undefined, remember: undefined });
    }
    expect(this.model.facts().pending === 0 || this.model.ended === "cancelled").toBe(true);
  }
}
