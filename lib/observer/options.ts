// The options of an observer, checked once.

import { OptionError } from "../process/errors.js";
import { checked, fn, maybe, whole } from "../process/option-schema.js";
import { flag, text } from "../process/options.js";
import type { CreateServer, ServerOptions } from "../service/http/node-http.js";
import { isLoopback } from "./server/guard.js";

/** Where an observer is open. */
export interface ObserverAddress {
  /** The address to open in a browser. It holds the token, in its fragment, which a browser does not send. */
  readonly url: string;
  /** The address at which the server listens, such as `127.0.0.1`. */
  readonly host: string;
  /** The port; the one that the operating system chose for port 0. */
  readonly port: number;
  /** What requests need: `authorization: Bearer <token>`. */
  readonly token: string;
}

/** What every observer may be told. */
export interface ObserverAccessOptions {
  /** What requests need: at least 16 characters of `A-Z a-z 0-9 . _ ~ -`. Default: a random one for each start. */
  readonly token?: string;
  /** Whether viewers may change things: suspend a process, cancel a flow. Each change emits the event `observerAction`. Default false. */
  readonly actions?: boolean;
  /**
   * Names by which the observer is reached beside `localhost` and the addresses of the loopback, such as `ops.example.com` or `ops.example.com:8443`.
   * A request for another one gets 403. Default: none.
   */
  readonly hosts?: readonly string[];
}

/** Options of {@link observer}. */
export interface ObserverOptions extends ObserverAccessOptions {
  /** The port. 0 lets the operating system choose: see `onListening`. */
  readonly port: number;
  /** The address to listen at. Default `127.0.0.1`, which this machine alone reaches; any other one needs a `token` of yours. */
  readonly host?: string;
  /**
   * Keeps the spans of messages all the time, so that the way of a message can be looked at later. It costs what telemetry with a subscriber costs.
   * Start the observer before what it is to follow. Default false: spans are kept while somebody looks at traces.
   */
  readonly traces?: boolean;
  /** Called when the observer is open. Default: the address is reported, with the token unless it is yours. */
  readonly onListening?: (address: ObserverAddress) => void;
  /** Options of Node's server, such as `key` and `cert`. */
  readonly server?: ServerOptions;
  /** Makes the server. Pass `createServer` of node:https for TLS. Default: that of node:http. */
  readonly createServer?: CreateServer;
}

const SHORTEST_TOKEN = 16;

function token(path: string, value: unknown): string {
  if (typeof value === "string" && value.length >= SHORTEST_TOKEN && /^[\w.~-]+$/.test(value)) return value;
  // The value stays out of the message: it may be most of a token.
  const got = typeof value === "string" ? `a text of ${value.length} characters` : value;
  throw new OptionError(path, got, `at least ${SHORTEST_TOKEN} characters of A-Z a-z 0-9 . _ ~ -`);
}

function hosts(path: string, value: unknown): readonly string[] {
  const isHost = (one: unknown): boolean =>
    typeof one === "string" && /^(?:[\w.-]+|\[?[\da-f:.]+\]?)(?::\d{1,5})?$/i.test(one);
  if (Array.isArray(value) && value.every(isHost)) return [...value] as string[];
  throw new OptionError(
    path,
    value,
    "a list of names of hosts, such as ops.example.com or ops.example.com:8443",
  );
}

const ACCESS = { token: maybe(token), actions: flag, hosts };
const ACCESS_DEFAULTS = { actions: false, hosts: [] as readonly string[] };

/** The options of access, checked. */
export interface ObserverAccess {
  readonly token: string | undefined;
  readonly actions: boolean;
  readonly hosts: readonly string[];
}

/** @throws OptionError */
export function checkAccess(options: ObserverAccessOptions): ObserverAccess {
  return checked("", options, ACCESS, ACCESS_DEFAULTS);
}

export interface ObserverSettings extends ObserverAccess {
  readonly port: number;
  readonly host: string;
  readonly traces: boolean;
  readonly onListening: ((address: ObserverAddress) => void) | undefined;
  readonly server: ServerOptions | undefined;
  readonly createServer: CreateServer | undefined;
}

/** @throws OptionError */
export function checkObserver(options: ObserverOptions): ObserverSettings {
  const settings = checked("", options, CHECKS, { ...ACCESS_DEFAULTS, host: "127.0.0.1", traces: false });
  if (settings.token === undefined && !isLoopback(settings.host))
    throw new OptionError(
      "token",
      undefined,
      `a text of yours, because the observer listens at ${settings.host}, which other machines may reach`,
    );
  return settings;
}

const CHECKS = {
  ...ACCESS,
  port: whole(0, 65_535),
  host: text,
  traces: flag,
  onListening: maybe(fn<NonNullable<ObserverOptions["onListening"]>>()),
  server: maybe((path: string, given: unknown): ServerOptions => {
    if (typeof given === "object" && given !== null) return given;
    throw new OptionError(path, given, "an object of options of Node's HTTP server");
  }),
  createServer: maybe(fn<CreateServer>()),
};
