// What goes out as the response of a handler: its first line, its headers and its body, whatever that was made of.

import { type IncomingHttpHeaders, request as open } from "node:http";
import { System, supervisor } from "signalbox";
import { type FetchHandler, httpServer, type NodeListener } from "signalbox/service";
import { FastResponse } from "srvx/node";
import { afterEach, describe, expect, it } from "vitest";

const systems: System[] = [];
afterEach(async () => {
  for (const system of systems.splice(0)) await system.stop({ timeoutMs: 0 });
});

interface Served {
  readonly system: System;
  readonly port: number;
  readonly reports: string[];
}

async function serve(handler: FetchHandler | NodeListener): Promise<Served> {
  const reports: string[] = [];
  const system = new System({ name: "web", report: (text) => void reports.push(text) });
  systems.push(system);
  const port = await new Promise<number>((resolve) => {
    const onListening = (address: { readonly port: number }): void => resolve(address.port);
    const start = httpServer(handler, { port: 0, host: "127.0.0.1", onListening });
    void system.start(supervisor({ children: [{ id: "http", name: "http", start }] }));
  });
  return { system, port, reports };
}

interface Got {
  /** The status and the reason phrase. */
  readonly line: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

function ask(port: number, path = "/", method = "GET"): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = open({ host: "127.0.0.1", port, path, method, agent: false }, async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      const { statusCode, statusMessage, headers } = response;
      resolve({ line: `${statusCode} ${statusMessage}`, headers, body: Buffer.concat(chunks) });
    });
    request.on("error", reject).end();
  });
}

/** undici 7, that of Node 24, hides what a response was made of. */
const AT_HAND = Number.parseInt(process.versions.undici ?? "7", 10) < 7;

const TEXT = "Grüße ☕";
const BYTES = new TextEncoder().encode(TEXT);

const stream = (): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(control) {
      control.enqueue(BYTES.subarray(0, 5));
      control.enqueue(BYTES.subarray(5));
      control.close();
    },
  });

const BODIES: readonly (readonly [name: string, body: () => ConstructorParameters<typeof Response>[0]])[] = [
  ["a text", () => TEXT],
  ["bytes", () => BYTES],
  ["a part of bytes", () => new Uint8Array([1, ...BYTES, 2]).subarray(1, BYTES.length + 1)],
  ["an ArrayBuffer", () => BYTES.slice().buffer],
  ["a Blob", () => new Blob([BYTES])],
  ["a stream", stream],
];

describe("the body of a response", () => {
  it.each(BODIES)("goes out as it is when it is %s [A21]", async (_name, body) => {
    const { port } = await serve({
      fetch: () => new Response(body(), { status: 201, headers: { "x-tea": "green" } }),
    });
    const { line, headers, body: got } = await ask(port);
    expect([line, headers["x-tea"], got.toString()]).toEqual(["201 Created", "green", TEXT]);
  });

  it.runIf(AT_HAND)("has its length where that is known, unless the handler gave one [A21]", async () => {
    const { port } = await serve({
      fetch: ({ url }) =>
        url.endsWith("/given")
          ? new Response("tea", { headers: { "content-length": "3" } })
          : new Response(TEXT),
    });
    expect((await ask(port)).headers["content-length"]).toBe(String(BYTES.length));
    expect((await ask(port, "/given")).headers["content-length"]).toBe("3");
  });

  it("is none for HEAD, and where the response has none [A21]", async () => {
    const { port } = await serve({
      fetch: ({ url }) => (url.endsWith("/none") ? new Response(null, { status: 204 }) : new Response(TEXT)),
    });
    const head = await ask(port, "/", "HEAD");
    expect([head.line, head.body.length]).toEqual(["200 OK", 0]);
    const none = await ask(port, "/none");
    expect([none.line, none.body.length]).toEqual(["204 No Content", 0]);
  });

  it("goes out of a clone, and not twice [A21]", async () => {
    const { port, reports } = await serve({
      fetch: async ({ url }) => {
        const response = new Response(TEXT);
        const clone = response.clone();
        await response.text();
        return url.endsWith("/used") ? response : clone;
      },
    });
    expect((await ask(port)).body.toString()).toBe(TEXT);
    expect(reports).toEqual([]);
    const used = await ask(port, "/used").then(
      ({ body }) => body.toString(),
      () => "cut off",
    );
    expect(used).not.toBe(TEXT);
  });

  it("comes with each cookie of its own [A21]", async () => {
    const headers = new Headers([
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
    ]);
    const { port } = await serve({ fetch: () => new Response("tea", { headers }) });
    expect((await ask(port)).headers["set-cookie"]).toEqual(["a=1", "b=2"]);
  });

  it("follows a head that the handler has written by itself [A21]", async () => {
    const { port } = await serve({
      fetch: (_request, { outgoing }) => {
        outgoing.writeHead(202, { "x-by": "hand" });
        return new Response(TEXT);
      },
    });
    const { line, headers, body } = await ask(port);
    expect([line, headers["x-by"], body.toString()]).toEqual(["202 Accepted", "hand", TEXT]);
  });
});

