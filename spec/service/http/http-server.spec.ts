// An HTTP server as a supervised process: over real sockets, on the loopback.

import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { CalleeExitedError, OptionError, StartError, System, supervisor } from "signalbox";
import { type FetchHandler, httpServer, type NodeListener, type RequestContext } from "signalbox/service";
import { afterEach, describe, expect, it } from "vitest";

const systems: System[] = [];
afterEach(async () => {
  for (const system of systems.splice(0)) await system.stop({ timeoutMs: 0 });
});

/** A promise and the function that resolves it. */
function gate<T = void>(): { readonly passed: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => undefined;
  const passed = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

async function serve(
  handler: FetchHandler | NodeListener,
  options: { readonly maxInFlight?: number; readonly shutdown?: number } = {},
) {
  const reports: string[] = [];
  const system = new System({ name: "web", report: (text) => void reports.push(text) });
  systems.push(system);
  const { shutdown = 5_000, ...rest } = options;
  const start = httpServer(handler, { port: 0, host: "127.0.0.1", ...rest });
  await system.start(supervisor({ children: [{ id: "http", name: "http", start, shutdown }] }));
  const at = async () => (await httpServer(handler, { port: 0 }).at(system, "http").address()).port;
  return { system, reports, at, url: `http://127.0.0.1:${await at()}` };
}

/** Sends text over a bare socket, and gives all that comes back until the other side closes. */
async function raw(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.end(text);
  return received(socket);
}

async function received(socket: Socket): Promise<string> {
  let all = "";
  socket.on("data", (chunk) => {
    all += chunk.toString();
  });
  socket.on("error", () => undefined);
  await once(socket, "close");
  return all;
}

describe("a handler in the style of fetch", () => {
  it("gets the request and gives the response, with body, headers and cookies", async () => {
    const { url } = await serve({
      fetch: async (request) => {
        const headers = new Headers({ "x-method": request.method, "x-url": request.url });
        headers.append("set-cookie", "a=1");
        headers.append("set-cookie", "b=2");
        return new Response(`${request.headers.get("x-given")} ${await request.text()}`, {
          status: 201,
          headers,
        });
      },
    });
    const response = await fetch(`${url}/path?q=1`, {
      method: "POST",
      body: "tea",
      headers: { "x-given": "green" },
    });
    expect(response.status).toBe(201);
    expect(await response.text()).toBe("green tea");
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(response.headers.get("x-method")).toBe("POST");
    expect(response.headers.get("x-url")).toBe(`${url}/path?q=1`);
  });

  it("a path never becomes a host, and a host that is none is a bad request", async () => {
    const { at } = await serve({ fetch: (request) => new Response(request.url) });
    const port = await at();
    const get = (path: string, host: string) =>
      raw(port, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(await get("//evil/path", "shop")).toContain("http://shop//evil/path");
    expect(await get("http://evil/path?q", "shop")).toContain("http://shop/path?q");
    expect(await get("/", "a b")).toContain("400 Bad Request");
  });

  it("HEAD gets the headers alone", async () => {
    const { url } = await serve({ fetch: () => new Response("text", { headers: { "x-a": "1" } }) });
    const response = await fetch(url, { method: "HEAD" });
    expect([response.headers.get("x-a"), await response.text()]).toEqual(["1", ""]);
  });

  it("a client that is gone aborts the signal of its request, and cancels the body", async () => {
    const aborted = gate();
    const cancelled = gate();
    const { url } = await serve({
      fetch: (request) => {
        request.signal.addEventListener("abort", () => aborted.open());
        return new Response(
          new ReadableStream({ pull: (c) => c.enqueue(new Uint8Array(9)), cancel: () => cancelled.open() }),
        );
      },
    });
    const control = new AbortController();
    const { body } = await fetch(url, { signal: control.signal });
    await body?.getReader().read();
    control.abort();
    await Promise.all([aborted.passed, cancelled.passed]);
  });
});

describe("an error in a handler", () => {
  it.each([
    ["throws", () => Promise.reject(new Error("out of tea"))],
    ["returns no response", () => undefined as never],
  ])("is answered with 500 and reported when it %s; other requests go on [A12]", async (_name, fails) => {
    const slow = gate<Response>();
    const { url, reports, system } = await serve({
      fetch: (request) => (request.url.endsWith("/slow") ? slow.passed : fails()),
    });
    const other = fetch(`${url}/slow`);
    const response = await fetch(`${url}/bad?secret=1`);
    expect([response.status, await response.text()]).toEqual([500, "Internal Server Error\n"]);
    slow.open(new Response("fine"));
    expect(await (await other).text()).toBe("fine");
    expect(reports.join()).toMatch(/<web\.\d+ request> failed to answer a GET: crash/);
    expect(reports.join()).not.toContain("secret");
    expect(system.whereis("http")).toBeDefined();
  });

  it("after half a response it closes the connection", async () => {
    const { url } = await serve((_incoming, outgoing) => {
      outgoing.write("half");
      throw new Error("then no more");
    });
    await expect(fetch(url).then((response) => response.text())).rejects.toThrow();
  });

  it("an unhandled rejection is the crash of that request alone", async () => {
    const { url } = await serve({
      fetch: (request) => {
        if (request.url.endsWith("/good")) return new Response("fine");
        void Promise.reject(new Error("careless"));
        return new Promise(() => undefined);
      },
    });
    expect((await fetch(url)).status).toBe(500);
    expect(await (await fetch(`${url}/good`)).text()).toBe("fine");
  });
});

describe("a stop", () => {
  it("accepts no more, lets requests in flight end, and closes idle connections [A11]", async () => {
    const [entered, draining, answer] = [gate(), gate(), gate<Response>()];
    const { url, system, at } = await serve({
      fetch: (request, context: RequestContext) => {
        if (new URL(request.url).pathname === "/quick") return new Response("quick");
        context.draining.addEventListener("abort", () => draining.open());
        entered.open();
        return answer.passed;
      },
    });
    const port = await at();
    // A connection that is kept alive, and idle.
    const idle = connect(port, "127.0.0.1");
    idle.write("GET /quick HTTP/1.1\r\nHost: shop\r\n\r\n");
    const idleText = received(idle);
    await once(idle, "data");
    const slow = fetch(url);
    await entered.passed;
    const stopped = system.stop();
    await draining.passed;
    expect(await idleText).toContain("quick");
    await expect(fetch(url)).rejects.toThrow();
    answer.open(new Response("in time"));
    const response = await slow;
    expect([await response.text(), response.headers.get("connection")]).toEqual(["in time", "close"]);
    await stopped;
  });

  it("cuts off what does not end in the shutdown time [A11]", async () => {
    const entered = gate();
    const aborted = gate();
    const { url, system } = await serve(
      {
        fetch: (_request, { ctx }) => {
          ctx.signal.addEventListener("abort", () => aborted.open());
          entered.open();
          return new Promise(() => undefined);
        },
      },
      { shutdown: 1 },
    );
    const cut = fetch(url);
    cut.catch(() => undefined);
    await entered.passed;
    await system.stop();
    await expect(cut).rejects.toThrow();
    await aborted.passed;
  });
});

describe("an HTTP server", () => {
  it("has failed to start when its port is taken, and names the port", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const system = new System({ report: false });
    systems.push(system);
    const start = system.start(httpServer({ fetch: () => new Response() }, { port, host: "127.0.0.1" }));
    await expect(start).rejects.toThrow(`EADDRINUSE: address already in use 127.0.0.1:${port}`);
    await expect(start).rejects.toBeInstanceOf(StartError);
    taken.close();
  });

  it("listens again after a restart at the same port", async () => {
    const { system, at, url } = await serve({ fetch: () => new Response("fine") });
    const system2 = new System({ report: false });
    systems.push(system2);
    const port = await at();
    await system.stop();
    await system2.start(httpServer({ fetch: () => new Response("again") }, { port, host: "127.0.0.1" }));
    expect(await (await fetch(url)).text()).toBe("again");
  });

  it("answers with 503 when too many requests are in flight", async () => {
    const entered = gate();
    const answer = gate<Response>();
    const { url } = await serve(
      {
        fetch: () => {
          entered.open();
          return answer.passed;
        },
      },
      { maxInFlight: 1 },
    );
    const first = fetch(url);
    await entered.passed;
    const second = await fetch(url);
    expect([second.status, second.headers.get("retry-after")]).toEqual([503, "1"]);
    answer.open(new Response("first"));
    expect(await (await first).text()).toBe("first");
  });

  it("tells where it listens, while it runs", async () => {
    const { system, at } = await serve({ fetch: () => new Response() });
    expect(await at()).toBeGreaterThan(0);
    system.exit("http", "kill");
    const ref = httpServer({ fetch: () => new Response() }, { port: 0 }).at(system, "nobody");
    await expect(ref.address()).rejects.toBeInstanceOf(CalleeExitedError);
  });
});

const fine: FetchHandler = { fetch: () => new Response() };
it.each([
  ["port", () => httpServer(fine, { port: -1 })],
  ["port", () => httpServer(fine, { port: 70_000 })],
  ["port", () => httpServer(fine, {} as never)],
  ["host", () => httpServer(fine, { port: 0, host: "" })],
  ["maxInFlight", () => httpServer(fine, { port: 0, maxInFlight: 0 })],
  ["server", () => httpServer(fine, { port: 0, server: 5 as never })],
  ["createServer", () => httpServer(fine, { port: 0, createServer: 5 as never })],
  ["onListening", () => httpServer(fine, { port: 0, onListening: 5 as never })],
  ["label", () => httpServer(fine, { port: 0, label: "" })],
  ["handler", () => httpServer({} as never, { port: 0 })],
  ["prot", () => httpServer(fine, { prot: 0 } as never)],
  ["address", () => httpServer(fine, { port: 0 }).at(new System(), "")],
])("a wrong %s is refused", (path, make) => {
  expect(make).toThrow(OptionError);
  expect(make).toThrow(expect.objectContaining({ path }));
});
