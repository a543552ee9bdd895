// Drives a ledger by commands (commands.ts), and holds it against the oracle whenever it has come to rest.

import type { Store, StoreSource } from "signalbox/store";
import { expect } from "vitest";
import { childId, sourceId } from "../../../lib/pipeline/definition/message-id.js";
import { endExecution } from "../../../lib/pipeline/ledger/executions.js";
import type { Message, Publication, Step } from "../../../lib/pipeline/ledger/ledger.js";
import { LetterShelf } from "../../../lib/pipeline/ledger/letter-shelf.js";
import {
  deadLetters,
  type ExecutionRow,
  executions,
  lineage,
  memory,
  messages,
  sources,
} from "../../../lib/pipeline/ledger/tables.js";
import type { LetterEvent } from "../../../lib/pipeline/messages/dead-machine.js";
import type { DeedResult } from "../../../lib/pipeline/messages/dead-options.js";
import { settleLetters } from "../../../lib/pipeline/messages/shelf.js";
import type { ChangeSelection } from "../../../lib/pipeline/operations/change-options.js";
import { giveUp } from "../../../lib/pipeline/operations/give-up.js";
import { move } from "../../../lib/pipeline/operations/move.js";
import { MortalSource } from "../../../lib/testing/flows/mortal-store.js";
import { Bench } from "./bench.js";
import type { Act, Deed } from "./commands.js";
import { type Facts, Oracle } from "./oracle.js";
import { Troubles } from "./troubled-store.js";

const QUEUES = ["a", "b"] as const;
const SOURCES = ["s", "t"] as const;

/** What a host submits. */
const OF_HOSTS: ReadonlySet<Deed> = new Set([
  ...(["settle", "dead", "retry", "emit", "source", "close", "end"] as const),
]);

/** The error of a letter whose execution has failed or was cancelled. */
const OVER = "the execution is over";

const publication = (id: string, queue: string): Publication => ({
  id,
  queue,
  value: `v${id}`,
  key: undefined,
});

export class Drive {
  readonly oracle: Oracle;
  readonly #bench: Bench;
  readonly #troubles: Troubles = new Troubles();
  readonly #mortal: MortalSource | undefined;
  readonly #source: StoreSource | undefined;
  /** Every message that has ever arrived. */
  readonly #past: Message[] = [];
  /** Arrived, and no step about it was submitted. */
  #atHand: Message[] = [];
  #submitted: { readonly step: Step; readonly at: number }[] = [];
  /** Those of them that the ledger does not have yet. */
  readonly #burst: Step[] = [];
  readonly #wanted: Map<string, number> = new Map();
  readonly #given: Map<string, number> = new Map();
  #steps = 0;
  #late = 0;
  readonly #seen: Map<string, number>;

  /** @param seen - counts how often what matters has happened, over many runs */
  constructor(source: StoreSource | undefined, batchMessages: number, seen: Map<string, number> = new Map()) {
    this.#seen = seen;
    const first = [0, 1, 2].map((n) => publication(sourceId(9, n), "a"));
    this.oracle = new Oracle(SOURCES, first);
    const limits = { batchMessages, readRows: 3 };
    this.#bench = new Bench({ sources: SOURCES, messages: first, limits, ownTime: true });
    if (source === undefined) return;
    this.#mortal = new MortalSource(source);
    this.#source = this.#troubles.of(this.#mortal);
  }

  async begin(): Promise<void> {
    await this.#bench.open(this.#source);
    this.#count("life");
  }

  /** Whatever has happened: the execution can be worked to its end. */
  async finish(): Promise<void> {
    await this.#check();
    await this.#finish();
    await this.#bench.ledger.close();
    await this.#bench.store?.close();
  }

