// The door of the shop: orders come in by HTTP, and are accepted once they are in the journal.

import { Hono } from "hono";
import type { Health, PrometheusMetrics } from "signalbox/service";
import type { DeskRef } from "./desk.js";
import { JournalBusyError, type JournalRef } from "./journal.js";
import { BadOrderError, isSettled, type Order, parseOrder } from "./order.js";
import type { Patient } from "./patience.js";

/** What requests are answered with. */
export interface Counter {
  readonly journal: JournalRef;
  readonly desk: DeskRef;
  readonly patient: Patient;
  readonly metrics: PrometheusMetrics;
  readonly health: Health;
}

export function routes({ journal, desk, patient, metrics, health }: Counter): Hono {
  const app = new Hono();

  app.post("/orders", async (request) => {
    const order: Order = parseOrder(await request.req.json().catch(() => undefined));
    await patient(() => journal.call.append({ type: "accepted", id: order.id, order }));
    desk.cast.accepted(order);
    return request.json({ id: order.id }, 202, { location: `/orders/${order.id}` });
  });

  app.get("/orders/:id", async (request) => {
    const facts = await patient(() => journal.call.facts(request.req.param("id")));
    if (facts.accepted === undefined) return request.json({ error: "there is no such order" }, 404);
    return request.json({
      settled: isSettled(facts),
      facts: Object.keys(facts),
      refused: facts.refused?.why,
    });
  });

  app.get("/health/:what", (request) => health.fetch(request.req.raw));
  app.get("/metrics", (request) =>
    request.body(metrics.text(), 200, { "content-type": metrics.contentType }),
  );

  app.onError((error, request) => {
    if (error instanceof BadOrderError) return request.json({ error: error.message }, 400);
    if (error instanceof JournalBusyError) return request.json({ error: error.message }, 503);
    throw error;
  });
  return app;
}
