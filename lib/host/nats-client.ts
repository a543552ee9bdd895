// The client of NATS: its packages, which are optional peers, and the options with which it connects. Nodes, leases and queues use it.

import type { NatsConnection } from "@nats-io/transport-node";
import { OptionError } from "../process/errors.js";
import { text } from "../process/options.js";
import { PackageMissingError } from "../process/package-missing.js";

export type Transport = typeof import("@nats-io/transport-node");

/** The packages of the client with JetStream. */
export interface JetStreamPackages {
  readonly transport: Transport;
  readonly jetstream: typeof import("@nats-io/jetstream");
}

/** To whom a client connects, and how. */
export interface NatsSettings {
  readonly servers: string[];
  /** How long a server may take to answer. */
  readonly answerMs: number;
  /** Options of the client that the user gave: credentials, TLS and others. */
  readonly connection: object;
}

const VERSIONS = "^3.4.0";
/** The wait before a connection is tried again, unless `connection.reconnectTimeWait` says otherwise. */
const RECONNECT_MS = 250;
/** How often the client pings the server. After two pings without an answer it connects again. */
const PING_MS = 2_000;

/**
 * Loads the client.
 *
 * @param purpose - what needs it, for the error
 * @throws PackageMissingError
 */
export function loadTransport(
  purpose: string,
  load: () => Promise<Transport> = () => import("@nats-io/transport-node"),
): Promise<Transport> {
  return loaded("@nats-io/transport-node", purpose, load);
}

/**
 * Loads the client with JetStream.
 *
 * @param purpose - what needs it, for the error
 * @throws PackageMissingError
 */
export function loadJetStream(
  purpose: string,
  load: () => Promise<JetStreamPackages> = async () => ({
    transport: await import("@nats-io/transport-node"),
    jetstream: await import("@nats-io/jetstream"),
  }),
): Promise<JetStreamPackages> {
  return loaded("@nats-io/transport-node @nats-io/jetstream", purpose, load);
}

async function loaded<T>(names: string, purpose: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw new PackageMissingError(names, VERSIONS, purpose, error);
  }
}

/**
 * Connects to the first server that answers. A connection that is lost is made again, for ever: the client by itself gives up after ten
 * attempts, and at once when a server refuses its credentials, which may happen while an administrator changes them.
 *
 * @param name - of the connection, for the administrator of the server
 */
export function connectNats(
  { connect }: Transport,
  { servers, answerMs, connection }: NatsSettings,
  name?: string,
): Promise<NatsConnection> {
  return connect({
    ...(name !== undefined && { name }),
    reconnectTimeWait: RECONNECT_MS,
    pingInterval: PING_MS,
    noAsyncTraces: true,
    ...connection,
    servers,
    timeout: answerMs,
    maxReconnectAttempts: -1,
    ignoreAuthErrorAbort: true,
  });
}

/** The option `servers`: one address or several. @throws OptionError */
export function natsServers(path: string, given: unknown): string[] {
  const all = (Array.isArray(given) ? given : [given]).map((one, i) => text(`${path}[${i}]`, one));
  if (all.length === 0) throw new OptionError(path, given, "the address of a server, or several");
  return all;
}

/** The option `connection`, which is passed on to the client. @throws OptionError */
export function clientOptions(path: string, given: unknown): object {
  if (typeof given === "object" && given !== null && !Array.isArray(given)) return given;
  throw new OptionError(path, given, "an object of options of @nats-io/transport-node");
}
