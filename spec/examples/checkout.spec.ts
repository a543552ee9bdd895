// The checkout: its answers one by one, and then all of it as processes, killed for real while the bank works, while the order waits,
// and while the parcel is handed over.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Hono } from "hono";
import { System } from "signalbox";
import { flowHost } from "signalbox/flow";
import { sqlite } from "signalbox/store";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Flows, flowsOf, type Receipt } from "../../examples/checkout/checkout.js";
import { type Outside, openOutside, TOO_MUCH } from "../../examples/checkout/outside.js";
import { partnersAt } from "../../examples/checkout/partners.js";
import { routes } from "../../examples/checkout/routes.js";
import { Compiled } from "../support/compiled.js";

const folder = mkdtempSync(join(tmpdir(), "checkout-spec-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("the checkout", () => {
  let outside: Outside;
  let system: System;
  let flows: Flows;
  let app: Hono;
  beforeAll(async () => {
    outside = await openOutside();
    system = new System({ report: false });
    flows = flowsOf(partnersAt(outside.url));
    const store = sqlite(join(folder, "flows.db"));
    app = routes(await system.start(flowHost({ store, flows: flows.all })), flows);
  });
  afterAll(async () => {
    await system.stop();
    await outside[Symbol.asyncDispose]();
  });

  const post = (path: string, body: unknown): Promise<Response> | Response =>
    app.request(path, { method: "POST", body: JSON.stringify(body) });
  const get = async (id: string): Promise<Partial<Receipt> & { status?: string; doing?: string }> =>
    (await (await app.request(`/orders/${id}`)).json()) as object;
  const ended = async (id: string): Promise<Partial<Receipt>> => {
    for (;;) {
      const order = await get(id);
      if (order.end !== undefined) return order;
    }
  };

  it("starts an order once, however often it is sent", async () => {
    const order = { id: "twice", total: 10 };
    expect((await post("/orders", order)).status).toBe(202);
    const again = await post("/orders", order);
    expect([again.status, await again.json()]).toEqual([200, { id: "twice", attached: true }]);
  });

  it("refunds an order that is rejected", async () => {
    await post("/orders", { id: "rejected", total: 10 });
    expect((await post("/orders/rejected/approval", { by: "Ada", ok: false })).status).toBe(202);
    const { end, history = [] } = await ended("rejected");
    expect(end).toBe("refunded");
    expect(history.slice(1)).toEqual(["booked: 10", "rejected by Ada", "refunded"]);
    expect(outside.done("/refunds")).toBe(1);
  });

  it("refuses what the bank declines, without a second attempt", async () => {
    const before = outside.asked("/charges");
    await post("/orders", { id: "rich", total: TOO_MUCH });
    expect(await ended("rich")).toMatchObject({ end: "refused", history: ["declined: not that much"] });
    expect(outside.asked("/charges") - before).toBe(1);
  });

  it.each<[string, string, unknown, number, RegExp]>([
    ["no price", "/orders", { id: "bad" }, 400, /total: /],
    ["an id that is no name", "/orders", { id: "a b", total: 1 }, 400, /id: /],
    ["an approval without a name", "/orders/twice/approval", { ok: true }, 400, /by: /],
    ["an approval of nothing", "/orders/none/approval", { by: "Ada", ok: true }, 404, /no flow/],
  ])("says what is wrong with %s", async (_what, path, body, status, message) => {
    const response = await post(path, body);
    expect(response.status).toBe(status);
    expect(await response.text()).toMatch(message);
  });
});

describe("the service", () => {
  let compiled: Compiled;
  beforeAll(async () => {
    compiled = new Compiled("checkout");
    await compiled.bundle("examples/checkout", "demo", "main");
  });
  afterAll(() => compiled.remove());

  it("is killed with SIGKILL three times, and does each piece of work once", async () => {
    const printed = await compiled.run("examples/checkout/demo.ts");
    const history = [
      "charged: receipt-1",
      "booked: 4200",
      "approved by Ada",
      "picked: shelf-1",
      "sent: parcel-1",
    ];
    expect(printed).toContain(`history\n  ${[...history, "bookings: 1"].join("\n  ")}\n`);
    expect(printed.match(/kill -9/g)).toHaveLength(3);
    expect(printed).toContain("/charges asked 2, done 1");
    expect(printed).toContain("/parcels asked 2, done 1");
    expect(printed).toContain("exact: nothing lost, nothing done twice");
    expect(printed).not.toContain("(exit code");
  });
});
