// NATS JetStream as the carrier of queues, by the packages of @nats-io (optional peers). Each queue is a stream of its own with one
// durable consumer. Facts that shape this file: an acknowledgement counts when the server has confirmed it; a publication that timed out
// may be stored; the client gives up after ten attempts to reconnect unless it is told to go on; a consumer that was deleted ends no
// iterator unless that is asked for.

import type { ConsumerMessages, JetStreamClient, JetStreamManager, JsMsg } from "@nats-io/jetstream";
import type { NatsConnection, NodeConnectionOptions } from "@nats-io/transport-node";
import { backoffMs } from "../../process/backoff.js";
import { only } from "../../process/known-options.js";
import { count, delay, text } from "../../process/options.js";
import { PackageMissingError } from "../../process/package-missing.js";
import type {
  Carrier,
  CarrierContext,
  CarrierDelivery,
  CarrierSource,
  Consumption,
  Letter,
} from "./carrier.js";
import { CarrierError, LetterTooLargeError } from "./errors.js";
import { QUEUE_LIMITS } from "./limits.js";

/** What {@link jetstream} is given. */
export interface JetStreamOptions {
  /** Where the servers are, such as `127.0.0.1:4222`. */
  readonly servers: string | readonly string[];
  /** Streams and subjects have names that begin so. Default `signalbox`. */
  readonly prefix?: string;
  /** How long the server may take to answer, in milliseconds, before it is asked again. Default 5,000. */
  readonly answerMs?: number;
  /** How many servers of a cluster keep each stream. Default 1. */
  readonly replicas?: number;
  /** Passed on to the client: credentials, TLS. */
  readonly connection?: Omit<NodeConnectionOptions, "servers" | "maxReconnectAttempts" | "reconnect">;
}

const VERSIONS = "^3.4.0";
/** The wait before a connection is tried again. */
const RECONNECT_MS = 250;
/** How long a server waits for an acknowledgement before it delivers again. Nothing depends on it: the store decides. */
const ACK_WAIT_NS = 10_000_000_000;
/** Most letters that are delivered and not acknowledged, over all subscribers of a queue. */
const MOST_UNACKED = 100_000;
/** Bytes that a server counts besides the body: subject and headers. */
const OVERHEAD_BYTES = 1_024;

interface Packages {
  readonly transport: typeof import("@nats-io/transport-node");
  readonly jetstream: typeof import("@nats-io/jetstream");
}

/** Loads the client. @throws PackageMissingError */
export async function loadNats(
  load: () => Promise<Packages> = async () => ({
    transport: await import("@nats-io/transport-node"),
    jetstream: await import("@nats-io/jetstream"),
  }),
): Promise<Packages> {
  try {
    return await load();
  } catch (error) {
    const names = "@nats-io/transport-node @nats-io/jetstream";
    throw new PackageMissingError(names, VERSIONS, "a queue over JetStream", error);
  }
}

/**
 * NATS JetStream, for queues whose messages it is to carry. The store still decides: it holds the messages, drops duplicates, delays, and
 * counts attempts.
 *
 * @throws OptionError
 */
export function jetstream(options: JetStreamOptions): CarrierSource {
  only("", options, ["servers", "prefix", "answerMs", "replicas", "connection"]);
  const { servers, prefix = "signalbox", answerMs = 5_000, replicas = 1, connection = {} } = options;
  const all = (Array.isArray(servers) ? servers : [servers]).map((one, i) => text(`servers[${i}]`, one));
  const settings: Settings = {
    servers: all,
    prefix: text("prefix", prefix),
    answerMs: delay("answerMs", answerMs, 1),
    replicas: count("replicas", replicas, 1),
    connection,
  };
  const label = `JetStream at ${all.join(", ")}`;
  return { label, open: async (context) => JetStream.connect(label, settings, context, await loadNats()) };
}

interface Settings {
  readonly servers: string[];
  readonly prefix: string;
  readonly answerMs: number;
  readonly replicas: number;
  readonly connection: object;
}

class JetStream implements Carrier {
  readonly label: string;
  readonly #settings: Settings;
  readonly #context: CarrierContext;
  readonly #packages: Packages;
  readonly #connection: NatsConnection;
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;
  /** Streams that are there, as far as this process knows. */
  readonly #ready = new Map<string, Promise<void>>();

  private constructor(
    of: Pick<JetStream, "label">,
    settings: Settings,
    context: CarrierContext,
    packages: Packages,
    connection: NatsConnection,
    manager: JetStreamManager,
  ) {
    this.label = of.label;
    this.#settings = settings;
    this.#context = context;
    this.#packages = packages;
    this.#connection = connection;
    this.#manager = manager;
    this.#client = packages.jetstream.jetstream(connection, { timeout: settings.answerMs });
  }

  static async connect(
    label: string,
    settings: Settings,
    context: CarrierContext,
    packages: Packages,
  ): Promise<JetStream> {
    let connection: NatsConnection | undefined;
    try {
      connection = await packages.transport.connect({
        ...settings.connection,
        servers: settings.servers,
        timeout: settings.answerMs,
        maxReconnectAttempts: -1,
        reconnectTimeWait: RECONNECT_MS,
        ignoreAuthErrorAbort: true,
      });
      const manager = await packages.jetstream.jetstreamManager(connection, { timeout: settings.answerMs });
      return new JetStream({ label }, settings, context, packages, connection, manager);
    } catch (error) {
      await connection?.close();
      throw new CarrierError(label, "cannot be used", error);
    }
  }

