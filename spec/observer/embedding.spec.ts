// The observer below a path of a server of the user's.

import { getEventListeners } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Hono } from "hono";
import { System, supervisor } from "signalbox";
import { type ObserverHandler, observerHandler } from "signalbox/observer";
import { httpServer } from "signalbox/service";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { gate } from "../support/gate.js";
import { until } from "../support/until.js";
import { EventReader, post } from "./support.js";

const TOKEN = "a-token-of-this-test";
let system: System;
let handler: ObserverHandler;
const ends: (() => unknown)[] = [];
beforeEach(() => {
  system = new System({ name: "shop", report: false });
  handler = observerHandler(system, { token: TOKEN });
});
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await system.stop({ timeoutMs: 0 });
});

const at = (base: string, path: string, body: object): Promise<Response> => {
  const { origin } = new URL(base);
  const request = post("/", body, TOKEN, { origin });
  return fetch(`${base}${path}`, {
    method: "POST",
    headers: [...request.headers].filter(([name]) => name !== "sec-fetch-site"),
    body: JSON.stringify(body),
  });
};

/** What every mounted observer does. @param base - ends without a slash */
async function works(base: string): Promise<void> {
  const page = await fetch(`${base}/`);
  expect([200, 503]).toContain(page.status);
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  await page.arrayBuffer();
  expect((await fetch(`${base}/api/hello`)).status).toBe(405);
  const hello = await at(base, "/api/hello", {});
  expect(await hello.json()).toMatchObject({ name: "shop" });
  expect(await (await at(base, "/api/ask", { op: "system.groups" })).json()).toMatchObject({
    ok: { items: [] },
  });
  const abort = new AbortController();
  ends.push(() => abort.abort());
  const live = await at(base, "/api/feed", { views: [{ key: "all", op: "system.processes" }] });
  const reader = new EventReader(live.body as ReadableStream<Uint8Array>);
  expect((await reader.next())?.type).toBe("whole");
  await reader.cancel();
}