  async act({ what, which, count, stale }: Act): Promise<void> {
    // Some steps are submitted in one turn: they are one set.
    if (this.#burst.length > which % 4 || !OF_HOSTS.has(what)) await this.#flush();
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
      case "cancel":
        return this.#cancel();
      case "put back":
        return this.#putBack(which);
      case "drop":
        return this.#drop(which);
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
        return this.#submit({ type: "end", as: which % 2 === 0 ? "cancelled" : "failed", error: undefined });
      default: {
        const message = pick(stale ? this.#past : this.#atHand);
        if (message !== undefined) this.#step(what, message, count, which);
      }
    }
  }

  /** People end messages, those at hand among them, and sometimes a source. */
  async #giveUp(which: number, count: number): Promise<void> {
    await this.#quiet();
    const { oracle } = this;
    const { store } = this.#bench;
    if (store === undefined || oracle.ended !== undefined) return;
    const ids = [...oracle.live.keys()].slice(which % 7, (which % 7) + count);
    const source = which % 5 === 0 ? [...oracle.open.keys()][0] : undefined;
    const ask = async (of: ChangeSelection): Promise<void> => {
      const [row] = await store.get(executions, [[this.#bench.row.number]]);
      const request = { by: "test", reason: "a test", limit: 100, of };
      await giveUp(store, row as ExecutionRow, new Map(), request);
    };
    await this.#comeTooLate(ids, which);
    if (ids.length > 0) await ask({ type: "messages", ids });
    oracle.giveUp(ids, undefined);
    if (oracle.ended !== undefined || source === undefined) return this.#afterChange(ids, which);
    await ask({ type: "named", queues: [], sources: [source] });
    oracle.giveUp([], source);
    await this.#afterChange(ids, which);
  }

  /** People move messages, those at hand among them. */
  async #moveMessages(which: number, count: number): Promise<void> {
    await this.#quiet();
    const { oracle } = this;
    const { store, row: of } = this.#bench;
    const to = QUEUES[which % 2] as string;
    const there = [...oracle.live].filter(([, { queue }]) => queue !== to).map(([id]) => id);
    const ids = there.slice(which % 5, (which % 5) + count);
    if (store === undefined || oracle.ended !== undefined || ids.length === 0) return;
    const [row] = await store.get(executions, [[of.number]]);
    const target = { pipeline: "test", routes: [{ name: "r", queue: to }], maxMessageBytes: 1_000 };
    const request = { to: "r", by: "test", reason: "a test", limit: 100 };
    await this.#comeTooLate(ids, which);
    const named = { ...request, of: { type: "messages" as const, ids } };
    const { messages: moved } = await move(store, row as ExecutionRow, target, named);
    expect(moved).toBe(ids.length);
    oracle.move(ids, to);
    await this.#afterChange(ids, which);
  }

  /** People put a dead letter back. Where the execution had completed, a host opens it again. */
  async #putBack(which: number): Promise<void> {
    await this.#quiet();
    const { oracle } = this;
    const before = oracle.ended;
    const id = [...oracle.letters.keys()][which % Math.max(1, oracle.letters.size)];
    if (id === undefined || this.#bench.store === undefined) return;
    const done = this.#ofLetter(id, { type: "retry" });
    if (!oracle.putBack(id)) {
      this.#count("over");
      await expect(done).rejects.toThrow(OVER);
      return this.#check();
    }
    expect(await done).toEqual({ letters: 1 });
    this.#count("put back");
    if (before === undefined) return this.#check();
    this.#count("reopened");
    await this.#beginAgain();
  }

  async #drop(which: number): Promise<void> {
    await this.#quiet();
    const { oracle } = this;
    const id = [...oracle.letters.keys()][which % Math.max(1, oracle.letters.size)];
    if (id === undefined || this.#bench.store === undefined) return;
    expect(await this.#ofLetter(id, { type: "drop" })).toEqual({ letters: 1 });
    oracle.drop(id);
    await this.#check();
  }

  #ofLetter(id: string, event: LetterEvent): Promise<DeedResult> {
    const { store, row } = this.#bench;
    const shelf = new LetterShelf({ store: store as Store, execution: row, over: () => new Error(OVER) });
    const deed = { by: "test", reason: "a test" };
    return settleLetters(shelf, { type: "ids", ids: [id] }, { event, deed });
  }

  #count(label: string): void {
    this.#seen.set(label, (this.#seen.get(label) ?? 0) + 1);
  }

  /** A host settles what it has at hand, and people change it before the set of the host is in the store. */
  async #comeTooLate(ids: readonly string[], which: number): Promise<void> {
    if (which % 3 !== 0) return;
    this.#troubles.held ??= [];
    for (const message of this.#atHand.filter(({ id }) => ids.includes(id))) {
      this.#submit(this.#stepOf("settle", [message], 1, which));
      this.#count("too late");
    }
    // The host is told that its steps are refused, and not that the messages are gone.
    this.#atHand = this.#atHand.filter(({ id }) => !ids.includes(id));
    await this.#flush();
  }

