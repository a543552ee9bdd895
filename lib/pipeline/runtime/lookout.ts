// The lookout of a host of a shared store: when it is notified, and at intervals, it looks for executions that other hosts have started or
// ended, and gives back the rows that lost hosts held. One look at a time; a notification during a look leads to another look.

/** What looking uses of its host. */
export interface LookoutPort {
  /** Takes up executions, and announces ends. */
  look(): Promise<void>;
  giveBack(): Promise<void>;
  /** Does work that the store may fail, until it is done. */
  do(work: () => Promise<void>): void;
  /** Calls `fn` after so many milliseconds, unless the host has ended. */
  after(ms: number, fn: () => void): void;
}

/** How often a host looks, in milliseconds, when nothing notifies it. */
const POLL_MS = 1_000;

export class Lookout {
  readonly #port: LookoutPort;
  #isLooking = false;
  #isWanted = false;
  #isDue = false;

  constructor(port: LookoutPort) {
    this.#port = port;
  }

  /** Looks now, and at intervals from now on. */
  start(): void {
    this.#isDue = true;
    this.look();
    this.#port.after(POLL_MS, () => this.start());
  }

  /** There may be something to see. */
  look(): void {
    this.#isWanted = true;
    this.#port.do(() => this.#look());
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      while (this.#isWanted) {
        this.#isWanted = false;
        if (this.#isDue) await this.#port.giveBack();
        this.#isDue = false;
        await this.#port.look();
      }
    } catch (error) {
      this.#isWanted = true;
      throw error;
    } finally {
      this.#isLooking = false;
    }
  }
}
