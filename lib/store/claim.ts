// Claims: who may write. A claim on a name is held by one owner at a time and carries a fencing token.

/**
 * The right to write as the one owner of a name, until `lost` aborts. The token grows with each new owner of the name, and a
 * store refuses writes under an old token; so a late writer changes nothing. Pass the token on to outside systems that can fence.
 */
export interface Claim {
  /** The name that is held, such as `flows/host-1`. */
  readonly name: string;
  /** The fencing token: a whole number, larger than that of any earlier owner of any name of this store. */
  readonly token: number;
  /** Aborts when the claim is lost: it expired, another owner took it, or it was released. */
  readonly lost: AbortSignal;
  /**
   * Renews the claim now, for its whole time. False: it is lost. A rejection decides nothing: the claim may have been renewed.
   *
   * @throws StoreError
   */
  renew(): Promise<boolean>;
  /** Gives the claim back. Later writes under it are refused. */
  release(): Promise<void>;
}

/** What a write needs of the claim under which it is made. */
export type Fence = Pick<Claim, "name" | "token">;

/** What {@link Store.claim} is given. */
export interface ClaimOptions {
  /** The owner of the claim, for people: a host name and process id, for example. */
  readonly owner: string;
  /**
   * How many milliseconds the claim holds without renewal, by the clock of the store. The store renews the claim by itself, three
   * times as often, as long as this process runs. Default: `leaseMs` of the store, 15,000. A store that has one owner alone, by a lock that the operating
   * system takes back (SQLite, memory), needs no renewal.
   */
  readonly ttlMs?: number;
  /**
   * `store`: the store renews the claim by itself, and others get it as soon as a server sees that the connection of its owner has ended.
   * `owner`: only {@link Claim.renew} renews the claim, and nobody else gets it before its time is over, whatever happens to connections.
   * The owner watches its own clock: `lost` does not abort by the clock. Default `store`.
   */
  readonly renewedBy?: "store" | "owner";
}

/** A claim as others see it. */
export interface ClaimInfo {
  /** The name that is claimed. */
  readonly name: string;
  /** The fencing token of its owner. */
  readonly token: number;
  /** The owner of the claim, for people. */
  readonly owner: string;
  /**
   * When it was claimed, in milliseconds since 1970 by the clock of the store. Undefined for a claim of an earlier process on a SQLite
   * file, which is not held any more.
   */
  readonly since: number | undefined;
  /** Whether its owner still holds it: it was renewed in time, and the connection that holds it is alive. */
  readonly held: boolean;
}
