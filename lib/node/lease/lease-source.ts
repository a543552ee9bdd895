// The interface of a source of leases. A store and a bucket of JetStream implement it.

import type { Environment } from "../../process/environment.js";
import { withMethod } from "../../process/options.js";

/** A lease that its source has granted. */
export interface HeldLease {
  /** The name of the lease in its source. */
  readonly name: string;
  /** The fencing token: a whole number, larger than that of any earlier holder of this name. */
  readonly token: number;
  /** Aborts when the source learns by itself that the lease is lost, such as by a write under it that was refused. */
  readonly lost?: AbortSignal;
}

/** A source of leases, such as {@link storeLeases}. It decides by a compare-and-set, and never by a read. */
export interface LeaseSource {
  /** A description for people. */
  readonly label: string;
  /** How long a lease of this source holds without renewal, in milliseconds, unless a singleton says otherwise. */
  readonly ttlMs: number;
  /**
   * Asks for a lease. Undefined: another holder has it. A lease that comes after `signal` was aborted is given back by the source.
   *
   * @param holder - who asks, for those who look for the holder
   * @param ttlMs - how long the lease holds without renewal, by the clock of the source
   */
  acquire(name: string, holder: string, ttlMs: number, signal: AbortSignal): Promise<HeldLease | undefined>;
  /** Renews a lease for its whole time. False: it is lost. After a rejection nothing is known: the lease may have been renewed. */
  renew(lease: HeldLease, signal: AbortSignal): Promise<boolean>;
  /** Gives a lease back, if it is still held with this token. */
  release(lease: HeldLease, signal: AbortSignal): Promise<void>;
  /** The holder that the source shows, if there is one. It is for finding the process: no decision depends on it. */
  find(name: string, signal: AbortSignal): Promise<LeaseHolder | undefined>;
  /** Calls `freed` when the lease may be free, as soon as the source knows. Returns a function that ends the calls. Absent: contenders ask now and then. */
  watch?(name: string, freed: () => void): () => void;
}

/** The holder of a lease. */
export interface LeaseHolder {
  /** The text that the holder gave. */
  readonly holder: string;
  /** Its token. */
  readonly token: number;
}

/** The part of the surroundings that a source with a connection needs. */
export type LeaseEnvironment = Pick<Environment, "random" | "id">;

/** @throws OptionError */
export function checkLeaseSource(path: string, source: LeaseSource): LeaseSource {
  for (const method of ["acquire", "renew", "release", "find"] as const)
    withMethod(path, source, method, "a source of leases, such as storeLeases(store)");
  return source;
}
