// The routes: an order is paid, written to the journal, and answered. Each request runs as a process of its own.

import { Hono } from "hono";
import { CalleeExitedError, CallTimeoutError } from "signalbox";
import type { RequestContext } from "signalbox/service";
import type { JournalRef } from "./journal.js";

/** The slow part of an order. `signal` is aborted when the request is cut off. */
export type Pay = (item: string, signal: AbortSignal) => Promise<void>;

export function routes(journal: JournalRef, pay: Pay): Hono<{ Bindings: RequestContext }> {
  const app = new Hono<{ Bindings: RequestContext }>();

  app.post("/orders/:item", async (c) => {
    const item = c.req.param("item");
    await pay(item, c.env.ctx.signal); // here, not in the journal: other orders go on
    await journal.call.append({ item });
    return c.json({ ordered: item }, 201);
  });

  app.onError((error, c) => {
    // The journal crashed or is slow, and its supervisor restarts it: the client may try again.
    if (error instanceof CalleeExitedError || error instanceof CallTimeoutError)
      return c.json({ error: "try again" }, 503, { "retry-after": "1" });
    throw error; // crashes the process of this request alone: a report, and status 500
  });
  return app;
}
