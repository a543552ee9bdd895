// The observer as a handler in the style of fetch, for a server that you have already.

import type { Kernel } from "../process/kernel.js";
import { kernelOf } from "../process/options.js";
import type { Pid } from "../process/pid.js";
import { toReason } from "../process/reason.js";
import { startAwaited } from "../process/start.js";
import type { ProcessSystem } from "../process/system.js";
import { checkRequest } from "../service/telemetry/check-request.js";
import { FeedDesk } from "./feed/desk.js";
import { ObserverBusyError } from "./feed/errors.js";
import type { FeedMessage } from "./feed/feed-process.js";
import { OBSERVER_LIMITS } from "./feed/limits.js";
import { sourceIn } from "./feed/source.js";
import { checkAccess, type ObserverAccessOptions } from "./options.js";
import { builtPage } from "./server/page.js";
import { failed, ObserverRequests } from "./server/requests.js";

/** The observer of one system as a handler. Made by {@link observerHandler}. */
export class ObserverHandler {
  /** What requests need. A page finds it in the fragment of its address: `/observer/#token=…`. */
  readonly token: string;
  readonly #kernel: Kernel;
  readonly #desk: FeedDesk;
  readonly #requests: ObserverRequests;
  #feed: Pid<FeedMessage> | undefined;
  #starting: Promise<void> | undefined;
  #isDisposed = false;

  /** @internal */
  constructor(kernel: Kernel, options: ObserverAccessOptions) {
    const { token = kernel.env.id(), actions, hosts } = checkAccess(options);
    const limits = OBSERVER_LIMITS;
    this.token = token;
    this.#kernel = kernel;
    this.#desk = new FeedDesk(limits, sourceIn);
    const rules = { token, hosts, addresses: false, bodyBytes: limits.bodyBytes };
    this.#requests = new ObserverRequests(this.#desk, builtPage, { rules, actions, limits });
  }

  /**
   * Answers a request, at whatever path it is mounted.
   *
   * @param context - the second argument of a handler of `httpServer`: live views end when that server drains. Others are ignored
   * @throws OptionError when it is no request
   */
  readonly fetch = async (request: Request, context?: unknown): Promise<Response> => {
    checkRequest(request);
    try {
      await this.#begun();
    } catch (error) {
      // A page asks again and again, and would keep its connection, and with it a server that stops.
      return failed(error, { connection: "close" });
    }
    const { draining } = (context ?? {}) as { readonly draining?: unknown };
    return this.#requests.answer(request, draining instanceof AbortSignal ? { draining } : {});
  };

  /**
   * Ends the live views, and what is kept for them. Later requests get 503. Call it when the server stops, which waits for open views otherwise.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await this.#starting?.catch(() => undefined);
    const { links, outside } = this.#kernel;
    if (this.#feed !== undefined) links.exit(outside, this.#feed, toReason("shutdown"), "exit");
  }

  /** The process of the feed is started with the first request, and again after a crash. */
  async #begun(): Promise<void> {
    if (this.#isDisposed) throw new ObserverBusyError("this observer has ended");
    if (this.#feed?.process !== undefined) return;
    this.#starting ??= startAwaited(this.#kernel, undefined, this.#desk.feed(), [], undefined)
      .then((pid) => {
        this.#feed = pid;
      })
      .finally(() => {
        this.#starting = undefined;
      });
    await this.#starting;
  }
}

/**
 * The observer of a system as a handler in the style of fetch, for a server that you have already: Hono, Fastify, Express, or an `httpServer` of
 * yours. It may be mounted at any path, and answers what is below that. Everything but the page itself needs its token.
 *
 * The server decides who reaches it. Requests for hosts other than `localhost` are refused unless `hosts` lists them.
 *
 * @throws OptionError
 * @example
 * const handler = observerHandler(system, { hosts: ["ops.example.com"] });
 * const answer = await handler.fetch(new Request("http://localhost/observer/"));
 */
export function observerHandler(system: ProcessSystem, options: ObserverAccessOptions = {}): ObserverHandler {
  return new ObserverHandler(kernelOf(system), options);
}
