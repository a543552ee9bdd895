// NATS JetStream as the carrier of queues, by the packages of @nats-io (optional peers). Each channel is a stream of its own with one
// durable consumer. Facts that shape this file: an acknowledgement counts when the server has confirmed it; it names a stream, a consumer
// and a place in the stream, so if a stream is lost and its name is used again, an old acknowledgement settles the message that has the
// place now; a publication that timed out may be stored; the client gives up after ten attempts to reconnect unless it is configured to go
// on; a consumer that was deleted ends no iterator unless that is asked for.

import type {
  ConsumerInfo,
  ConsumerMessages,
  JetStreamClient,
  JetStreamManager,
  JsMsg,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import {
  clientOptions,
  connectNats,
  type JetStreamPackages,
  loadJetStream,
  type NatsSettings,
  natsServers,
} from "../../host/nats-client.js";
import { backoffMs } from "../../process/backoff.js";
import { only } from "../../process/known-options.js";
import { count, delay } from "../../process/options.js";
import { checkName } from "../definition/queue.js";
import type {
  Carrier,
  CarrierContext,
  CarrierDelivery,
  CarrierSource,
  Consumption,
  Letter,
} from "./carrier.js";
import { CarrierError, ChannelGoneError, LetterTooLargeError } from "./errors.js";
import { MESSAGE_LIMITS } from "./limits.js";

/** What {@link jetstream} is given. */
export interface JetStreamOptions {
  /** Where the servers are, such as `127.0.0.1:4222`. */
  readonly servers: string | readonly string[];
  /** Streams and subjects have names that begin so: letters, digits, `_` and `-`, a letter first. Default `signalbox`. */
  readonly prefix?: string;
  /** How long the server may take to answer, in milliseconds, before it is asked again. Default 5,000. */
  readonly answerMs?: number;
  /** How many servers of a cluster keep each stream. Default 1. */
  readonly replicas?: number;
  /**
   * Passed on to the client: credentials, TLS, and all else that `NodeConnectionOptions` of `@nats-io/transport-node` has. Servers and
   * reconnecting are not to be set here. Its type is not that one: programs without JetStream do not have the package.
   */
  readonly connection?: object;
}

/** How long a server waits for an acknowledgement before it delivers again. Nothing depends on it: the store decides. */
const ACK_WAIT_NS = 2_000_000_000;
/** Most letters that are delivered and not acknowledged, over all subscribers of a queue. */
const MOST_UNACKED = 100_000;
/** Bytes that a server counts besides the body: subject and headers. */
const OVERHEAD_BYTES = 1_024;

/**
 * NATS JetStream, for queues whose messages it is to carry. The store still decides: it holds the messages, drops duplicates, delays, and
 * counts attempts. It needs the packages `@nats-io/transport-node` and `@nats-io/jetstream`, version 3.4, and a server of version 2.9 or
 * later with JetStream. A connection that is lost is made again, for ever.
 *
 * @throws OptionError
 * @example
 * const carrier = jetstream({ servers: "127.0.0.1:4222" });
 * const queues = await openQueues(system, { store: memory(), carrier });
 * await queues.queue<string>("orders").publish("lamp");
 */
export function jetstream(options: JetStreamOptions): CarrierSource {
  only("", options, ["servers", "prefix", "answerMs", "replicas", "connection"]);
  const { servers, prefix = "signalbox", answerMs = 5_000, replicas = 1, connection = {} } = options;
  const settings: Settings = {
    servers: natsServers("servers", servers),
    prefix: checkName("prefix", prefix),
    answerMs: delay("answerMs", answerMs, 1),
    replicas: count("replicas", replicas, 1),
    connection: clientOptions("connection", connection),
  };
  const label = `JetStream at ${settings.servers.join(", ")}`;
  const load = (): Promise<JetStreamPackages> => loadJetStream("a queue over JetStream");
  return { label, open: async (context) => JetStream.connect(label, settings, context, await load()) };
}

interface Settings extends NatsSettings {
  readonly prefix: string;
  readonly replicas: number;
}

class JetStream implements Carrier {
  readonly label: string;
  readonly #settings: Settings;
  readonly #context: CarrierContext;
  readonly #packages: JetStreamPackages;
  readonly #connection: NatsConnection;
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;

  private constructor(
    of: Pick<JetStream, "label">,
    settings: Settings,
    context: CarrierContext,
    packages: JetStreamPackages,
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
    packages: JetStreamPackages,
  ): Promise<JetStream> {
    let connection: NatsConnection | undefined;
    try {
      connection = await connectNats(packages.transport, settings);
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

  async make(channel: string): Promise<void> {
    const { RetentionPolicy, StorageType } = this.#packages.jetstream;
    const name = this.#name(channel);
    await this.#ask("made no channel", channel, async () => {
      await this.#manager.streams.add({
        name,
        subjects: [this.#subject(channel)],
        retention: RetentionPolicy.Workqueue,
        storage: StorageType.File,
        num_replicas: this.#settings.replicas,
      });
      await this.#addConsumer(name);
    });
  }

  async remove(channel: string): Promise<void> {
    await this.#ask("removed no channel", channel, () =>
      this.#manager.streams.delete(this.#name(channel)),
    ).catch((error: unknown) => {
      if (!(error instanceof ChannelGoneError)) throw error;
    });
  }

  async publish(channel: string, letters: readonly Letter[]): Promise<void> {
    const { limitBytes } = this;
    const encoder = new TextEncoder();
    const bodies = letters.map(({ body }) => encoder.encode(body));
    for (const { length } of bodies)
      if (length > limitBytes) throw new LetterTooLargeError(this.label, channel, length, limitBytes);
    const subject = this.#subject(channel);
    const sent = letters.map(({ id }, i) =>
      this.#client.publish(subject, bodies[i] as Uint8Array, { msgID: id }),
    );
    const failed = (await Promise.allSettled(sent)).find((one) => one.status === "rejected");
    if (failed === undefined) return;
    // A subject that no stream listens to is no answer of JetStream: it may be that the server has just begun.
    await this.#ask("did not answer", channel, () => this.#manager.streams.info(this.#name(channel)));
    throw new CarrierError(this.label, "did not confirm a publication", failed.reason);
  }

  consume(
    channel: string,
    prefetch: number,
    deliver: (delivery: CarrierDelivery) => Promise<void>,
    gone: () => void,
  ): Consumption {
    const consuming = new Consuming(
      () => this.#messages(channel, prefetch),
      (message) => deliver(deliveryOf(message)),
      this.#context,
    );
    void consuming.run(gone);
    return consuming;
  }

  async isEmpty(channel: string): Promise<boolean> {
    const name = this.#name(channel);
    const { num_pending, num_ack_pending } = await this.#ask("did not answer", channel, () =>
      // Made again, if an administrator has removed it.
      this.#addConsumer(name),
    );
    return num_pending === 0 && num_ack_pending === 0;
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async #messages(channel: string, prefetch: number): Promise<ConsumerMessages> {
    const name = this.#name(channel);
    return this.#ask("delivers nothing", channel, async () => {
      // An administrator may have removed it.
      await this.#addConsumer(name);
      const consumer = await this.#client.consumers.get(name, CONSUMER);
      return consumer.consume({ max_messages: prefetch, abort_on_missing_resource: true });
    });
  }

  #addConsumer(stream: string): Promise<ConsumerInfo> {
    return this.#manager.consumers.add(stream, {
      durable_name: CONSUMER,
      ack_policy: this.#packages.jetstream.AckPolicy.Explicit,
      ack_wait: ACK_WAIT_NS,
      max_ack_pending: MOST_UNACKED,
      max_deliver: -1,
    });
  }

  /** @throws ChannelGoneError, CarrierError */
  async #ask<T>(failure: string, channel: string, request: () => Promise<T>): Promise<T> {
    const { JetStreamApiError } = this.#packages.jetstream;
    try {
      return await request();
    } catch (error) {
      const isGone = error instanceof JetStreamApiError && error.code === NO_STREAM;
      throw isGone ? new ChannelGoneError(this.label, channel) : new CarrierError(this.label, failure, error);
    }
  }

  #name(channel: string): string {
    return `${this.#settings.prefix}_${channel}`;
  }

  #subject(channel: string): string {
    return `${this.#settings.prefix}.${channel}`;
  }
}

/** @internal A message of the server as a delivery. */
export function deliveryOf(message: JsMsg): CarrierDelivery {
  return {
    body: message.string(),
    ackUnconfirmed: () => unlessClosed(() => message.ack()),
    nak: (delayMs) => unlessClosed(() => message.nak(delayMs)),
  };
}

/** The client throws once its connection is closed. Then the server delivers the message again. */
function unlessClosed(answer: () => void): void {
  try {
    answer();
  } catch {
    // As if the answer was lost.
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

  /** @param gone - called if there is no such stream */
  async run(gone: () => void): Promise<void> {
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
      } catch (error) {
        if (error instanceof ChannelGoneError && !this.#isClosed) {
          this.#isClosed = true;
          gone();
        }
        // Else the server is away: tried again below.
      }
      if (!this.#isClosed) await this.#pause(failures);
    }
  }

  #pause(failures: number): Promise<void> {
    const { environment, after } = this.#context;
    return new Promise((resolve) =>
      after(backoffMs(MESSAGE_LIMITS.again, failures, environment.random()), resolve),
    );
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#messages?.stop();
  }
}
