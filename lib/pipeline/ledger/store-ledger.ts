// The ledger of an execution over a store.
//
//     submit ──▶ gathered ──▶ one write set ──▶ committed ──▶ listener
//                                                  │
//                          children that were asked for are handed out; others stay in the store until a route asks
//
// ledger-state.ts    what its parts share: counts, turns, the end, and the loss
// step-encoding.ts   what a step stores
// step-writes.ts     the write set of many steps
// step-commits.ts    gathers, commits, and finds the step for which a set was refused
// broker.ts          letters of the messages, where a broker carries them
// hand-out.ts        which messages are handed out; store-queue.ts is its state for one queue
// recall.ts          what adapters remember
// execution-watch.ts looks at the row of the execution, and catches up with what people have changed
// peers.ts           how the hosts of a shared store agree; share.ts is how much each of them takes
// give-back.ts       gives back what lost hosts held
//
// In a store that several processes share, every step about a message expects that its row names this host, and the ledger looks at the
// row of the execution at intervals, and when it is notified.

import type { PlaceSignals } from "../../host/signals.js";
import type { Write } from "../../store/index.js";
import { batchesOf } from "./blame.js";
import { LedgerBroker } from "./broker.js";
import { type HandedOut, HandOut } from "./hand-out.js";
import type { Ledger, LedgerCounts, Step } from "./ledger.js";
import { type Known, LedgerState, type StoreLedgerOptions } from "./ledger-state.js";
import { LEDGER_DEFAULTS } from "./limits.js";
import { Peers } from "./peers.js";
import { executionTopic, messages, outbox, READY_NEWS } from "./tables.js";

export class StoreLedger implements Ledger {
  readonly #state: LedgerState;
  #closed: Promise<void> | undefined;

  private constructor(options: StoreLedgerOptions, known: Known) {
    this.#state = new LedgerState(options, known);
  }

  /** Opens the ledger of an execution. */
  static async open(options: StoreLedgerOptions): Promise<StoreLedger> {
    const { store, queues, execution, claim, again, limits } = options;
    const carried = options.carried !== undefined;
    const place = { scope: execution.number, claim, shared: store.shared, carried };
    if (store.shared && again === true) await Peers.anew(store, place, { ...LEDGER_DEFAULTS, ...limits });
    // No process works on the messages that an earlier process of this host had, even if the broker believes so.
    if (carried && (!store.shared || again === true)) await LedgerBroker.anew(store, place, queues);
    const [clock, known] = await Promise.all([
      store.clock(),
      Promise.all(queues.map((queue) => HandOut.known(store, execution.number, queue))),
    ]);
    return new StoreLedger(options, { clock, queues: known });
  }

  want(queue: string, count: number): void {
    this.#state.handOut.of(queue).wanted += count;
    this.#state.call();
  }

  submit(step: Step): void {
    this.#state.submit(step);
  }

  depth(queue: string): number {
    const of = this.#state.handOut.of(queue);
    of.isWatched = true;
    return Math.max(0, of.depth);
  }

  awaitBelow(queue: string, mark: number): void {
    this.#state.handOut.of(queue).mark = mark;
    this.#state.call();
  }

  held(count: number, rank: number): void {
    this.#state.held = { count, rank };
    this.#state.call();
  }

  counts(): LedgerCounts {
    return this.#state.counts;
  }

  /** What this host holds of the execution, and how much more its routes ask for. */
  places(): PlaceSignals {
    const { phase, handOut } = this.#state;
    const { room, held } = handOut.places();
    return phase === "running" ? { room, held } : { room: 0, held: phase === "closed" ? 0 : held };
  }

  handedOut(queue: string): HandedOut {
    return this.#state.handOut.handedOut(queue);
  }

  recall(adapter: string, key: string): Promise<unknown> {
    return this.#state.recall.recall(adapter, key);
  }

  forget(adapter: string, key: string): void {
    this.#state.recall.forget(adapter, key);
  }

  runBatch<T>(queue: string, fn: () => T): T {
    const { batches, blame, place } = this.#state;
    let accused = batches.get(queue);
    if (accused === undefined) {
      accused = blame.begin(place.scope, batchesOf(queue));
      batches.set(queue, accused);
    }
    return accused.run(fn);
  }

  isBatchAccused(queue: string, count: number): boolean {
    const { oneByOne, blame, place } = this.#state;
    const name = batchesOf(queue);
    const left =
      oneByOne.get(queue) ?? (blame.find(place.scope, name).evidence === undefined ? 0 : ONE_BY_ONE);
    const rest = Math.max(0, left - count);
    oneByOne.set(queue, rest);
    if (left > 0 && rest === 0) blame.taken(place.scope, name);
    return left > 0;
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const state = this.#state;
    if (state.phase === "running") state.phase = "closing";
    state.call();
    await state.idle();
    if (state.phase === "closed") return;
    state.broker?.close();
    await this.#giveBack();
    state.stop();
  }

  /** Other hosts may take messages that this one has not settled. */
  async #giveBack(): Promise<void> {
    const { peers, place, handOut, limits, store, phase } = this.#state;
    const { claim, scope, carried } = place;
    if (peers === undefined || phase === "closed" || claim.lost.aborted) return;
    const keys = handOut.keys();
    const round = this.#state.now();
    try {
      await peers.leave();
      for (let at = 0; at < keys.length; at += limits.batchMessages) {
        const some = keys.slice(at, at + limits.batchMessages);
        await store.commit({
          claim,
          writes: some.flatMap((key) => writesBack(key, carried, round)),
          notify: [executionTopic(scope) + READY_NEWS],
        });
      }
    } catch {
      // If this host's claim is lost, other hosts give back its messages.
    }
  }
}

/** After the end of a process over a batch, so many messages of its queue go one by one. */
const ONE_BY_ONE = 1_000;

/** Frees the message with this key from its holder. */
function writesBack(key: readonly (string | number)[], carried: boolean, round: number): Write[] {
  const free = { type: "update" as const, table: messages, key, set: { holder: null } };
  if (!carried) return [free];
  const [scope, queue, lane, id] = key as [number, string, number, string];
  return [free, { type: "put", table: outbox, row: { scope, queue, lane, id, round } }];
}
