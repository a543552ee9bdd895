// Looks at the row of an execution: whether it has ended elsewhere, how far other hosts are, and whether people have changed messages or
// sources. Then the ledger catches up with them, and writes nothing meanwhile.

import { ExecutionGoneError } from "./errors.js";
import type { Ended } from "./ledger.js";
import type { LedgerState } from "./ledger-state.js";
import { type ExecutionRow, executions, READY_NEWS, sources } from "./tables.js";

const ENDED: ReadonlySet<string> = new Set<Ended>(["completed", "failed", "cancelled"]);

export class ExecutionWatch {
  readonly #ledger: LedgerState;
  /** `again`: there was a reason to look since the look began. */
  #looking: "no" | "once" | "again" = "no";
  #ticks = 0;
  #cancelTick: (() => void) | undefined;
  /** How often people have changed messages of the execution, as far as this ledger knows. */
  #changed: number | null;
  #isBehind = false;
  #catchingUp: Promise<void> | undefined;

  constructor(ledger: LedgerState) {
    this.#ledger = ledger;
    this.#changed = ledger.options.execution.changed;
  }

  /** People have changed something, and a set is in flight that was submitted before. */
  get isBehind(): boolean {
    return this.#isBehind;
  }

  get isCatchingUp(): boolean {
    return this.#catchingUp !== undefined;
  }

  /** Notifications may be lost, and not everything is worth one. */
  tick(): void {
    const ledger = this.#ledger;
    const { handOut } = ledger;
    this.#cancelTick = ledger.options.context.after(ledger.limits.pollMs, () => this.tick());
    if (this.#ticks++ > 0) handOut.poll();
    handOut.recount(this.#ticks % TICKS_BETWEEN_COUNTS === 0).catch((error: Error) => ledger.lose(error));
    this.look(true);
  }

  stop(): void {
    this.#cancelTick?.();
  }

  /** @param news - behind the topic of the execution */
  notified(news: string): void {
    if (!news.startsWith(READY_NEWS)) {
      this.look();
      return;
    }
    const { handOut, broker } = this.#ledger;
    const queue = news.slice(READY_NEWS.length);
    handOut.news(queue === "" ? undefined : queue);
    if (queue !== "") return;
    // Something was given back.
    broker?.hasten();
    this.look();
  }

  look(mayTell = false): void {
    const ledger = this.#ledger;
    if (ledger.phase !== "running") return;
    if (this.#looking !== "no") {
      this.#looking = "again";
      return;
    }
    this.#looking = "once";
    ledger.asked(this.#look(mayTell)).then(
      () => {
        const isWanted = this.#looking === "again";
        this.#looking = "no";
        if (isWanted) this.look();
      },
      (error: Error) => ledger.lose(error),
    );
  }

  async #look(mayTell: boolean): Promise<void> {
    const ledger = this.#ledger;
    const { commits } = ledger;
    const { durable } = commits;
    const row = await this.#row();
    if (ledger.phase === "closed") return;
    if (row === undefined || row.ended !== null) {
      this.#gone(row);
      return;
    }
    if (row.changed !== this.#changed && !(await this.#mayCatchUp(row))) return;
    // Counts that were read before a commit of this ledger are older than its own.
    if (!commits.inFlight && commits.durable === durable) {
      const before = ledger.counts.pending;
      ledger.countsOf(row);
      if (before !== row.pending) ledger.call();
    }
    await ledger.peers?.look(row, mayTell);
  }

  /** Why a set was refused: the execution has ended; or one step came too late; or people have changed messages, and all are tried again. */
  async whyRefused(): Promise<"ended" | "late" | "changed"> {
    const row = await this.#row();
    if (this.#ledger.phase === "closed") return "ended";
    if (row === undefined || row.ended !== null) {
      this.#gone(row);
      return "ended";
    }
    if (row.changed === this.#changed) return "late";
    await this.#catchUp(row);
    return "changed";
  }

  /** False: there is nothing more to look at for now. */
  async #mayCatchUp(row: ExecutionRow): Promise<boolean> {
    // A set in flight is refused, and then the ledger catches up; or the set was committed before the change.
    this.#isBehind = this.#ledger.commits.inFlight;
    if (!this.#isBehind) await this.#catchUp(row);
    return this.#ledger.phase !== "closed";
  }

  /**
   * People have changed messages or sources. No step is in flight, or the one that was is refused: the ledger goes on with the counts of the
   * row, and with the rows that it reads from here on. If they took away what this host works on, its processes begin again.
   */
  #catchUp(row: ExecutionRow): Promise<void> {
    const ledger = this.#ledger;
    const { changed } = row;
    this.#changed = changed;
    this.#isBehind = false;
    if (!ledger.place.shared) ledger.place = { ...ledger.place, changed };
    ledger.countsOf(row);
    const catching = this.#compareAll().finally(() => {
      if (this.#catchingUp === catching) this.#catchingUp = undefined;
      ledger.call();
    });
    this.#catchingUp = catching;
    return catching;
  }

  async #compareAll(): Promise<void> {
    const ledger = this.#ledger;
    const isAnyGone = await ledger.handOut.changed();
    const places = await ledger.store.scan(sources, { prefix: [ledger.place.scope], limit: MOST_SOURCES });
    if (ledger.phase === "closed") return;
    ledger.options.listener.changed(
      places.filter(({ open }) => open === 0).map(({ name }) => name),
      isAnyGone,
    );
  }

  async #row(): Promise<ExecutionRow | undefined> {
    const [row] = await this.#ledger.store.get(executions, [[this.#ledger.place.scope]]);
    return row;
  }

  #gone(row: ExecutionRow | undefined): void {
    const ledger = this.#ledger;
    if (row !== undefined && ENDED.has(row.status)) ledger.end(row.status as Ended);
    else ledger.lose(new ExecutionGoneError(ledger.options.execution.id));
  }
}

/** Sources of an execution that are looked at. */
export const MOST_SOURCES = 10_000;
/** Queues without a waiter are counted anew each time that so many intervals have passed. */
const TICKS_BETWEEN_COUNTS = 4;
