// A host of a store that others write looks for executions that they have started or ended: when it is notified, and in a shared store at
// intervals, where it also gives back the rows of lost hosts. One look at a time; a notification during a look leads to another look.

import type { HostLife } from "../../host/host-life.js";
import type { Context } from "../../process/context.js";
import type { StoreCatalogue } from "./store-catalogue.js";

/** How often a host looks, in milliseconds, when nothing notifies it. */
const POLL_MS = 1_000;

export class Poll<Message> {
  readonly #ctx: Context<Message>;
  readonly #life: HostLife<Message>;
  readonly #stored: StoreCatalogue;
  readonly #takeUp: () => Promise<void>;
  #isLooking = false;
  #isWanted = false;
  #isDue = false;

  /** @param takeUp - takes up executions, and announces ends */
  constructor(
    ctx: Context<Message>,
    life: HostLife<Message>,
    stored: StoreCatalogue,
    takeUp: () => Promise<void>,
  ) {
    this.#ctx = ctx;
    this.#life = life;
    this.#stored = stored;
    this.#takeUp = takeUp;
  }

  /** Looks now, and at intervals from now on. */
  start(): void {
    if (this.#life.isStopping) return;
    this.#isDue = true;
    this.look();
    this.#ctx.runAfter(POLL_MS, () => this.start());
  }

  /** There may be something to see. */
  look(): void {
    this.#isWanted = true;
    this.#life.background.do("look", () => this.#looks());
  }

  async #looks(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      while (this.#isWanted && !this.#life.isStopping) {
        this.#isWanted = false;
        if (this.#isDue) await this.#stored.giveBack();
        this.#isDue = false;
        if (!this.#life.isStopping) await this.#takeUp();
      }
    } catch (error) {
      this.#isWanted = true;
      throw error;
    } finally {
      this.#isLooking = false;
    }
  }
}
