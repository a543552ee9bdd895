// What clients do to an HTTP server, with the options of a user who sets none: bodies that nobody reads, bodies that are too long or
// malformed, clients that go away, and connections that live on while the service drains.

import { once } from "node:events";
import { Agent, type IncomingMessage, request as open, type RequestOptions } from "node:http";
import { connect } from "node:net";
import { System, supervisor } from "signalbox";
import { type FetchHandler, httpServer, run, type Service } from "signalbox/service";
import { afterEach, describe, expect, it } from "vitest";
import { gate } from "../../support/gate.js";
import { until } from "../../support/until.js";

const systems: System[] = [];
const services: Service[] = [];
const agents: Agent[] = [];
afterEach(async () => {
  for (const agent of agents.splice(0)) agent.destroy();
  for (const service of services.splice(0)) await service.system.stop({ timeoutMs: 0 });
  for (const system of systems.splice(0)) await system.stop({ timeoutMs: 0 });
});

interface Served {
  readonly port: number;
  readonly reports: string[];
}

async function serve(fetch: FetchHandler["fetch"]): Promise<Served> {
  const reports: string[] = [];
  const system = new System({ name: "web", report: (text) => void reports.push(text) });
  systems.push(system);
  const port = await new Promise<number>((resolve) => {
    const start = httpServer(
      { fetch },
      { port: 0, host: "127.0.0.1", onListening: ({ port }) => resolve(port) },
    );
    void system.start(supervisor({ children: [{ id: "http", start }] }));
  });
  return { port, reports };
}

/** Connections that are kept, as few as four. */
function keepAlive(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  agents.push(agent);
  return agent;
}

interface Got {
  readonly status: number | undefined;
  readonly connection: string | undefined;
  readonly text: string;
}

function send(port: number, options: RequestOptions, body?: Buffer | string): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = open({ host: "127.0.0.1", port, ...options }, async (response: IncomingMessage) => {
      let text = "";
      for await (const chunk of response) text += chunk;
      const { statusCode: status, headers } = response;
      resolve({ status, connection: headers.connection, text });
    });
    request.on("error", reject);
    request.end(body);
  });
}

describe("a body that is not read", () => {
  const unread = async (): Promise<Response> => new Response("no", { status: 401 });
  const begun = async (request: Request): Promise<Response> => {
    await (request.body as ReadableStream<Uint8Array>).getReader().read();
    return new Response("no", { status: 401 });
  };

  it.each([unread, begun])("costs no connection and no answer: %o [A17]", async (fetch) => {
    const { port, reports } = await serve(fetch);
    const agent = keepAlive();
    const body = Buffer.alloc(300_000);
    const got = await Promise.all(
      Array.from({ length: 100 }, () => send(port, { method: "POST", path: "/", agent }, body)),
    );
    expect(new Set(got.map(({ status, text }) => `${status} ${text}`))).toEqual(new Set(["401 no"]));
    expect(reports).toEqual([]);
  });
});

describe("a body that is too long", () => {
  const MEBIBYTE = 1_048_576;

  it("is answered with 413 before the handler sees it, by its `content-length` [A18]", async () => {
    let calls = 0;
    const { port, reports } = await serve(async (request) => {
      calls++;
      return new Response(String((await request.arrayBuffer()).byteLength));
    });
    expect(await send(port, { method: "POST" }, Buffer.alloc(MEBIBYTE))).toMatchObject({
      status: 200,
      text: `${MEBIBYTE}`,
    });
    const socket = connect(port, "127.0.0.1");
    socket.write(`POST / HTTP/1.1\r\nhost: shop\r\ncontent-length: ${MEBIBYTE + 1}\r\n\r\n`);
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer.toString().toLowerCase()).toContain("connection: close");
    socket.destroy();
    expect([calls, reports]).toEqual([1, []]);
  });

  it("is answered with 413 when it comes in chunks, and is no failure of the handler [A18]", async () => {
    const { port, reports } = await serve(async (request) => new Response(await request.text()));
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("POST / HTTP/1.1\r\nhost: shop\r\ntransfer-encoding: chunked\r\n\r\n");
    const chunk = Buffer.alloc(65_536, "x");
    for (let i = 0; i < 17; i++)
      socket.write(Buffer.concat([Buffer.from("10000\r\n"), chunk, Buffer.from("\r\n")]));
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
    expect(reports).toEqual([]);
  });
});

const MANY_BYTES = 300_000_000;
const CHUNK = Buffer.alloc(65_536, "x");

