// The spans that an observer shows: kept from the start if it is asked to, and else while somebody looks at traces.

import { defineServer, OptionError, System } from "signalbox";
import { history, type ObserverAddress, observer, observerHandler } from "signalbox/observer";
import { httpServer, prometheus, telemetry } from "signalbox/service";
import { expect, onTestFinished, test, vi } from "vitest";
import { KernelOperations } from "../../lib/admin/system/kernel-operations.js";
import { EventReader, post } from "./support.js";

const Till = defineServer({ label: "till", init: () => 0, calls: { pay: (_state, n: number) => n } });

function shop(): System {
  const system = new System({ name: "shop", report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  return system;
}

test.each([
  ["an observer", () => observer({ port: 0, traces: true, onListening: () => undefined })],
  ["a history", () => history({ traces: true })],
] as const)(
  "%s with traces keeps them from its start to its end, without a viewer [N1548]",
  async (_, made) => {
    const system = shop();
    await system.start(made() as ReturnType<typeof history>);
    const till = await system.start(Till);
    await till.call.pay(1);
    expect(system.kernel.taps).toBeDefined();
    expect(await new KernelOperations(system.kernel).traces()).toMatchObject([
      { name: "till/pay", spans: 2 },
    ]);
    const other = shop();
    await other.start(made() as ReturnType<typeof history>);
    expect(other.kernel.taps).toBeDefined();
    const [first] = other.processes();
    other.exit(first as never, "shutdown");
    await vi.waitUntil(() => other.kernel.taps === undefined);
  },
);

test("an observer without traces keeps none until a viewer asks for some [N1548]", async () => {
  const system = shop();
  const handler = observerHandler(system);
  const ask = async (op: string): Promise<unknown> =>
    (await handler.fetch(post("/api/ask", { op, args: {} }, handler.token))).json();
  await ask("system.overview");
  expect(system.kernel.taps).toBeUndefined();
  expect(await ask("system.traces")).toEqual({ ok: [] });
  const till = await system.start(Till);
  await till.call.pay(1);
  expect(await ask("system.traces")).toMatchObject({ ok: [{ name: "till/pay", status: "ok" }] });
});

test("the observer's own requests are in no trace and in no metrics, and those of the service's servers are [N1610]", async () => {
  const system = shop();
  let at: ObserverAddress | undefined;
  let port = 0;
  const methods: string[] = [];
  const metrics = prometheus(system);
  telemetry(system).subscribe("http:begin", ({ method }) => void methods.push(method));
  const onListening = (one: ObserverAddress): void => {
    at = one;
  };
  await system.start(observer({ port: 0, traces: true, onListening }));
  const web = httpServer((_incoming, outgoing) => void outgoing.end("ok"), {
    ...{ port: 0, host: "127.0.0.1" },
    onListening: (one) => {
      port = one.port;
    },
  });
  await system.start(web);
  const { url, token } = at as unknown as ObserverAddress;
  const asked = (path: string, body: object): Promise<Response> =>
    fetch(new URL(path, url), {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    });
  const feed = await asked("/api/feed", { views: [{ key: "all", op: "system.traces", hz: 4 }] });
  const events = new EventReader(feed.body as ReadableStream<Uint8Array>);
  await events.next();
  await fetch(`http://127.0.0.1:${port}/`).then((response) => response.text());
  expect(await (await asked("/api/ask", { op: "system.traces", args: {} })).json()).toMatchObject({
    ok: [{ name: "GET", spans: 1 }],
  });
  expect(methods).toEqual(["GET"]);
  expect(metrics.text()).not.toMatch(/http_server_request_duration.*POST/);
  await events.cancel();
});

test("traces is true or false [N1548]", () => {
  expect(() => history({ traces: 1 } as never)).toThrow(OptionError);
  expect(() => observer({ port: 0, traces: "yes" } as never)).toThrow(OptionError);
});
