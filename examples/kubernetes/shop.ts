// A service of durable flows for Kubernetes. Its manifests lie beside it, and docs/guide/kubernetes.md explains them.

import { type SupervisorDefinition, supervisor } from "signalbox";
import { defineFlow, type FlowDefinition, flowHost } from "signalbox/flow";
import { httpServer, prometheus, type Service } from "signalbox/service";
import type { StoreSource } from "signalbox/store";

export const pack: FlowDefinition<string, string> = defineFlow("pack", (flow, order: string) =>
  flow.step("pack", () => `${order} is packed`),
);

export interface Ports {
  readonly http: number;
  readonly ops: number;
}

/** How long each part may take to stop, in milliseconds: together less than `drainTimeoutMs`. */
export const SHUTDOWN: Readonly<Record<"http" | "flows" | "ops", number>> = {
  http: 10_000, // the slowest request
  flows: 8_000, // more than `limits.drainMs` (5 s)
  ops: 2_000,
};

export function shop(service: Service<unknown>, store: StoreSource, ports: Ports): SupervisorDefinition {
  const metrics = prometheus(service.system);
  const ops = {
    fetch: (request: Request): Promise<Response> =>
      new URL(request.url).pathname === "/metrics" ? metrics.fetch(request) : service.health.fetch(request),
  };
  const router = { fetch: (): Response => new Response("hello\n") };
  return supervisor({
    strategy: "rest_for_one",
    children: [
      // First in the list, so it stops last: it says `not ready` until then.
      { id: "ops", name: "ops", start: httpServer(ops, { port: ports.ops }), shutdown: SHUTDOWN.ops },
      { id: "flows", start: flowHost({ store, flows: [pack], name: "flows" }), shutdown: SHUTDOWN.flows },
      { id: "http", start: httpServer(router, { port: ports.http }), shutdown: SHUTDOWN.http },
    ],
  });
}
