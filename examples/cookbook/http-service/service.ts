// The whole service: its processes in the order of their start, which is the reverse order of their stop, and all limits.

import { type SupervisorRef, supervisor } from "signalbox";
import { httpServer, type RunOptions, run, type Service } from "signalbox/service";
import { Journal, type Log } from "./journal.js";
import { type Pay, routes } from "./routes.js";

export interface ShopOptions {
  /** For orders. 0: a free port. */
  readonly port: number;
  /** For the probes of the platform. Not to be reached from outside. */
  readonly healthPort: number;
  readonly host?: string;
  /** More requests at a time are answered with 503 at once. Default 500. */
  readonly maxInFlight?: number;
  readonly pay: Pay;
  readonly openLog: () => Promise<Log>;
  readonly onListening?: (name: "health" | "http", url: string) => void;
}

/** Starts the service. @param options - for `run`: other limits, and what a test needs */
export function startShop(
  shop: ShopOptions,
  options: Omit<RunOptions, "config"> = {},
): Service<SupervisorRef> {
  const { host = "0.0.0.0", maxInFlight = 500, onListening } = shop;
  const listen = (name: "health" | "http", port: number) => ({
    port,
    host,
    label: name,
    onListening: (at: { readonly port: number }) => onListening?.(name, `http://${host}:${at.port}`),
  });
  return run(
    (_config, { system, health }) =>
      supervisor({
        children: [
          // Stops last: it answers "not ready" until nothing else is left.
          { id: "health", start: httpServer(health, listen("health", shop.healthPort)) },
          { id: "journal", name: "journal", start: Journal, args: [shop.openLog] },
          // Stops first. Requests in flight have 15 s to end; then they are cut off.
          {
            id: "http",
            start: httpServer(routes(Journal.at(system, "journal"), shop.pay), {
              ...listen("http", shop.port),
              maxInFlight,
            }),
            shutdown: 15_000,
          },
        ],
      }),
    {
      name: "shop",
      drainDelayMs: 5_000, // not ready, but serving, until the load balancer has noticed
      drainTimeoutMs: 25_000, // more than all the rest; the platform's own limit is longer still
      ...options,
    },
  );
}
