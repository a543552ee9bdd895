// A bucket of JetStream as leases need it: writes that name the revision that they replace, each with a time to live.
// Facts that shape this file: `update` of @nats-io/kv writes without a time to live, so what it renews never ends; a time to live has whole
// seconds, and the server drops the rest; a revision is the number of a message in the stream of the bucket, so it rises over
// deletions; a second write with the id of the first one is answered as a duplicate by three servers, and refused by one alone, since its
// revision was replaced, so ids help nobody; a leader refuses a write while another one to the same key is in process, which says
// nothing about either.

import type { JetStreamClient, JetStreamManager, StreamConfig } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { connectNats, type JetStreamPackages, type NatsSettings } from "../../host/nats-client.js";
import { showCause } from "../../process/show.js";
import { LeaseBucketError } from "./errors.js";

/** Options with which a bucket is opened. */
export interface BucketSettings extends NatsSettings {
  readonly bucket: string;
  /** Undefined: as it is, and one for a bucket that is made. */
  readonly replicas: number | undefined;
  /** The number of the first revision of a bucket that is made. */
  readonly firstRevision: number;
}

/** A write to a key. */
export interface BucketWrite {
  readonly key: string;
  readonly value: string;
  /** The revision that the key has; 0: none. */
  readonly expected: number;
  readonly ttlMs: number;
  /** The key is free from then on. */
  readonly isMarker?: boolean;
}

/** The answer to a write. `busy`: another write to this key is in process, with an unknown result. */
export type BucketAnswer =
  | { readonly type: "stored"; readonly revision: number }
  | { readonly type: "refused" | "busy" };

/** The last message of a key. */
export interface BucketEntry {
  readonly revision: number;
  readonly value: string;
  /** Whether it is a marker that the key is free. */
  readonly isMarker: boolean;
}

/** The release that has times to live for single messages. */
const LEAST_SERVER = "2.11";
const MS_PER_S = 1_000;

/** Codes of JetStream's answers. */
const NO_STREAM = 10_059;
const NAME_IN_USE = 10_058;
const NO_MESSAGE = 10_037;
const WRONG_REVISION = 10_071;
const WRITE_IN_PROCESS = 10_164;

/** Where a bucket is, for errors and reports. */
export function bucketLabel({ bucket, servers }: Pick<BucketSettings, "bucket" | "servers">): string {
  return `the bucket ${bucket} of JetStream at ${servers.join(", ")}`;
}

/** A connection and the bucket behind it. */
export class KvBucket {
  readonly #subjects: string;
  readonly #stream: string;
  readonly #packages: JetStreamPackages;
  readonly #connection: NatsConnection;
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;

  private constructor(
    { bucket, answerMs }: BucketSettings,
    packages: JetStreamPackages,
    connection: NatsConnection,
    manager: JetStreamManager,
  ) {
    this.#subjects = subjectsOf(bucket);
    this.#stream = streamOf(bucket);
    this.#packages = packages;
    this.#connection = connection;
    this.#manager = manager;
    this.#client = packages.jetstream.jetstream(connection, { timeout: answerMs });
  }

