// An HTTP server as a supervised process. Each request is a process of its own, linked to the server's.

import { OptionError } from "../../process/errors.js";
import type { Kernel } from "../../process/kernel.js";
import { checked, fn, maybe, whole } from "../../process/option-schema.js";
import { kernelOf, text } from "../../process/options.js";
import { Pid } from "../../process/pid.js";
import type { CallOptions } from "../../process/request.js";
import { type Launch, launch, type Startable } from "../../process/start.js";
import type { ProcessSystem } from "../../process/system.js";
import { type HttpMessage, httpBehaviour } from "./http-process.js";
import {
  type CreateServer,
  createHttpServer,
  type HttpAddress,
  type IncomingMessage,
  type ServerOptions,
  type ServerResponse,
} from "./node-http.js";
import type { RequestContext } from "./request-process.js";

/** A request handler in the style of Node: Express, `getRequestListener` of @hono/node-server, or your own. */
export type NodeListener = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  context: RequestContext,
) => unknown;

/** A request handler in the style of fetch: a Hono app, for instance, or an object of your own. */
export interface FetchHandler {
  /** Answers a request. */
  fetch(request: Request, context: RequestContext): Response | Promise<Response>;
}

/** Options of an HTTP server. */
export interface HttpServerOptions {
  /** The port. 0 lets the operating system choose: see `onListening`. */
  readonly port: number;
  /** The address to listen at, such as `127.0.0.1`. Default: all addresses of the machine. */
  readonly host?: string;
  /** How many requests may be in flight. Further ones are answered with 503. Default 10,000. */
  readonly maxInFlight?: number;
  /**
   * How many bytes the body of a request may have. A longer one is answered with 413. A listener of Node gets no request whose
   * `content-length` says that its body is longer; it bounds other bodies itself. Default 1,048,576, a mebibyte.
   */
  readonly maxBodyBytes?: number;
  /** Options of Node's server, such as `requestTimeout` and `maxHeaderSize`. */
  readonly server?: ServerOptions;
  /** Makes the server. Default: `createServer` of node:http. Pass that of node:https together with `server: { key, cert }`. */
  readonly createServer?: CreateServer;
  /** Called when the server listens. */
  readonly onListening?: (address: HttpAddress) => void;
  /** The name of the server in reports. Default `http server`. */
  readonly label?: string;
}

/** The defaults of an HTTP server. */
export const HTTP_DEFAULTS: {
  /** How many requests may be in flight. */
  readonly maxInFlight: number;
  /** How many bytes the body of a request may have. */
  readonly maxBodyBytes: number;
} = { maxInFlight: 10_000, maxBodyBytes: 1_048_576 };

/** The handle of a running HTTP server. */
export class HttpServerRef {
  readonly #address: Pid<HttpMessage> | string;
  readonly #kernel: Kernel;

  /** @internal */
  constructor(address: Pid<never> | string, kernel: Kernel) {
    this.#address = address as Pid<HttpMessage> | string;
    this.#kernel = kernel;
  }

  /** Where the server listens. @throws CalleeExitedError when it does not run */
  address(options?: CallOptions): Promise<HttpAddress> {
    return this.#kernel.calls.call(
      undefined,
      this.#address,
      (replyTo): HttpMessage => ({ type: "address", replyTo }),
      options,
    );
  }

  /** The pid or the name of the server's process. */
  toString(): string {
    return String(this.#address);
  }
}

/** The result of `httpServer()`: a child of a supervisor, or the tree of a service. */
export interface HttpServerDefinition extends Startable<readonly [], HttpServerRef> {
  /** A handle of a running HTTP server, by its pid or by its registered name. @throws OptionError */
  at(system: ProcessSystem, address: Pid | string): HttpServerRef;
}

/**
 * Defines an HTTP server as a process for a supervisor. It has started when it listens; a port that is taken is a failed start. Each
 * request is a process: an error in a handler is reported and answered with 500, and the other requests go on.
 *
 * When the server stops, it accepts no more connections, closes idle ones, and lets the requests in flight end. It has the
 * `shutdown` time of its child spec for that (5,000 ms unless given); then the supervisor kills it, and the connections are closed.
 *
 * @param handler - an object with `fetch(request)`, such as a Hono app; or a listener of Node, such as an Express app
 * @throws OptionError
 * @example
 * const hello = { fetch: (request: Request) => new Response(`you asked for ${new URL(request.url).pathname}`) };
 * const Web = supervisor({ children: [{ id: "http", start: httpServer(hello, { port: 8080 }), shutdown: 20_000 }] });
 */
export function httpServer(
  handler: FetchHandler | NodeListener,
  options: HttpServerOptions,
): HttpServerDefinition {
  return definition(handler, options, false);
}

/** @internal The same for a server of the library's own: telemetry does not follow its requests. */
export function helperServer(
  handler: FetchHandler | NodeListener,
  options: HttpServerOptions,
): HttpServerDefinition {
  return definition(handler, options, true);
}

function definition(
  handler: FetchHandler | NodeListener,
  options: HttpServerOptions,
  isHelper: boolean,
): HttpServerDefinition {
  const { label, ...settings } = checked("", options, CHECKS, DEFAULTS);
  const handle = checkHandler(handler);
  const config = { handle, isHelper, ...settings };
  return {
    at: (system, address) => {
      if (address instanceof Pid || (typeof address === "string" && address !== ""))
        return new HttpServerRef(address, kernelOf(system));
      throw new OptionError(
        "address",
        address,
        "the pid of an HTTP server, or the name it is registered under",
      );
    },
    [launch]: (): Launch<HttpServerRef> => ({
      behaviour: httpBehaviour(config),
      options: { label, trapExit: true },
      ref: (pid, kernel) => new HttpServerRef(pid, kernel),
    }),
  };
}

const CHECKS = {
  port: whole(0, 65_535),
  host: maybe(text),
  maxInFlight: whole(1, Number.POSITIVE_INFINITY),
  maxBodyBytes: whole(0, Number.POSITIVE_INFINITY),
  server: (path: string, given: unknown) => {
    if (typeof given === "object" && given !== null) return given;
    throw new OptionError(path, given, "an object of options of Node's HTTP server");
  },
  createServer: fn<NonNullable<HttpServerOptions["createServer"]>>(),
  onListening: maybe(fn<NonNullable<HttpServerOptions["onListening"]>>()),
  label: text,
};
const DEFAULTS = { ...HTTP_DEFAULTS, server: {}, createServer: createHttpServer, label: "http server" };

function checkHandler(handler: FetchHandler | NodeListener): FetchHandler | NodeListener {
  if (typeof handler === "function" || typeof handler?.fetch === "function") return handler;
  throw new OptionError(
    "handler",
    handler,
    "an object with fetch(request), or a listener (incoming, outgoing)",
  );
}