/** Sends 300 MB for as long as the server takes them. Gives the status of the answer and how far memory went up at most. */
async function flood(port: number, headers: Record<string, string | number>) {
  const used = (): number => process.memoryUsage().arrayBuffers;
  const before = used();
  let status: number | undefined;
  let most = 0;
  let isOver = false;
  const request = open({ host: "127.0.0.1", port, method: "POST", agent: false, headers });
  const over = new Promise<void>((resolve) => {
    request.on("close", resolve);
    // The server closes the connection of a client that goes on after its answer.
    request.on("error", () => undefined);
    request.on("response", (response) => {
      status = response.statusCode;
      response.resume();
    });
  }).then(() => {
    isOver = true;
  });
  for (let sent = 0; sent < MANY_BYTES && !isOver && !request.destroyed; sent += CHUNK.length) {
    if (!request.write(CHUNK)) await Promise.race([once(request, "drain").catch(() => undefined), over]);
    most = Math.max(most, used() - before);
  }
  if (!isOver) request.end();
  await over;
  return { status, most };
}

describe("a POST of 300 MB", () => {
  const handlers: readonly (readonly [name: string, fetch: FetchHandler["fetch"]])[] = [
    ["reads it as a text", async (request) => new Response(await request.text())],
    [
      "reads it as a stream",
      async (request) => {
        let bytes = 0;
        for await (const chunk of request.body as ReadableStream<Uint8Array>) bytes += chunk.length;
        return new Response(String(bytes));
      },
    ],
    ["does not read it", async () => new Response("no", { status: 401 })],
  ];
  const MOST = 16 * 1_048_576;

  it.each(handlers)("takes no memory and gets its answer when the handler %s [A18]", async (name, fetch) => {
    const { port, reports } = await serve(fetch);
    const chunked = await flood(port, { "transfer-encoding": "chunked" });
    expect(chunked.status).toBe(name === "does not read it" ? 401 : 413);
    const long = await flood(port, { "content-length": MANY_BYTES });
    expect(long.status).toBe(413);
    expect(Math.max(chunked.most, long.most)).toBeLessThan(MOST);
    expect((await send(port, { method: "POST" }, "fine")).status).not.toBe(500);
    expect(reports).toEqual([]);
  });
});

describe("a body that is no JSON", () => {
  it("is a bad request, and no failure of the handler [A19]", async () => {
    const { port, reports } = await serve(async (request) => Response.json(await request.json()));
    const got = await send(port, { method: "POST" }, "{");
    expect(got.status).toBe(400);
    expect(reports).toEqual([]);
  });

  it("is the handler's failure when the handler parses something else [A19]", async () => {
    const { port, reports } = await serve(async () => Response.json(JSON.parse("{")));
    expect((await send(port, { method: "POST" }, "{}")).status).toBe(500);
    expect(reports).toHaveLength(1);
  });
});

describe("a client that goes away", () => {
  it("in the middle of its upload is no failure, however many do [A20]", async () => {
    const ended = gate();
    let begun = 0;
    let over = 0;
    const { port, reports } = await serve(async (request) => {
      begun++;
      try {
        return new Response(await request.text());
      } finally {
        if (++over === 200) ended.open();
      }
    });
    for (let i = 0; i < 200; i++) {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      socket.write("POST / HTTP/1.1\r\nhost: shop\r\ncontent-length: 1000\r\n\r\nbegin");
      await until(() => begun > i);
      socket.resetAndDestroy();
    }
    await ended.promise;
    expect((await send(port, { method: "POST" }, "fine")).text).toBe("fine");
    expect(reports).toEqual([]);
  });
});

describe("a connection that is kept", () => {
  it("is closed with the first response after the service began to drain [A11]", async () => {
    const clock = gate<number>();
    const start = httpServer(
      { fetch: async () => new Response("hello") },
      { port: 0, host: "127.0.0.1", onListening: ({ port }) => clock.open(port) },
    );
    const tree = supervisor({ children: [{ id: "http", start }] });
    const service = run(tree, { name: "shop", host: false, drainDelayMs: 20_000, system: { report: false } });
    services.push(service);
    const port = await clock.promise;
    await service.started;
    const agent = keepAlive();
    expect((await send(port, { agent })).connection).toBe("keep-alive");
    void service.stop();
    await service.system.idle();
    expect(await send(port, { agent })).toEqual({ status: 200, connection: "close", text: "hello" });
  });
});
