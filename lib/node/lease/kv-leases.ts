// Leases kept by a bucket of JetStream. A lease is the message of its key: it is acquired by a write to a key that has none, and renewed
// by writes that replace the last one. Each write names the revision that it replaces, and that alone decides.
//
// A write without an answer may have been stored, and so may an earlier one arrive later. A holder whose write is refused looks at what is
// there: if it is a write of its own, the next write expects that revision. If the state it saw was old, the next write is refused, too.

import { clientOptions, loadJetStream, natsServers } from "../../host/nats-client.js";
import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { exclude, include } from "../../process/one-or-many.js";
import { checked, maybe, ms, whole } from "../../process/option-schema.js";
import { kernelOf } from "../../process/options.js";
import { orAborted } from "../../process/or-aborted.js";
import type { ProcessSystem } from "../../process/system.js";
import { type BucketEntry, bucketLabel, KvBucket } from "./kv-bucket.js";
import { keyOf } from "./kv-key.js";
import type { HeldLease, LeaseHolder, LeaseSource } from "./lease-source.js";
import type { HasSystem } from "./singleton.js";

/** Options of {@link kvLeases}. */
export interface KvLeasesOptions {
  /** Where the servers are, such as `127.0.0.1:4222`. */
  readonly servers: string | readonly string[];
  /** The bucket: letters, digits, `_` and `-`. It is made if it is not there. Default `signalbox_leases`. */
  readonly bucket?: string;
  /** How many servers keep the bucket: 3 in a cluster of three. Default: as the bucket has it, and 1 if it is made. */
  readonly replicas?: number;
  /**
   * How long a lease holds without renewal, in milliseconds, unless a singleton says otherwise. The server rounds it up to seconds. At least
   * 1,000. Default 15,000: while a bucket of three servers elects a leader, it takes no write for some 6 seconds.
   */
  readonly ttlMs?: number;
  /** How long the server may take to answer, in milliseconds. Default 5,000. */
  readonly answerMs?: number;
  /**
   * Passed on to the client: credentials, TLS, and all else that `NodeConnectionOptions` of `@nats-io/transport-node` has. Servers and
   * reconnecting are not to be set here. Its type is not that one: programs without NATS do not have the package.
   */
  readonly connection?: object;
}

/** Leases of a bucket of JetStream, and their connection. */
export interface KvLeases extends LeaseSource, AsyncDisposable {
  /**
   * Writes to the bucket, and rejects when the bucket takes no write. Use it as a readiness check: a bucket can report itself healthy and refuse all writes.
   */
  check(): Promise<void>;
  /** Ends the connection. A system that stops does the same. */
  close(): Promise<void>;
}

/** The message at the key of a lease. */
interface LeaseText {
  readonly holder: string;
  /** The same in all writes of a lease, and in no other. */
  readonly id: string;
  /** Absent in the first write of a holder: its revision is the token. */
  readonly token?: number;
}

/** A lease that is held, or was. */
interface Tenure extends HeldLease {
  readonly key: string;
  readonly holder: string;
  readonly id: string;
  readonly ttlMs: number;
  /** The last one that is known. */
  revision: number;
  isGivenBack: boolean;
}

const BUCKET = "signalbox_leases";
const TTL_MS = 15_000;
const LEAST_TTL_MS = 1_000;
const ANSWER_MS = 5_000;
const MOST_REPLICAS = 5;
/** Writes for one request: each but the first follows a look at what is there. */
const MOST_TRIES = 3;
/** How long the marker stays that a key is free. A key without any message is free too. */
const MARKER_MS = 1_000;
const MICROSECONDS = 1_000;

/**
 * Leases kept by a bucket of NATS JetStream, for systems that have no PostgreSQL in common. It needs the packages `@nats-io/transport-node` and
 * `@nats-io/jetstream`, version 3.4, and a server of version 2.11 or later with JetStream. It has a connection of its own, so that no other
 * traffic delays a renewal; the connection is made again whenever it is lost, and ends with the system.
 *
 * Revisions of the bucket are the tokens. They rise over all leases, and over what is deleted.
 *
 * @param node - the system, or something that has one
 * @throws OptionError, LeaseBucketError, PackageMissingError
 * @example
 * const leases = await kvLeases(system, { servers: "127.0.0.1:4222", replicas: 3 });
 * const Billing = defineServer({ init: (_ctx, lease: Lease) => ({ token: lease.token }) });
 * await system.start(singleton(system, { name: "billing", lease: leases, start: Billing }));
 */
export async function kvLeases(node: ProcessSystem | HasSystem, options: KvLeasesOptions): Promise<KvLeases> {
  const kernel = kernelOf((node as Partial<HasSystem> | null | undefined)?.system ?? (node as ProcessSystem));
  const { servers, ...given } = checked(
    "",
    options,
    {
      servers: natsServers,
      bucket: bucketName,
      replicas: maybe(whole(1, MOST_REPLICAS)),
      ttlMs: ms(LEAST_TTL_MS),
      answerMs: ms(1),
      connection: clientOptions,
    },
    { bucket: BUCKET, ttlMs: TTL_MS, answerMs: ANSWER_MS, connection: {} },
  );
  // Whoever deletes a bucket deletes its revisions. Those of a new one begin at the time in microseconds, which is above the old ones: they
  // rise by less than a million each second.
  const firstRevision = Math.floor(kernel.env.wallTime()) * MICROSECONDS;
  const bucket = await KvBucket.open(
    { ...given, servers, firstRevision },
    await loadJetStream("leases over JetStream"),
  );
  return new Leases(
    kernel,
    bucketLabel({ bucket: given.bucket, servers }),
    given.bucket,
    given.ttlMs,
    bucket,
  );
}