/** A server of Node. */
async function listening(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener);
  ends.push(
    () => server.closeAllConnections(),
    () => server.close(),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A request of Node as one of fetch, with the path that a framework has left. */
function requestOf(incoming: IncomingMessage, path: string, body: string | undefined): Request {
  const { method = "GET", headers } = incoming;
  return new Request(`http://${headers.host}${path}`, {
    method,
    headers: Object.entries(headers).map(([name, value]) => [name, String(value)] as [string, string]),
    ...(body !== undefined && method === "POST" && { body }),
  });
}

/** As the listeners of Express and Fastify do: the response of fetch is written piece by piece. */
function listenerBelow(mount: string, isStripped: boolean): RequestListener {
  return async (incoming, outgoing) => {
    let body = "";
    for await (const chunk of incoming) body += String(chunk);
    const { url = "/" } = incoming;
    const path = isStripped ? url.slice(mount.length) || "/" : url;
    const response = await handler.fetch(requestOf(incoming, path, body));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    const reader = response.body?.getReader();
    outgoing.on("close", () => void reader?.cancel().catch(() => undefined));
    for (;;) {
      const { done = true, value } = (await reader?.read()) ?? {};
      if (done) break;
      if (!outgoing.write(value)) await new Promise((resolve) => outgoing.once("drain", resolve));
    }
    outgoing.end();
  };
}

/** A server of signalbox with any handler. */
async function served(fetchHandler: {
  fetch(request: Request, context: never): Response | Promise<Response>;
}): Promise<string> {
  const { promise, open } = gate<number>();
  const start = httpServer(fetchHandler as never, {
    port: 0,
    host: "127.0.0.1",
    onListening: ({ port }) => open(port),
  });
  await system.startWith(
    { name: "web" },
    supervisor({ children: [{ id: "http", start, shutdown: 20_000 }] }),
  );
  return `http://127.0.0.1:${await promise}`;
}

describe("an observer that is mounted", () => {
  it("in Hono, below a path that is taken off [N1561]", async () => {
    const app = new Hono();
    app.get("/", (c) => c.text("shop"));
    app.mount("/ops/observer", handler.fetch);
    await works(`${await served(app)}/ops/observer`);
  });

  it("in Hono, below a path that stays [N1561]", async () => {
    const app = new Hono();
    app.all("/observer/*", (c) => handler.fetch(c.req.raw));
    await works(`${await served(app)}/observer`);
  });

  it("in a server of ours, at its root [N1561]", async () => {
    await works(await served(handler));
  });

  it("behind a listener of Node as of Express, with its path taken off [N1561]", async () => {
    await works(`${await listening(listenerBelow("/observer", true))}/observer`);
  });

  it("behind a listener of Node as of Fastify, with its whole path [N1561]", async () => {
    await works(`${await listening(listenerBelow("", false))}/a/b/c`);
  });

  it("leads from its path without a slash to that with one [N1561]", async () => {
    const base = await served(handler);
    const response = await fetch(`${base}/ops/observer`, { redirect: "manual" });
    expect(response.status).toBe(308);
    expect(response.headers.get("location")).toBe("./observer/");
    expect((await fetch(`${base}/ops/favicon.ico`)).status).toBe(404);
  });
});

describe("live views end", () => {
  const opened = async (base: string): Promise<EventReader> => {
    const live = await at(base, "/api/feed", { views: [{ key: "all", op: "system.nodes" }] });
    const reader = new EventReader(live.body as ReadableStream<Uint8Array>);
    await reader.next();
    return reader;
  };

  it("when the server drains, so that they do not hold it [N1561]", async () => {
    const reader = await opened(await served(handler));
    const stopped = system.whereis("web");
    system.exit(stopped as never, "shutdown");
    expect(await reader.next()).toBeUndefined();
    await until(() => system.whereis("web") === undefined);
  });

  it("by one listener for all of them, so that many do not burden the server [N1561]", async () => {
    const draining = new AbortController();
    const views = { views: [{ key: "all", op: "system.nodes" }] };
    const open = async (): Promise<EventReader> => {
      const response = await handler.fetch(post("/api/feed", views, TOKEN), { draining: draining.signal });
      return new EventReader(response.body as ReadableStream<Uint8Array>);
    };
    for (let i = 0; i < 5; i++) await (await open()).cancel();
    const readers = await Promise.all([open(), open(), open()]);
    expect(getEventListeners(draining.signal, "abort")).toHaveLength(1);
    for (const reader of readers) await reader.next();
    draining.abort();
    expect(await Promise.all(readers.map((reader) => reader.next()))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("when the handler is disposed of, and later requests get 503 on connections that end [N1561]", async () => {
    const base = await served(handler);
    const reader = await opened(base);
    await handler[Symbol.asyncDispose]();
    expect(await reader.next()).toBeUndefined();
    const later = await at(base, "/api/hello", {});
    expect([later.status, later.headers.get("connection")]).toEqual([503, "close"]);
    expect(await later.json()).toMatchObject({ error: { code: "ERR_OBSERVER_BUSY" } });
    await handler[Symbol.asyncDispose]();
  });

  it("when the handler is disposed of while the first of them begins [N1561]", async () => {
    const first = handler.fetch(post("/api/feed", { views: [{ key: "all", op: "system.nodes" }] }, TOKEN));
    await handler[Symbol.asyncDispose]();
    const response = await first;
    if (response.status === 200) {
      const reader = new EventReader(response.body as ReadableStream<Uint8Array>);
      while ((await reader.next()) !== undefined);
    } else expect(response.status).toBe(503);
    await until(() => system.kernel.events.eventNames().length === 0);
  });

  it("when the system stops, whoever serves them [N1561]", async () => {
    const reader = await opened(await listening(listenerBelow("", false)));
    await system.stop();
    expect(await reader.next()).toBeUndefined();
    expect((await handler.fetch(post("/api/hello", {}, TOKEN))).status).toBe(503);
  });
});
