// The claims that one handle of a store holds: renews them, and aborts `lost` when one is lost, or might be: a claim that could not be
// renewed in time counts as lost, even if no other owner has taken it.

import type { Claim, ClaimOptions } from "./claim.js";
import type { HeldClaim, StoreDriver } from "./driver.js";
import type { StoreContext } from "./store.js";

type Renewer = NonNullable<ClaimOptions["renewedBy"]>;

/** Renewals within the time that a claim holds. */
const RENEWALS = 3;

class Held implements Claim {
  readonly name: string;
  readonly token: number;
  readonly ttlMs: number;
  readonly renewedBy: Renewer;
  /** When the last renewal was asked for that succeeded, by the monotonic clock of this process. */
  renewedAt: number;
  readonly #controller = new AbortController();
  readonly #keeper: ClaimKeeper;

  constructor(
    keeper: ClaimKeeper,
    { name, token }: HeldClaim,
    ttlMs: number,
    renewedBy: Renewer,
    now: number,
  ) {
    this.#keeper = keeper;
    this.name = name;
    this.token = token;
    this.ttlMs = ttlMs;
    this.renewedBy = renewedBy;
    this.renewedAt = now;
  }

  get lost(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason: string): void {
    this.#controller.abort(new Error(`the claim on ${this.name} with token ${this.token} ${reason}`));
  }

  renew(): Promise<boolean> {
    return this.#keeper.renew(this);
  }

  release(): Promise<void> {
    return this.#keeper.release(this);
  }
}

export class ClaimKeeper {
  readonly #driver: StoreDriver;
  readonly #context: Pick<StoreContext, "environment" | "after">;
  #held: readonly Held[] = [];
  #cancel: (() => void) | undefined;

  constructor(driver: StoreDriver, context: Pick<StoreContext, "environment" | "after">) {
    this.#driver = driver;
    this.#context = context;
  }

  async claim(
    name: string,
    owner: string,
    ttlMs: number,
    renewedBy: Renewer = "store",
  ): Promise<Claim | undefined> {
    const now = this.#context.environment.now();
    const token = await this.#driver.claim(name, owner, ttlMs, renewedBy === "store");
    if (token === undefined) return undefined;
    const held = new Held(this, { name, token }, ttlMs, renewedBy, now);
    this.#held = [...this.#held, held];
    this.#schedule();
    return held;
  }

  /** The claim is known to be lost. */
  lost({ name, token }: HeldClaim, reason = "is lost: another owner took it"): void {
    const held = this.#held.find((one) => one.name === name && one.token === token);
    if (held === undefined) return;
    this.#forget(held);
    held.abort(reason);
  }

  async renew(held: Held): Promise<boolean> {
    if (held.lost.aborted) return false;
    if (this.#driver.renews) await this.#renewAll([held]);
    return !held.lost.aborted;
  }

  async release(held: HeldClaim): Promise<void> {
    this.lost(held, "was released");
    await this.#driver.release({ name: held.name, token: held.token });
  }

  async releaseAll(): Promise<void> {
    await Promise.all(this.#held.map((held) => this.release(held)));
  }

  /** Those that the store renews. */
  get #kept(): readonly Held[] {
    return this.#held.filter(({ renewedBy }) => renewedBy === "store");
  }

  #forget(held: Held): void {
    this.#held = this.#held.filter((one) => one !== held);
    if (this.#held.length === 0) this.#stop();
  }

  #stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #schedule(): void {
    this.#stop();
    const kept = this.#kept;
    if (!this.#driver.renews || kept.length === 0) return;
    const ms = Math.min(...kept.map((held) => held.ttlMs)) / RENEWALS;
    this.#cancel = this.#context.after(ms, () => this.#renew());
  }

  #renew(): void {
    const asked = this.#kept;
    const now = this.#context.environment.now();
    for (const held of asked)
      if (now - held.renewedAt >= held.ttlMs) this.lost(held, "was not renewed in time");
    this.#schedule();
    // The next renewal tries again, until the claim counts as lost.
    this.#renewAll(asked).catch(() => undefined);
  }

  async #renewAll(asked: readonly Held[]): Promise<void> {
    const now = this.#context.environment.now();
    for (const one of await this.#driver.renew(asked)) this.lost(one);
    for (const held of asked) held.renewedAt = Math.max(held.renewedAt, now);
  }
}
