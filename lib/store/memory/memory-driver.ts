// Drives a store in memory: one host's connection to the data. Without a port a commit takes effect at once; with one, in a step of
// its own, in which it may fail, and before which the power may.

import type { ClaimInfo } from "../claim.js";
import type { Applied, CheckedScan, DriverHost, HeldClaim, StoreDriver } from "../driver.js";
import { StoreClosedError } from "../errors.js";
import type { Recovery } from "../group-commit-machine.js";
import type { CommitOutcome } from "../plan.js";
import type { Schema } from "../schema.js";
import type { AnyRow, Table } from "../table.js";
import type { Key, WriteSet } from "../write-set.js";
import type { Flight, MemoryData } from "./memory-data.js";
import type { MemoryPort } from "./port.js";

/** The server was gone for a moment: the group can be tried again. */
class LostConnection extends Error {}

export class MemoryDriver implements StoreDriver {
  readonly label: string;
  readonly shared: boolean;
  readonly renews: boolean;
  readonly #data: MemoryData;
  readonly #host: DriverHost;
  readonly #port: MemoryPort | undefined;
  /** A store of one process is gone with a power loss; a shared one is a server's, which starts again. */
  readonly #generation: number;

  constructor(data: MemoryData, host: DriverHost, shared: boolean, port: MemoryPort | undefined) {
    this.label = data.label;
    this.shared = shared;
    this.renews = shared;
    this.#data = data;
    this.#host = host;
    this.#port = port;
    this.#generation = data.generation;
    data.hosts.add(host);
  }

  async migrate(schemas: readonly Schema[]): Promise<void> {
    this.#touch("write").migrate(schemas);
  }

  async apply(sets: readonly WriteSet[]): Promise<Applied> {
    const port = this.#port;
    const data = this.#touch("read");
    const flight: Flight = { sets, host: this.#host, fate: undefined };
    if (port === undefined) return { outcomes: data.commit(flight) };
    data.flights.add(flight);
    try {
      return { outcomes: await port.perform("commit", () => this.#land(flight)) };
    } catch (error) {
      // The answer of a commit may be lost, but its fate is known here.
      const { fate } = flight;
      if (fate !== undefined && fate !== "lost") return { outcomes: fate };
      throw this.shared ? new LostConnection("the server was not reached", { cause: error }) : error;
    } finally {
      data.flights.delete(flight);
    }
  }

  recovery(error: unknown): Recovery {
    return error instanceof LostConnection ? "retry" : "fail";
  }

  async get(table: Table, keys: readonly Key[]): Promise<(AnyRow | undefined)[]> {
    const from = this.#touch("read").table(table);
    return keys.map((key) => from.get(key));
  }

  async scan(table: Table, scan: CheckedScan): Promise<AnyRow[]> {
    return this.#touch("read").table(table).scan(scan);
  }

  async count(table: Table, scan: CheckedScan, atMost?: number): Promise<number> {
    return this.#touch("read").table(table).count(scan, atMost);
  }

  async clock(): Promise<number> {
    return this.#touch("read").clock();
  }

  async claim(name: string, owner: string, ttlMs: number): Promise<number | undefined> {
    // The claim of a store's only process holds until the process ends.
    return this.#touch("write").claim(name, owner, this.shared ? ttlMs : Number.POSITIVE_INFINITY);
  }

  async renew(claims: readonly (HeldClaim & { readonly ttlMs: number })[]): Promise<HeldClaim[]> {
    const data = this.#touch("write");
    return claims.filter((claim) => !data.renew(claim));
  }

  async release(claim: HeldClaim): Promise<void> {
    // After a power loss there is nothing to give back.
    if (this.#isConnected()) this.#touch("write").remove(claim);
  }

  async claims(prefix: string): Promise<ClaimInfo[]> {
    return this.#touch("read").claims(prefix);
  }

  async revoke(claim: HeldClaim): Promise<boolean> {
    return this.#touch("write").remove(claim);
  }

  async close(): Promise<void> {
    this.#data.hosts.delete(this.#host);
  }

  /** The group reaches the disk, unless a power loss was faster. */
  #land(flight: Flight): readonly CommitOutcome[] {
    if (flight.fate === "lost") throw new LostConnection("the power failed before the commit");
    flight.fate ??= this.#touch("write").commit(flight);
    return flight.fate;
  }

  #touch(how: "read" | "write"): MemoryData {
    this.#port?.touched(how);
    if (!this.#isConnected()) throw new StoreClosedError(this.label);
    return this.#data;
  }

  #isConnected(): boolean {
    return this.shared || this.#generation === this.#data.generation;
  }
}
