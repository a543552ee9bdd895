// The door of the service: orders and approvals come in by HTTP. Each is durable before it is answered, and may be sent again.

import { Hono } from "hono";
import {
  type FlowHost,
  FlowInputError,
  FlowNotFoundError,
  FlowQueryError,
  type FlowRun,
  MessageError,
} from "signalbox/flow";
import type { Approval, Doing, Flows, Order, Receipt } from "./checkout.js";

/** The flow of an order has the order's id behind this: ids are unique among all flows of a store. */
const FLOW = "checkout-";

/** What the code of the flow says: nothing before it has begun, or when the flow ended between two questions. */
async function doing(run: FlowRun<Receipt>): Promise<Doing | undefined> {
  try {
    return await run.query<Doing>("order");
  } catch (error) {
    if (error instanceof FlowQueryError) return undefined;
    throw error;
  }
}

export function routes(flows: FlowHost, { checkout }: Flows): Hono {
  const app = new Hono();

  app.post("/orders", async (request) => {
    const order = (await request.req.json()) as Order;
    const { attached } = await flows.start(checkout, order, { id: FLOW + order.id });
    return request.json({ id: order.id, attached }, attached ? 200 : 202);
  });

  app.post("/orders/:id/approval", async (request) => {
    const approval = (await request.req.json()) as Approval;
    const id = request.req.param("id");
    // The same approval twice is one message: it has the same id.
    await flows.get(FLOW + id).send("approval", approval, { messageId: `approval of ${id}` });
    return request.json({ id }, 202);
  });

  app.get("/orders/:id", async (request) => {
    const run = flows.get<Receipt>(FLOW + request.req.param("id"));
    const { status } = await run.info();
    if (status === "completed") return request.json({ status, ...(await run.result()) });
    return request.json({ status, ...(await doing(run)) });
  });

  app.onError((error, request) => {
    const { message } = error;
    if (error instanceof FlowNotFoundError) return request.json({ error: message }, 404);
    if (error instanceof FlowInputError || error instanceof MessageError || error instanceof SyntaxError)
      return request.json({ error: message }, 400);
    throw error;
  });
  return app;
}
