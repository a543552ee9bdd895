// A store in memory whose opened handles a test holds: it can take the claims of hosts away, and hold back what they write.

import { expect } from "vitest";
import { type Claim, memory, type Store, type StoreSource, type WriteSet } from "../../lib/store/index.js";

type Commit = Store["commit"];

export class OpenedSource implements StoreSource {
  readonly label = "opened";
  readonly #inner: StoreSource;
  /** The handles of hosts, in the order in which they opened the store. */
  readonly opened: Store[] = [];
  /** Stands before each commit, if a test sets it. */
  before: ((commit: () => ReturnType<Commit>, set: WriteSet) => ReturnType<Commit>) | undefined;

  /** Called with each claim that a host has taken, before the host has it, if a test sets it. */
  claimed: ((claim: Claim) => Promise<void>) | undefined;

  constructor(inner: StoreSource = memory()) {
    this.#inner = inner;
  }

  async open(...args: Parameters<StoreSource["open"]>): Promise<Store> {
    const store = await this.#inner.open(...args);
    this.opened.push(store);
    const commit: Commit = (set) => {
      const go = (): ReturnType<Commit> => store.commit(set);
      return this.before === undefined ? go() : this.before(go, set);
    };
    const claim: Store["claim"] = async (...given) => {
      const taken = await store.claim(...given);
      if (taken !== undefined) await this.claimed?.(taken);
      return taken;
    };
    return new Proxy(store, {
      get(target, name) {
        if (name === "commit") return commit;
        if (name === "claim") return claim;
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  /** Takes away the next claim that a host takes, before the host can listen to its loss. */
  loseNextClaim(): void {
    this.claimed = async ({ name, token, lost }) => {
      this.claimed = undefined;
      await this.opened.at(-1)?.revoke(name, token);
      expect(lost.aborted).toBe(true);
    };
  }

  /** Takes away the claims of hosts that run, as another host does when their lease has passed. */
  async revoke(prefix: string): Promise<void> {
    const store = this.opened.at(-1) as Store;
    for (const { name, token, held } of await store.claims(prefix)) if (held) await store.revoke(name, token);
  }
}

/** What the error of a handle says whose host lost its claim, and that no host follows. */
export const CLAIM_LOST: Readonly<Record<string, unknown>> = {
  code: "ERR_HOST_GONE",
  claimLost: true,
  message: expect.stringContaining("claim lost"),
  cause: { code: "ERR_STORE_FENCED" },
};