  get limitBytes(): number {
    return (this.#connection.info?.max_payload ?? 0) - OVERHEAD_BYTES;
  }

  async publish(queue: string, letters: readonly Letter[]): Promise<void> {
    const { limitBytes } = this;
    const encoder = new TextEncoder();
    const bodies = letters.map(({ body }) => encoder.encode(body));
    for (const { length } of bodies)
      if (length > limitBytes) throw new LetterTooLargeError(this.label, queue, length, limitBytes);
    try {
      await this.#stream(queue);
      const subject = this.#subject(queue);
      const sent = letters.map(({ id }, i) =>
        this.#client.publish(subject, bodies[i] as Uint8Array, { msgID: id }),
      );
      const failed = (await Promise.allSettled(sent)).find((one) => one.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    } catch (error) {
      // The stream may be gone: it is made again before the next publication.
      this.#ready.delete(queue);
      throw new CarrierError(this.label, "did not confirm a publication", error);
    }
  }

  async consume(
    queue: string,
    prefetch: number,
    deliver: (delivery: CarrierDelivery) => Promise<void>,
  ): Promise<Consumption> {
    const consuming = new Consuming(
      () => this.#messages(queue, prefetch),
      (message) => deliver(this.#delivery(message)),
      this.#context,
    );
    void consuming.run();
    return consuming;
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  #delivery(message: JsMsg): CarrierDelivery {
    return {
      body: message.string(),
      ack: async () => {
        const isConfirmed = await message.ackAck({ timeout: this.#settings.answerMs });
        if (!isConfirmed) throw new CarrierError(this.label, "did not confirm an acknowledgement", undefined);
      },
      nak: (delayMs) => message.nak(delayMs),
    };
  }

  async #messages(queue: string, prefetch: number): Promise<ConsumerMessages> {
    // Another process, or an administrator, may have removed it.
    this.#ready.delete(queue);
    await this.#stream(queue);
    const consumer = await this.#client.consumers.get(this.#name(queue), CONSUMER);
    return consumer.consume({ max_messages: prefetch, abort_on_missing_resource: true });
  }

  /** Makes the stream of a queue and its consumer, unless they are there. */
  #stream(queue: string): Promise<void> {
    const known = this.#ready.get(queue);
    if (known !== undefined) return known;
    const made = this.#make(queue);
    this.#ready.set(queue, made);
    made.catch(() => this.#ready.delete(queue));
    return made;
  }

  async #make(queue: string): Promise<void> {
    const { RetentionPolicy, StorageType, AckPolicy, JetStreamApiError } = this.#packages.jetstream;
    const name = this.#name(queue);
    const isThere = await this.#manager.streams.info(name).then(
      () => true,
      (error: unknown) => {
        if (error instanceof JetStreamApiError && error.code === NO_STREAM) return false;
        throw error;
      },
    );
    if (!isThere)
      await this.#manager.streams.add({
        name,
        subjects: [this.#subject(queue)],
        retention: RetentionPolicy.Workqueue,
        storage: StorageType.File,
        num_replicas: this.#settings.replicas,
      });
    await this.#manager.consumers.add(name, {
      durable_name: CONSUMER,
      ack_policy: AckPolicy.Explicit,
      ack_wait: ACK_WAIT_NS,
      max_ack_pending: MOST_UNACKED,
      max_deliver: -1,
    });
    if (!isThere) this.#context.forgotten(queue);
  }

  #name(queue: string): string {
    return `${this.#settings.prefix}_${queue}`;
  }

  #subject(queue: string): string {
    return `${this.#settings.prefix}.${queue}`;
  }
}

const CONSUMER = "subscribers";
/** The code of JetStream for a stream that is not there. */
const NO_STREAM = 10_059;

/** One consumption, which is begun again whenever it ends, until it is closed. */
class Consuming implements Consumption {
  readonly #open: () => Promise<ConsumerMessages>;
  readonly #deliver: (message: JsMsg) => Promise<void>;
  readonly #context: CarrierContext;
  #messages: ConsumerMessages | undefined;
  #isClosed = false;

  constructor(
    open: () => Promise<ConsumerMessages>,
    deliver: (message: JsMsg) => Promise<void>,
    context: CarrierContext,
  ) {
    this.#open = open;
    this.#deliver = deliver;
    this.#context = context;
  }

  async run(): Promise<void> {
    for (let failures = 1; !this.#isClosed; failures++) {
      try {
        const messages = await this.#open();
        this.#messages = messages;
        if (this.#isClosed) messages.stop();
        for await (const message of messages) {
          failures = 0;
          if (this.#isClosed) message.nak();
          else await this.#deliver(message);
        }
      } catch {
        // The server is away, or has lost the stream: tried again below.
      }
      if (!this.#isClosed) await this.#pause(failures);
    }
  }

  #pause(failures: number): Promise<void> {
    const { environment, after } = this.#context;
    return new Promise((resolve) =>
      after(backoffMs(QUEUE_LIMITS.again, failures, environment.random()), resolve),
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#messages?.stop();
  }
}
