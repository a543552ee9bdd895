// Leases kept by a store, as claims that their holder renews itself. Their tokens are those of the store's claims: the store refuses
// writes under an old one.

import { only } from "../../process/known-options.js";
import { delay, text, withMethod, word } from "../../process/options.js";
import { orAborted } from "../../process/or-aborted.js";
import type { Claim, Store } from "../../store/index.js";
import type { HeldLease, LeaseHolder, LeaseSource } from "./lease-source.js";

/** Options of {@link storeLeases}. */
export interface StoreLeasesOptions {
  /**
   * How long a lease holds without renewal, in milliseconds, unless a singleton says otherwise. When the holder is
   * killed, hangs or is cut off, other systems wait for this time. At least 500. Default 2,000.
   */
  readonly ttlMs?: number;
  /** The beginning of the names of the claims. Default `leases/`. */
  readonly prefix?: string;
}

/** A shorter lease would be lost in an ordinary pause of a process, such as a garbage collection. */
export const LEAST_TTL_MS = 500;
const TTL_MS = 2_000;

/**
 * Leases kept by a store that all nodes have in common: PostgreSQL. A store that one process has for itself (SQLite, memory) serves the
 * systems of that process. The lease that the `init` of a singleton gets is a claim of the store: a write set with
 * `claim: lease` is refused if another node has the lease by then.
 *
 * @throws OptionError
 * @example
 * await using shared = await openStore(system, memory({ shared: true }), []);
 * const leases = storeLeases(shared, { ttlMs: 5_000 });
 */
export function storeLeases(store: Store, options: StoreLeasesOptions = {}): LeaseSource {
  withMethod("store", store, "claim", "an open store");
  only("", options, ["ttlMs", "prefix"]);
  const { ttlMs = TTL_MS, prefix = "leases/" } = options;
  return new StoreLeases(store, delay("ttlMs", ttlMs, LEAST_TTL_MS), word("prefix", prefix));
}

class StoreLeases implements LeaseSource {
  readonly label: string;
  readonly ttlMs: number;
  readonly #store: Store;
  readonly #prefix: string;
  /** Claims whose release has not succeeded. A store in memory or SQLite would keep them for ever. */
  readonly #unreleased = new Set<Claim>();
  /** Names with an acquisition that the store has not answered. Each has at most one, so that few requests wait for a store that hangs. */
  readonly #asking = new Set<string>();

  constructor(store: Store, ttlMs: number, prefix: string) {
    this.label = store.label;
    this.ttlMs = ttlMs;
    this.#store = store;
    this.#prefix = prefix;
  }

  async acquire(
    name: string,
    holder: string,
    ttlMs: number,
    signal: AbortSignal,
  ): Promise<HeldLease | undefined> {
    const asked = `${name} ${holder}`;
    if (this.#asking.has(asked)) throw new Error(`${this.label} has not answered the request before`);
    this.#asking.add(asked);
    const claimed = this.#claim(this.#prefix + text("name", name), holder, ttlMs);
    claimed
      .then(
        // The lease came too late for the contender, which will ask again.
        (claim) => (claim !== undefined && signal.aborted ? this.#giveBack(claim) : undefined),
      )
      .catch(() => undefined)
      .finally(() => this.#asking.delete(asked));
    return orAborted(claimed, signal);
  }

  async #claim(name: string, owner: string, ttlMs: number): Promise<Claim | undefined> {
    for (const claim of this.#unreleased) if (claim.name === name) await this.#giveBack(claim);
    return this.#store.claim(name, { owner, ttlMs, renewedBy: "owner" });
  }

  renew(lease: HeldLease, signal: AbortSignal): Promise<boolean> {
    return orAborted((lease as Claim).renew(), signal);
  }

  release(lease: HeldLease, signal: AbortSignal): Promise<void> {
    return orAborted(this.#giveBack(lease as Claim), signal);
  }

  async #giveBack(claim: Claim): Promise<void> {
    this.#unreleased.add(claim);
    await claim.release();
    this.#unreleased.delete(claim);
    // Contenders that have missed this notice ask now and then.
    await this.#store.commit({ writes: [], notify: [claim.name] }).catch(() => undefined);
  }

  async find(name: string, signal: AbortSignal): Promise<LeaseHolder | undefined> {
    const full = this.#prefix + text("name", name);
    const claims = await orAborted(this.#store.claims(full), signal);
    const found = claims.find((claim) => claim.name === full && claim.held);
    return found && { holder: found.owner, token: found.token };
  }

  watch(name: string, freed: () => void): () => void {
    const full = this.#prefix + name;
    return this.#store.watch(full, {
      notified: (topic) => {
        if (topic === full) freed();
      },
      again: freed,
    });
  }
}
