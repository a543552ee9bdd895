// Messages that are suspect of ending their process are tried alone: one at a time on a host, each attempt counted before it begins. A queue
// that has some gives nothing else meanwhile. The queues furthest downstream come first: a route does not work while a queue behind it is
// full, and nobody would empty a queue whose suspects wait for that route.

import type { Claim, Store, Write } from "../../store/index.js";
import { INTERRUPTED, interrupted, wasAlone } from "./interruptions.js";
import type { LiveMessage } from "./live-message.js";
import { type MessageRow, messages } from "./tables.js";

/** Lets one of many work at a time. Those who wait come in the order in which they asked. */
export class Solitude {
  #holder: object | undefined;
  readonly #waiting = new Map<object, () => void>();

  enter(who: object, granted: () => void): void {
    if (this.#holder === undefined) {
      this.#holder = who;
      granted();
    } else this.#waiting.set(who, granted);
  }

  /** Who leaves has worked, or waits no more. */
  leave(who: object): void {
    this.#waiting.delete(who);
    if (this.#holder !== who) return;
    this.#holder = undefined;
    for (const [next, granted] of this.#waiting) {
      this.#waiting.delete(next);
      this.enter(next, granted);
      return;
    }
  }
}

/** What a quarantine uses of its ledger. */
export interface QuarantinePort {
  readonly store: Store;
  readonly claim: Claim;
  readonly solitude: Solitude;
  readonly closed: boolean;
  /** How often a message of this queue is tried at most. */
  attempts(queue: string): number;
  wants(queue: string): boolean;
  /** The first suspect of a queue that no other host has. */
  next(queue: string): Promise<MessageRow | undefined>;
  /** Loads a message. Undefined: it cannot be read, and is on its way to the dead letters. */
  load(row: MessageRow): LiveMessage | undefined;
  deliver(message: LiveMessage): void;
  giveUp(message: LiveMessage, error: string): void;
  call(): void;
  lost(error: Error): void;
}

export class Quarantine {
  readonly #port: QuarantinePort;
  /** How many suspects each queue has, the queue furthest downstream first. */
  readonly #suspects: Map<string, number>;
  #isBusy = false;
  /** The suspect that is tried, as it was before this attempt was counted. */
  #row: MessageRow | undefined;
  /** The same, while it is handed out. */
  #alone: LiveMessage | undefined;

  constructor(port: QuarantinePort, suspects: ReadonlyMap<string, number>) {
    this.#port = port;
    this.#suspects = new Map([...suspects].filter(([, count]) => count > 0));
  }

  /** How many suspects each queue has by now: hosts that share a store find some at any time. */
  found(suspects: ReadonlyMap<string, number>): void {
    if (this.#isBusy) return;
    this.#suspects.clear();
    for (const [queue, count] of suspects) if (count > 0) this.#suspects.set(queue, count);
    if (this.#suspects.size > 0) this.#port.call();
  }

  /** Whether a queue gives suspects alone. */
  blocks(queue: string): boolean {
    return this.#suspects.has(queue);
  }

  /** Whether a suspect is handed out. */
  get busy(): boolean {
    return this.#alone !== undefined;
  }

  /** Hands out the next one, if nobody has one in work. */
  serve(): void {
    const refused = this.#alone === undefined ? this.#row : undefined;
    if (refused !== undefined) {
      if (this.#port.wants(refused.queue)) this.#deliver(refused);
      return;
    }
    const [queue] = this.#suspects.keys();
    if (queue === undefined || this.#isBusy || !this.#port.wants(queue)) return;
    this.#isBusy = true;
    this.#port.solitude.enter(this, () => {
      this.#next(queue).catch((error: unknown) => this.#port.lost(error as Error));
    });
  }

  async #next(queue: string): Promise<void> {
    const { store, claim, attempts } = this.#port;
    const row = await this.#port.next(queue);
    if (this.#port.closed) return;
    if (row === undefined) {
      this.#suspects.delete(queue);
      this.#release();
      return;
    }
    const isGuilty = wasAlone(row) && (row.attempts ?? 0) >= attempts(queue);
    if (!isGuilty) await store.commit({ claim, writes: [update(row, interrupted(row))] });
    if (this.#port.closed) return;
    const message = this.#load(row);
    if (message === undefined) return;
    if (isGuilty) this.#port.giveUp(message, `${INTERRUPTED}, ${row.ends} times`);
    else this.#port.deliver(message);
  }

  /** Undefined: it cannot be read, and the next one is tried. */
  #load(row: MessageRow): LiveMessage | undefined {
    this.#row = row;
    this.#alone = this.#port.load(row);
    if (this.#alone === undefined) this.#over(row.queue);
    return this.#alone;
  }

  #deliver(row: MessageRow): void {
    const message = this.#load(row);
    if (message !== undefined) this.#port.deliver(message);
  }

  /**
   * The step about a message was refused. True: it is the one that is tried alone. Unless another host has it by now, it is tried again,
   * as a part of the same attempt: the process has not ended.
   */
  refused(message: LiveMessage, isMine: boolean): boolean {
    if (message !== this.#alone) return false;
    if (isMine) {
      this.#alone = undefined;
      this.#port.call();
    } else this.#over(message.queue);
    return true;
  }

  /** A message was settled, or is tried again. */
  left(message: LiveMessage): void {
    if (message === this.#alone) this.#over(message.queue);
  }

  #over(queue: string): void {
    const left = (this.#suspects.get(queue) ?? 0) - 1;
    if (left > 0) this.#suspects.set(queue, left);
    else this.#suspects.delete(queue);
    this.#release();
  }

  #release(): void {
    this.#row = undefined;
    this.#alone = undefined;
    this.#isBusy = false;
    this.#port.solitude.leave(this);
    this.#port.call();
  }

  /** What a clean end writes: the attempt that was counted has not ended anything. */
  undone(): readonly Write[] {
    const row = this.#row;
    if (row === undefined) return [];
    const { attempts, history, ends } = row;
    return [update(row, { attempts, history, ends })];
  }

  stop(): void {
    this.#port.solitude.leave(this);
  }
}

function update({ scope, queue, lane, id }: MessageRow, set: Partial<MessageRow>): Write {
  return { type: "update", table: messages, key: [scope, queue, lane, id], set: set as never };
}