function bucketName(path: string, given: unknown): string {
  if (typeof given === "string" && /^[\w-]{1,64}$/.test(given)) return given;
  throw new OptionError(path, given, "a name of letters, digits, _ and -, at most 64");
}

class Leases implements KvLeases {
  readonly label: string;
  readonly ttlMs: number;
  readonly #kernel: Kernel;
  readonly #name: string;
  readonly #bucket: KvBucket;
  readonly #watchers = new Set<() => void>();
  readonly #stop = { abandon: (): void => void this.close() };
  #leases = 0;

  constructor(kernel: Kernel, label: string, name: string, ttlMs: number, bucket: KvBucket) {
    this.#kernel = kernel;
    this.label = label;
    this.ttlMs = ttlMs;
    this.#name = name;
    this.#bucket = bucket;
    kernel.waits = include(kernel.waits, this.#stop);
    const again = (): void => {
      for (const freed of this.#watchers) freed();
    };
    bucket.reconnects(again).catch(() => undefined);
  }

  acquire(name: string, holder: string, ttlMs: number, signal: AbortSignal): Promise<HeldLease | undefined> {
    const acquired = this.#acquire(keyOf(name), holder, ttlMs, signal);
    // It came too late for the contender, which asks anew.
    acquired
      .then((lease) => (lease !== undefined && signal.aborted ? this.#giveBack(lease) : undefined))
      .catch(() => undefined);
    return orAborted(acquired, signal);
  }

  /** A message of this holder at the key is from an acquisition that it has given up, or from a lease that it has lost. */
  async #acquire(
    key: string,
    holder: string,
    ttlMs: number,
    signal: AbortSignal,
  ): Promise<Tenure | undefined> {
    const id = `${this.#kernel.node.id}.${++this.#leases}`;
    const value = textOf({ holder, id });
    let expected = 0;
    for (let tries = 0; tries < MOST_TRIES && !signal.aborted; tries++) {
      const answer = await this.#bucket.write({ key, value, expected, ttlMs });
      if (answer.type === "busy") return undefined;
      if (answer.type === "stored") {
        const { revision } = answer;
        const name = `${this.#name}/${key}`;
        return { name, token: revision, key, holder, id, ttlMs, revision, isGivenBack: false };
      }
      const last = await this.#bucket.last(key);
      if (last !== undefined && !last.isMarker && leaseIn(last).holder !== holder) return undefined;
      expected = last?.revision ?? 0;
    }
    return undefined;
  }

  renew(lease: HeldLease, signal: AbortSignal): Promise<boolean> {
    const tenure = lease as Tenure;
    const { holder, id, token, ttlMs } = tenure;
    return orAborted(this.#replace(tenure, textOf({ holder, id, token }), ttlMs), signal);
  }

  /** Replaces the message of a lease. False: it is not the last one of its key any more. */
  async #replace(tenure: Tenure, value: string, ttlMs: number): Promise<boolean> {
    const { key } = tenure;
    for (let tries = 0; tries < MOST_TRIES && !tenure.isGivenBack; tries++) {
      const expected = tenure.revision;
      const answer = await this.#bucket.write({ key, value, expected, ttlMs, isMarker: value === "" });
      if (answer.type === "stored") {
        tenure.revision = Math.max(tenure.revision, answer.revision);
        return true;
      }
      // Another renewal of this lease may be the one that is in process.
      if (answer.type === "busy") throw new Error(`${this.label} is busy with another write to ${key}`);
      const last = await this.#bucket.last(key);
      if (last === undefined || last.isMarker || leaseIn(last).id !== tenure.id) return false;
      tenure.revision = Math.max(tenure.revision, last.revision);
    }
    if (tenure.isGivenBack) return false;
    throw new Error(`${this.label} refuses a write to ${key} that replaces the last one there`);
  }

  release(lease: HeldLease, signal: AbortSignal): Promise<void> {
    return orAborted(this.#giveBack(lease as Tenure), signal);
  }

  async #giveBack(tenure: Tenure): Promise<void> {
    const isFree = await this.#replace(tenure, "", MARKER_MS);
    tenure.isGivenBack = true;
    if (isFree) this.#bucket.tell(tenure.key);
  }

  async find(name: string, signal: AbortSignal): Promise<LeaseHolder | undefined> {
    const last = await orAborted(this.#bucket.last(keyOf(name)), signal);
    if (last === undefined || last.isMarker) return undefined;
    const { holder = "", token = last.revision } = leaseIn(last);
    return { holder, token };
  }

  watch(name: string, freed: () => void): () => void {
    const heard = (): void => this.#kernel.enter(freed);
    const end = this.#bucket.listen(keyOf(name), heard);
    this.#watchers.add(heard);
    return () => {
      this.#watchers.delete(heard);
      end();
    };
  }

  check(): Promise<void> {
    return this.#bucket.probe();
  }

  async close(): Promise<void> {
    this.#kernel.waits = exclude(this.#kernel.waits, this.#stop);
    this.#watchers.clear();
    await this.#bucket.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function textOf(lease: LeaseText): string {
  return JSON.stringify(lease);
}

/** The content of a message. A message of another program can have any form. */
function leaseIn({ value }: BucketEntry): Partial<LeaseText> {
  try {
    return (JSON.parse(value) ?? {}) as Partial<LeaseText>;
  } catch {
    return {};
  }
}
