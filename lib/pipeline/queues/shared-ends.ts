// Where several programs share a store, their durable queues count together at which messages their lives end: see lib/host/evidence.

import { takeNewClaim } from "../../host/claims/claims.js";
import type { Evidence } from "../../host/index.js";
import type { Kernel } from "../../process/kernel.js";
import type { Claim, Fence, Store } from "../../store/index.js";
import { SHARER_CLAIMS } from "./tables.js";

/** The claim under which the queues of a program say how its lives ended: for as long as they are open, beyond each subscription. */
export class SharedEnds {
  readonly #kernel: Kernel;
  readonly #store: Store;
  readonly #evidence: Evidence;
  #claim: Claim | undefined;
  /** Under way, or done. Undefined: to be begun, or to be tried again. */
  #sharing: Promise<void> | undefined;

  constructor(kernel: Kernel, store: Store, evidence: Evidence) {
    this.#kernel = kernel;
    this.#store = store;
    this.#evidence = evidence;
  }

  /**
   * Counts with the other programs from now on. Subscribers call it before they take messages, and again and again, for a claim may be lost.
   * Programs that publish alone run no code of a message, and need not.
   *
   * @throws StoreError
   */
  share(): Promise<void> {
    if (!this.#store.shared || this.#evidence.life === 0) return Promise.resolve();
    if (this.#claim?.lost.aborted === true) this.#sharing = undefined;
    this.#sharing ??= this.#begin().catch((error: unknown) => {
      this.#sharing = undefined;
      throw error;
    });
    return this.#sharing;
  }

  async #begin(): Promise<void> {
    if (this.#claim === undefined || this.#claim.lost.aborted) {
      this.#claim = await takeNewClaim(this.#store, SHARER_CLAIMS, this.#kernel);
    }
    await this.#evidence.share(this.#store, this.#current());
  }

  /** The claim that is held at the time of a write. */
  #current(): Fence {
    const held = (): Claim => this.#claim as Claim;
    return {
      get name() {
        return held().name;
      },
      get token() {
        return held().token;
      },
    };
  }
}