const RESPONSES: readonly (readonly [name: string, make: (init: ResponseInit) => Response])[] = [
  ["a text", (init) => new Response("tea", init)],
  ["a stream", (init) => new Response(stream(), init)],
  ["no body", (init) => new Response(null, init)],
  ["a response of srvx", (init) => new FastResponse("tea", init) as Response],
];

describe("the reason phrase of a response", () => {
  it.each(RESPONSES)("is the one that the handler gave, for %s [A21]", async (_name, make) => {
    const { port } = await serve({ fetch: () => make({ status: 299, statusText: "Quite Fine" }) });
    expect((await ask(port)).line).toBe("299 Quite Fine");
  });

  it("is Latin-1, as headers are, also before a text [A21]", async () => {
    const init = { statusText: "Grün", headers: { "x-tea": "grün" } };
    const { port } = await serve({ fetch: () => new Response(TEXT, init) });
    const { line, headers, body } = await ask(port);
    expect([line, headers["x-tea"], body.toString()]).toEqual(["200 Grün", "grün", TEXT]);
  });

  it.each(RESPONSES)("is that of its status otherwise, for %s [A21]", async (_name, make) => {
    const { port } = await serve({
      fetch: ({ url }) => make({ status: Number(new URL(url).pathname.slice(1)) }),
    });
    expect((await ask(port, "/200")).line).toBe("200 OK");
    expect((await ask(port, "/404")).line).toBe("404 Not Found");
    expect((await ask(port, "/299")).line).toBe("299 unknown");
  });
});

/** As a framework with classes of its own returns it. */
const ownResponse = (over: Partial<Response>): Response => {
  const { status, statusText, headers, body } = new Response("tea");
  return { status, statusText, headers, body, ...over } as Response;
};

const HOSTILE: readonly (readonly [name: string, handler: FetchHandler | NodeListener])[] = [
  [
    "a line break in a response",
    { fetch: () => new Response("tea", { statusText: "a\r\nset-cookie: b=1" }) },
  ],
  ["a snowman in a response", { fetch: () => new Response("tea", { statusText: "☃" }) }],
  ["a status that is none", { fetch: () => ownResponse({ status: 7 }) }],
  ["a snowman in a header", { fetch: () => ownResponse({ headers: new Map([["x", "☃"]]) as never }) }],
  [
    "a line break in a message of Node",
    (_incoming, outgoing) => {
      outgoing.statusMessage = "a\r\nset-cookie: b=1";
      outgoing.end("tea");
    },
  ],
  [
    "a snowman in a head of Node",
    (_incoming, outgoing) => {
      outgoing.writeHead(200, "☃").end("tea");
    },
  ],
];

describe("what HTTP does not allow", () => {
  it.each(HOSTILE)("is answered with 500 and harms no other request: %s [A22]", async (_name, handler) => {
    const { system, port, reports } = await serve(handler);
    const server = system.whereis("http");
    const { line, headers, body } = await ask(port);
    expect([line, body.toString()]).toEqual(["500 Internal Server Error", "Internal Server Error\n"]);
    expect(headers["set-cookie"]).toBeUndefined();
    expect((await ask(port)).line).toBe("500 Internal Server Error");
    expect(reports).toHaveLength(2);
    expect(system.whereis("http")).toBe(server);
  });
});