  /** People end the execution, and the host has a set on its way. */
  async #cancel(): Promise<void> {
    await this.#quiet();
    const { oracle } = this;
    const { store, row } = this.#bench;
    if (store === undefined || oracle.ended !== undefined) return;
    await this.#comeTooLate([...oracle.live.keys()], 0);
    expect(await endExecution(store, row.number, "cancelled", null)).toBe(true);
    oracle.ended = "cancelled";
    this.#count("cancelled");
    this.#troubles.letGo();
    await this.#check();
  }

  /** A host begins again when it worked on what is gone. Without that, whatever it still submits is refused. */
  async #afterChange(ids: readonly string[], which: number): Promise<void> {
    this.#troubles.letGo();
    await this.#bench.settled();
    const isAny = this.#atHand.some(({ id }) => ids.includes(id));
    if (this.oracle.ended === undefined) {
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
    this.#burst.push(step);
  }

  /** Hands the steps to the ledger, all in one turn. */
  async #flush(): Promise<void> {
    if (this.#burst.length === 0) return;
    for (const step of this.#burst.splice(0)) this.#bench.ledger.submit(step);
    for (let turns = 0; turns < 5; turns++) await Promise.resolve();
  }

  /** Waits until all is done, and compares. */
  async #check(): Promise<void> {
    const { ear } = this.#bench;
    await this.#flush();
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
      const had = this.oracle.ended;
      if (this.oracle.apply(step, at)) {
        accepted.push(step);
        if (this.oracle.ended !== undefined) this.#count(this.oracle.ended);
      } else if (had === undefined) refused.push(step);
      else this.#count("behind the end");
    }
    expect(ear.steps.slice(this.#steps)).toEqual(accepted);
    // Behind the end of the execution, it is enough that nothing is done.
    // A step about a message that was settled before is refused at once, a step of a source by the store.
    if (this.oracle.ended === undefined)
      expect(new Set(ear.late.slice(this.#late))).toEqual(new Set(refused));
    this.#steps = ear.steps.length;
    this.#late = ear.late.length;
    expect(ear.ends).toEqual(this.oracle.ended === undefined ? [] : [this.oracle.ended]);
    await this.#compare();
    // A batch that was refused still holds those of its messages that are in time.
    for (const step of refused)
      if (step.type === "emit")
        this.#atHand.push(...new Set(step.messages.filter((message) => this.oracle.isTaken(message))));
    this.#arrivals();
  }

  #arrivals(): void {
    const { ear, ledger, clock } = this.#bench;
    for (const queue of QUEUES) {
      const some = ear.take(queue);
      for (const message of some) {
        const wrong = this.oracle.arrive(message, clock.ms);
        if (wrong !== undefined) throw new Error(`${message.id} ${wrong}`);
        this.#past.push(message);
        this.#atHand.push(message);
      }
      const left = (this.#wanted.get(queue) ?? 0) - some.length;
      expect(left).toBeGreaterThanOrEqual(0);
      this.#wanted.set(queue, left);
      if (this.oracle.ended !== undefined) continue;
      const here = [...this.oracle.live.values()].filter((one) => one.queue === queue);
      expect(ledger.depth(queue)).toBe(here.length);
      const ready = here.filter((one) => one.taken === undefined && one.due <= clock.ms);
      // What is ready arrives, as far as somebody asks.
      if (left > 0) expect(ready).toEqual([]);
    }
  }

  /** The ledger has given up. A set of it may still be on its way to the store. */
  #lost(): Promise<void> {
    const { ledger, claim, store } = this.#bench;
    return this.#reopen(async () => {
      const closed = ledger.close();
      if (this.#troubles.held !== undefined) setImmediate(() => setImmediate(() => this.#troubles.letGo()));
      await closed;
      if (store === undefined) return;
      await claim.release();
      await store.close();
    });
  }

  async #crash(): Promise<void> {
    const [mortal, bench] = [this.#mortal, this.#bench];
    if (mortal === undefined) return;
    this.#count("crash");
    if (this.#submitted.length > 0) this.#count("cut off");
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
    this.#troubles.commit = undefined;
    this.#troubles.reads = 0;
    await bench.open(this.#source);
    const facts = await this.#facts();
    const submitted = this.#submitted.splice(0);
    const states = [{ oracle: this.oracle.clone(), accepted: [] as Step[] }];
    for (const { step, at } of submitted) {
      const last = states.at(-1) as (typeof states)[number];
      const oracle = last.oracle.clone();
      const isIn = oracle.apply(step, at);
      states.push({ oracle, accepted: isIn ? [...last.accepted, step] : last.accepted });
    }
    const possible = states.filter(({ accepted }) => accepted.length >= announced.length);
    const match = possible.findLast(({ oracle }) => JSON.stringify(oracle.facts()) === JSON.stringify(facts));
    if (match === undefined) expect(facts).toEqual(possible.map(({ oracle }) => oracle.facts()));
    Object.assign(this.oracle, (match as (typeof states)[number]).oracle);
    this.oracle.crash();
    this.#atHand = [];
    this.#steps = 0;
    this.#late = 0;
    this.#wanted.clear();
    for (const [name] of this.#given) this.#given.set(name, this.oracle.open.get(name) ?? 0);
    await this.#check();
  }

  async #compare(): Promise<void> {
    const facts = this.oracle.facts();
    if (this.#bench.store !== undefined) {
      const real = await this.#facts();
      expect(real).toEqual(facts);
      // The rule itself, from the rows alone.
      const left = real.live.length + real.open.length;
      if (real.ended !== "failed" && real.ended !== "cancelled")
        expect([real.pending, real.ended]).toEqual([left, left === 0 ? "completed" : undefined]);
    }
    const { pending, done, dead, inputs } = facts;
    if (this.#bench.store === undefined || this.oracle.ended === undefined)
      expect(this.#bench.ledger.counts()).toEqual({ pending, done, dead, inputs });
  }

  /** What the store says. */
  async #facts(): Promise<Facts> {
    const { store, row, payloads } = this.#bench;
    if (store === undefined) throw new Error("a ledger in memory alone has no store");
    this.#troubles.reads = 0;
    const scan = { prefix: [row.number] };
    const [execution] = await store.scan(executions, scan);
    const [live, letters, entries, remembered, read] = await Promise.all([
      store.scan(messages, scan),
      store.scan(deadLetters, scan),
      store.scan(lineage, scan),
      store.scan(memory, scan),
      store.scan(sources, scan),
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
      open: read.filter(({ open }) => open === 1).map(({ name, given }) => JSON.stringify([name, given])),
      letters: letters.map(({ id, history }) => JSON.stringify([id, list(history)])).sort(),
      lineage: entries.map(({ id }) => id).sort(),
      memory: remembered
        .map(({ adapter, key, value }) =>
          JSON.stringify([`${adapter}/${key}`, payloads.load(value as string)]),
        )
        .sort(),
    };
  }

  async #finish(): Promise<void> {
    for (let round = 0; this.oracle.ended === undefined; round++) {
      if (round > 100) throw new Error("the execution does not come to its end");
      for (const source of this.oracle.open.keys()) this.#submit({ type: "close", source });
      for (const queue of QUEUES) this.#want(queue, 5);
      this.#bench.clock.pass(20);
      await this.#check();
      for (const message of this.#atHand.splice(0))
        this.#submit({ type: "settle", message, children: [], entry: undefined, remember: undefined });
    }
    // A failure and a cancellation end an execution with what is pending; nothing else does.
    if (this.oracle.ended === "completed") expect(this.oracle.facts().pending).toBe(0);
  }
}
