// A service of pipelines and queues for Kubernetes: no requests, only work. docs/guide/kubernetes.md explains it.

import { defineServer, type SupervisorDefinition, supervisor } from "signalbox";
import {
  definePipeline,
  done,
  openQueues,
  type PipelineDefinition,
  pipelineHost,
  queue,
  route,
} from "signalbox/pipeline";
import { httpServer, prometheus, type Service } from "signalbox/service";
import type { StoreSource } from "signalbox/store";

const orders = queue<string>("orders");
const print = route("print", { from: orders, concurrency: 10 }).via("print", (order) => {
  console.log(`the invoice of ${order}`);
});
export const invoices: PipelineDefinition<unknown> = definePipeline("invoices", { routes: [print] });

/** How long each part may take to stop, in milliseconds: together less than `drainTimeoutMs`. */
export const SHUTDOWN: Readonly<Record<"pipelines" | "mails" | "ops", number>> = {
  pipelines: 8_000, // more than `drainMs` (5 s)
  mails: 10_000, // the slowest mail
  ops: 2_000,
};

export function workers(service: Service<unknown>, store: StoreSource, ops: number): SupervisorDefinition {
  const { system, health } = service;
  const metrics = prometheus(system);
  const served = {
    fetch: (request: Request): Promise<Response> =>
      new URL(request.url).pathname === "/metrics" ? metrics.fetch(request) : health.fetch(request),
  };
  const mails = defineServer({
    label: "mails",
    init: async (ctx) => {
      const queues = await openQueues(system, { store });
      const subscription = await queues
        .queue<string>("mails")
        .subscribe({ concurrency: 5, prefetch: 10 }, ({ value }) => {
          console.log(`a mail to ${value}`);
          return done;
        });
      // A subscriber that crashes takes this child with it, and the supervisor starts both again.
      ctx.link(subscription.pid);
      return queues;
    },
    terminate: (queues) => queues.close(),
  });
  return supervisor({
    strategy: "one_for_one",
    children: [
      { id: "ops", name: "ops", start: httpServer(served, { port: ops }), shutdown: SHUTDOWN.ops },
      {
        id: "pipelines",
        start: pipelineHost({ store, pipelines: [invoices], name: "pipelines" }),
        shutdown: SHUTDOWN.pipelines,
      },
      { id: "mails", start: mails, shutdown: SHUTDOWN.mails },
    ],
  });
}
