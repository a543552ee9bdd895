// An observer as a child of a supervisor: a feed and a server under a supervisor of their own, so that a crash of either is no crash of the service.

import type { Context } from "../process/context.js";
import type { Kernel } from "../process/kernel.js";
import type { Process } from "../process/process.js";
import { type Launch, launch, type Startable, supervising } from "../process/start.js";
import { helperServer } from "../service/http/http-server.js";
import type { HttpAddress } from "../service/http/node-http.js";
import { supervisor } from "../supervisor/supervisor.js";
import { FeedDesk } from "./feed/desk.js";
import { OBSERVER_LIMITS } from "./feed/limits.js";
import { type ObserverSource, sourceIn } from "./feed/source.js";
import {
  checkObserver,
  type ObserverAddress,
  type ObserverOptions,
  type ObserverSettings,
} from "./options.js";
import { isLoopback } from "./server/guard.js";
import { builtPage } from "./server/page.js";
import { ObserverRequests } from "./server/requests.js";
import { spansKept } from "./spans.js";

/** The handle of a running observer. */
export class ObserverRef {
  readonly #address: () => ObserverAddress | undefined;

  /** @internal */
  constructor(address: () => ObserverAddress | undefined) {
    this.#address = address;
  }

  /** Where the observer is open. Undefined while its server is being restarted. */
  get address(): ObserverAddress | undefined {
    return this.#address();
  }
}

/** The result of {@link observer}: a child of a supervisor. */
export interface ObserverDefinition extends Startable<readonly [], ObserverRef> {
  readonly [supervising]: true;
}

/**
 * A web page that shows a running system: what went wrong and why, the supervision tree, processes, topologies, durable flows, pipelines and queues.
 * It has started when it listens. Without `actions: true` it only shows. A crash of the observer is a crash of this child alone.
 *
 * Other machines cannot reach it unless you say so: see `host`, `token` and `hosts`.
 *
 * @throws OptionError
 * @example
 * const Shop = supervisor({ children: [{ id: "observer", start: observer({ port: 4_000 }) }] });
 */
export function observer(options: ObserverOptions): ObserverDefinition {
  return observerOf(options, sourceIn);
}

/** An observer of anything that has these operations. @throws OptionError */
export function observerOf(
  options: ObserverOptions,
  sourceOf: (kernel: Kernel) => ObserverSource,
): ObserverDefinition {
  const settings = checkObserver(options);
  return {
    [supervising]: true,
    [launch]: (): Launch<ObserverRef> => launched(settings, sourceOf),
  };
}

/** Each start has its own desk and its own token. */
function launched(
  settings: ObserverSettings,
  sourceOf: (kernel: Kernel) => ObserverSource,
): Launch<ObserverRef> {
  const limits = OBSERVER_LIMITS;
  const desk = new FeedDesk(limits, sourceOf);
  const running: { kernel?: Kernel; requests?: ObserverRequests; token?: string; address?: ObserverAddress } =
    {};
  const server = helperServer(
    {
      fetch: (request, { draining, incoming }) => {
        // The supervisor has made them before its children start.
        const requests = running.requests as ObserverRequests;
        return requests.answer(request, { draining, host: incoming.headers.host });
      },
    },
    {
      ...{ port: settings.port, host: settings.host, label: "server", maxBodyBytes: limits.bodyBytes },
      maxInFlight: limits.viewers + 2 * limits.asks,
      ...(settings.server && { server: settings.server }),
      ...(settings.createServer && { createServer: settings.createServer }),
      onListening: (at) => {
        running.address = addressOf(at, running.token as string, settings);
        announce(running.kernel as Kernel, running.address, settings);
      },
    },
  );
  const onStart = ({ self }: Context<never>): void => {
    const { kernel } = self.process as Process;
    const token = settings.token ?? kernel.env.id();
    const { hosts, actions, host } = settings;
    const rules = { token, hosts, addresses: !isLoopback(host), bodyBytes: limits.bodyBytes };
    const requests = new ObserverRequests(desk, builtPage, { rules, actions, limits });
    Object.assign(running, { kernel, requests, token });
  };
  const children = [
    ...(settings.traces ? [{ id: "spans", start: spansKept() } as const] : []),
    { id: "feed", start: desk.feed() },
    { id: "server", start: server },
  ] as const;
  const { behaviour, options } = supervisor({ children, label: "observer", onStart })[launch]([]);
  return { behaviour, ...(options && { options }), ref: () => new ObserverRef(() => running.address) };
}

function addressOf(
  { host, port }: HttpAddress,
  token: string,
  { server }: ObserverSettings,
): ObserverAddress {
  // An address of all interfaces is none that a browser opens.
  const name = ["0.0.0.0", "::"].includes(host) ? "localhost" : host.includes(":") ? `[${host}]` : host;
  const scheme = server !== undefined && ("key" in server || "pfx" in server) ? "https" : "http";
  return { url: `${scheme}://${name}:${port}/#token=${token}`, host, port, token };
}

function announce(kernel: Kernel, address: ObserverAddress, { token, onListening }: ObserverSettings): void {
  if (onListening !== undefined) {
    onListening(address);
    return;
  }
  const { name } = kernel.node;
  // A token of the user's is known to the user, and stays out of logs.
  const url = token === undefined ? address.url : address.url.replace(/#.*/, "#token=…");
  const text = `the observer of ${name} is open at ${url}`;
  kernel.reports.write({ level: "info", event: "observer", path: name, text });
}