  /** Connects, and makes the bucket if it is not there. @throws LeaseBucketError */
  static async open(settings: BucketSettings, packages: JetStreamPackages): Promise<KvBucket> {
    const label = bucketLabel(settings);
    const connection = await connected(label, settings, packages);
    try {
      checkServer(label, connection.info?.version);
      const manager = await managerOf(label, settings, packages, connection);
      checkBucket(label, settings, await madeBucket(label, settings, packages, manager));
      return new KvBucket(settings, packages, connection, manager);
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  /** Rejects when the server did not answer: the write may have been stored. */
  async write(write: BucketWrite): Promise<BucketAnswer> {
    const { headers } = this.#packages.transport;
    const { JetStreamApiError } = this.#packages.jetstream;
    const marks = headers();
    if (write.isMarker === true) marks.set(OPERATION, "DEL");
    try {
      const { seq } = await this.#client.publish(this.#subject(write.key), write.value, {
        headers: marks,
        expect: { streamName: this.#stream, lastSubjectSequence: write.expected },
        // Whole seconds, and rather more than less: it may not end for the server before it ends for its holder.
        ttl: `${Math.ceil(write.ttlMs / MS_PER_S)}s`,
      });
      return { type: "stored", revision: seq };
    } catch (error) {
      const code = error instanceof JetStreamApiError ? error.code : undefined;
      if (code === WRONG_REVISION) return { type: "refused" };
      if (code === WRITE_IN_PROCESS) return { type: "busy" };
      throw error;
    }
  }

  /** A write to a key that is no lease, whatever is there. Rejects when the bucket takes none. */
  async probe(): Promise<void> {
    const expect = { streamName: this.#stream };
    await this.#client.publish(this.#subject(PROBE), "", { expect, ttl: "1s" });
  }

  /** The last message of a key, as the leader of the stream has it. It may be an old one: nothing may be decided by it. */
  async last(key: string): Promise<BucketEntry | undefined> {
    const { JetStreamApiError } = this.#packages.jetstream;
    try {
      const message = await this.#manager.streams.getMessage(this.#stream, {
        last_by_subj: this.#subject(key),
      });
      if (message === null) return undefined;
      const isMarker = message.header.has(OPERATION) || message.header.has(MARKER);
      return { revision: message.seq, value: message.string(), isMarker };
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === NO_MESSAGE) return undefined;
      throw error;
    }
  }

  /** Tells those who listen that a key may be free. The marker itself is no news: it arrives before the stream has it. */
  tell(key: string): void {
    if (!this.#connection.isClosed()) this.#connection.publish(`${NEWS}.${this.#stream}.${key}`);
  }

  /** Calls `heard` when a key may be free. Returns a function that ends the calls. */
  listen(key: string, heard: () => void): () => void {
    const callback = (error: Error | null): void => {
      if (error === null) heard();
    };
    const subscription = this.#connection.subscribe(`${NEWS}.${this.#stream}.${key}`, { callback });
    return () => subscription.unsubscribe();
  }

  /** Calls `again` whenever the connection was made again, because notices in between are lost. Ends with the connection. */
  async reconnects(again: () => void): Promise<void> {
    for await (const { type } of this.#connection.status()) if (type === "reconnect") again();
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  #subject(key: string): string {
    return this.#subjects.replace(">", key);
  }
}

/** The header by which clients of buckets tell deletions, and the one by which the server does. */
const OPERATION = "KV-Operation";
const MARKER = "Nats-Marker-Reason";
/** The key of writes that only show that the bucket takes them. No name of a lease has a dot in its key. */
const PROBE = "probe.write";
const NEWS = "signalbox.leases";

const streamOf = (bucket: string): string => `KV_${bucket}`;
const subjectsOf = (bucket: string): string => `$KV.${bucket}.>`;

async function connected(
  label: string,
  settings: BucketSettings,
  { transport }: JetStreamPackages,
): Promise<NatsConnection> {
  try {
    return await connectNats(transport, settings);
  } catch (error) {
    throw new LeaseBucketError(label, `no server can be reached: ${showCause(error)}`, error);
  }
}

/** @throws LeaseBucketError */
function checkServer(label: string, version = "of an unknown version"): void {
  if (version.localeCompare(LEAST_SERVER, "en", { numeric: true }) >= 0 && /^\d/.test(version)) return;
  const needed = `leases need nats-server ${LEAST_SERVER} or later, for the time to live of single messages`;
  throw new LeaseBucketError(label, `the server is ${version}; ${needed}`);
}

async function managerOf(
  label: string,
  { answerMs }: BucketSettings,
  { jetstream }: JetStreamPackages,
  connection: NatsConnection,
): Promise<JetStreamManager> {
  try {
    return await jetstream.jetstreamManager(connection, { timeout: answerMs });
  } catch (error) {
    // The client does not export this class.
    const isOff = error instanceof Error && error.name === "JetStreamNotEnabled";
    const problem = isOff
      ? "JetStream is not enabled: start nats-server with -js, and enable it for the account"
      : `JetStream does not answer: ${showCause(error)}`;
    throw new LeaseBucketError(label, problem, error);
  }
}

/** The bucket as it is. Of two programs that make it, the second finds that of the first. */
async function madeBucket(
  label: string,
  settings: BucketSettings,
  { jetstream }: JetStreamPackages,
  { streams }: JetStreamManager,
): Promise<StreamConfig> {
  const { bucket, replicas = 1, firstRevision } = settings;
  const name = streamOf(bucket);
  const has = (error: unknown, code: number): boolean =>
    error instanceof jetstream.JetStreamApiError && error.code === code;
  const found = async (): Promise<StreamConfig> => (await streams.info(name)).config;
  const make = async (): Promise<StreamConfig> => {
    const made = await streams.add({
      name,
      subjects: [subjectsOf(bucket)],
      max_msgs_per_subject: 1,
      num_replicas: replicas,
      storage: jetstream.StorageType.File,
      discard: jetstream.DiscardPolicy.New,
      allow_msg_ttl: true,
      allow_rollup_hdrs: true,
      allow_direct: true,
      deny_delete: true,
      first_seq: firstRevision,
    });
    return made.config;
  };
  try {
    return await found().catch((error: unknown) => {
      if (!has(error, NO_STREAM)) throw error;
      return make();
    });
  } catch (error) {
    if (has(error, NAME_IN_USE)) return found();
    throw new LeaseBucketError(label, `it is not there and cannot be made: ${showCause(error)}`, error);
  }
}

/** @throws LeaseBucketError */
function checkBucket(label: string, { bucket, replicas }: BucketSettings, config: StreamConfig): void {
  const { allow_msg_ttl, max_msgs_per_subject, max_age, subjects, num_replicas } = config;
  const wrong = (what: string, is: unknown, right: string): never => {
    throw new LeaseBucketError(label, `its ${what} is ${String(is)}; leases need ${right}`);
  };
  if (!subjects.includes(subjectsOf(bucket))) wrong("subjects", subjects.join(), subjectsOf(bucket));
  if (allow_msg_ttl !== true) wrong("allow_msg_ttl", allow_msg_ttl, "true: without it no lease ends");
  // An older message would come back when the last one ends.
  if (max_msgs_per_subject !== 1) wrong("max_msgs_per_subject (history)", max_msgs_per_subject, "1");
  if (max_age !== 0) wrong("max_age", max_age, "0: it could end a lease before its time");
  if (replicas !== undefined && num_replicas !== replicas)
    wrong("num_replicas", num_replicas, `${replicas}, as the option replicas says`);
}
