import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { httpRequest } from "../../../lib/pipeline/adapters/http-request.js";
import { HttpBodyError, HttpFailedError, HttpStatusError } from "../../../lib/pipeline/sources/errors.js";
import type { Fetch } from "../../../lib/pipeline/sources/http-exchange.js";
import { httpPages } from "../../../lib/pipeline/sources/http-pages.js";
import { AttemptTimeoutError } from "../../../lib/service/index.js";
import { System } from "../../../lib/system.js";
import { testClock } from "../../../lib/testing/index.js";
import { Bench, cleanup } from "./support.js";

const after = cleanup();

function bench(environment = testClock().environment): Bench {
  const system = new System({ environment, report: false });
  after.add(() => system.stop({ timeoutMs: 0 }));
  return new Bench(system);
}

/** Answers with these, one after another; the last one again and again. */
function answers(...given: readonly (Response | Error)[]) {
  const requests: { url: string; init: RequestInit; headers: Headers }[] = [];
  const fetch: Fetch = async (url, init) => {
    requests.push({ url, init, headers: new Headers(init.headers) });
    const answer = given[Math.min(requests.length, given.length) - 1] as Response | Error;
    if (answer instanceof Error) throw answer;
    return answer.clone();
  };
  return { fetch, requests };
}

/** A result as what it is, or the error. */
const caught = (promise: Promise<unknown>) => promise.catch((error: unknown) => error);
const url = "http://127.0.0.1/path?token=secret";

describe("a request for each message", () => {
  test("sends a value as JSON with its idempotency key, and goes on with the response", async () => {
    const { fetch, requests } = answers(Response.json({ ok: 1 }));
    const post = httpRequest("post", {
      url: "http://a.example/",
      body: (n: number) => ({ n }),
      headers: { "x-a": "1" },
      fetch,
    });
    expect(await bench().pass(post, 7, { id: "10.1é" })).toEqual([{ ok: 1 }]);
    const [{ init, headers }] = requests as [(typeof requests)[0]];
    expect(init).toMatchObject({ method: "POST", body: '{"n":7}' });
    expect(Object.fromEntries(headers)).toEqual({
      "content-type": "application/json",
      "idempotency-key": "e/10.1%C3%A9/post",
      "x-a": "1",
    });
  });

  test("makes URL, headers and result of the value", async () => {
    const { fetch, requests } = answers(new Response("pong"));
    const get = httpRequest("get", {
      url: (city: string) => `http://a.example/${city}`,
      headers: (city) => ({ "x-city": city }),
      result: (reply, city) => `${city}: ${reply.text()} ${reply.status}`,
      idempotencyHeader: false,
      fetch,
    });
    expect(await bench().pass(get, "bonn")).toEqual(["bonn: pong 200"]);
    expect(requests[0]).toMatchObject({ url: "http://a.example/bonn", init: { method: "GET" } });
    expect(Object.fromEntries(requests[0]?.headers ?? [])).toEqual({ "x-city": "bonn" });
  });

  test("without a response body ends", async () => {
    const { fetch } = answers(new Response(null, { status: 204 }));
    expect(await bench().pass(httpRequest("get", { url, fetch }), 1)).toEqual([]);
  });

  test("is repeated after statuses that may pass, with the same key and the wait that the server asks for [Y93]", async () => {
    const clock = testClock();
    const busy = new Response("busy", { status: 503, headers: { "retry-after": "20" } });
    const { fetch, requests } = answers(busy, new Error("broken"), Response.json(1));
    const { result } = bench(clock.environment).attempt(httpRequest("get", { url, fetch }), 1);
    await clock.advance(19_999);
    expect(requests).toHaveLength(1);
    await clock.advance(1);
    expect(requests).toHaveLength(2);
    await clock.advance(10_000);
    expect(await result).toEqual([1]);
    expect(new Set(requests.map(({ headers }) => headers.get("idempotency-key"))).size).toBe(1);
  });

  test("is repeated for no status that stays, and shows no secret of its URL [Y93]", async () => {
    for (const status of [400, 401, 404, 409, 422, 501]) {
      const { fetch, requests } = answers(new Response("why", { status }));
      const error = await caught(bench().pass(httpRequest("get", { url, fetch }), 1));
      expect(error).toBeInstanceOf(HttpStatusError);
      expect(error).toMatchObject({
        code: "ERR_PIPELINE_HTTP_STATUS",
        status,
        retriable: false,
        body: "why",
      });
      expect(String(error)).toContain(`GET http://127.0.0.1/path: status ${status}`);
      expect(String(error)).not.toContain("secret");
      expect(requests).toHaveLength(1);
    }
  });

  test("fails with its last error when no attempt helps", async () => {
    const clock = testClock();
    const { fetch, requests } = answers(new Response("", { status: 429 }));
    const { result } = bench(clock.environment).attempt(httpRequest("get", { url, fetch, attempts: 4 }), 1);
    await clock.advance(60_000);
    expect(await caught(result)).toMatchObject({ status: 429, retriable: true });
    expect(requests).toHaveLength(4);
  });

  test("hands a wait that is longer than its own over to the route", async () => {
    const clock = testClock();
    const { fetch, requests } = answers(new Response("", { status: 429, headers: { "retry-after": "120" } }));
    const { result } = bench(clock.environment).attempt(httpRequest("get", { url, fetch }), 1);
    await clock.advance(1_000);
    expect(await caught(result)).toMatchObject({ status: 429, retriable: true, retryAfterMs: 120_000 });
    expect(requests).toHaveLength(1);
  });

  test("that takes too long is cancelled and repeated", async () => {
    const clock = testClock();
    const signals: AbortSignal[] = [];
    const fetch: Fetch = (_url, { signal }) => {
      signals.push(signal as AbortSignal);
      return new Promise(() => undefined);
    };
    const { result } = bench(clock.environment).attempt(
      httpRequest("get", { url, fetch, timeoutMs: 50, attempts: 2 }),
      1,
    );
    await clock.advance(20_000);
    expect(await caught(result)).toBeInstanceOf(AttemptTimeoutError);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  test("ends with the attempt at its message", async () => {
    const at = bench();
    const fetch: Fetch = (_url, { signal }) =>
      new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
    const { result } = at.attempt(httpRequest("get", { url, fetch }), 1);
    at.abort.abort(new Error("cancelled"));
    await expect(result).rejects.toThrow("cancelled");
  });

  test("does not take more of a body than allowed [Y95]", async () => {
    let pulled = 0;
    const endless = new ReadableStream({
      pull: (controller) => {
        pulled++;
        controller.enqueue(new Uint8Array(1_000));
      },
    });
    const fetch: Fetch = async () => new Response(endless);
    const error = await caught(bench().pass(httpRequest("get", { url, fetch, maxBytes: 2_500 }), 1));
    expect(error).toBeInstanceOf(HttpBodyError);
    expect(error).toMatchObject({ code: "ERR_PIPELINE_HTTP_BODY", retriable: false });
    expect(pulled).toBeLessThan(10);
  });

  test("fails for good where it cannot be made, and where the body is no JSON", async () => {
    const { fetch } = answers(new Response("<html>"));
    const at = bench();
    expect(await caught(at.pass(httpRequest("get", { url, fetch }), 1))).toMatchObject({ retriable: false });
    for (const wrong of ["nowhere", "ftp://a.example", "", "http://user:secret@a.example"]) {
      const error = await caught(at.pass(httpRequest("get", { url: () => wrong }), 1));
      expect(error).toBeInstanceOf(HttpFailedError);
      expect(error).toMatchObject({ code: "ERR_PIPELINE_HTTP_FAILED", retriable: false });
    }
    const header = httpRequest("get", { url, headers: { "a\nb": "1" } });
    expect(await caught(at.pass(header, 1))).toMatchObject({ retriable: false });
  });

  test("checks its options", () => {
    const wrong: [object, string][] = [
      [{}, "url"],
      [{ url: "ftp://a.example" }, "url"],
      [{ url, header: {} }, "did you mean headers?"],
      [{ url, maxBytes: 0 }, "maxBytes"],
      [{ url, attempts: 0 }, "attempts"],
      [{ url, timeoutMs: 0 }, "timeoutMs"],
      [{ url, body: 7 }, "body"],
      [{ url, fetch: 7 }, "fetch"],
      [{ url, breaker: { failureRate: 0.5 } }, "breaker"],
      [{ url, idempotencyHeader: "" }, "idempotencyHeader"],
    ];
    for (const [options, path] of wrong) expect(() => httpRequest("get", options as never)).toThrow(path);
  });
});

/** A server on this machine. */
async function server(handle: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const http = createServer(handle);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  after.add(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

describe("over a real connection", () => {
  test("a request is answered; one whose connection breaks off, or is refused, may be repeated", async () => {
    const system = new System({ report: false });
    after.add(() => system.stop({ timeoutMs: 0 }));
    const at = new Bench(system);
    const base = await server((request, response) => {
      if (request.url === "/broken") {
        response.writeHead(200, { "content-length": "10" });
        response.write("half");
        request.socket.destroySoon();
      } else response.end(JSON.stringify({ key: request.headers["idempotency-key"] }));
    });
    expect(await at.pass(httpRequest("get", { url: `${base}/`, attempts: 1 }), 1, { id: "10.10" })).toEqual([
      { key: "e/10.10/get" },
    ]);
    const broken = await caught(at.pass(httpRequest("broken", { url: `${base}/broken`, attempts: 1 }), 1));
    expect(broken).toBeInstanceOf(HttpFailedError);
    expect(broken).toMatchObject({ retriable: true });
    const refused = await caught(
      at.pass(httpRequest("refused", { url: "http://127.0.0.1:1/", attempts: 1 }), 1),
    );
    expect(refused).toBeInstanceOf(HttpFailedError);
  });
});

describe("pages over HTTP", () => {
  /** Pages of two values, up to this number. */
  function pages(most: number) {
    const asked: string[] = [];
    const fetch: Fetch = async (at) => {
      asked.push(at);
      const from = Number(new URL(at).searchParams.get("from") ?? "0");
      const values = [from, from + 1].filter((n) => n < most);
      return Response.json({
        values,
        next: from + 2 < most ? `http://a.example/?from=${from + 2}` : undefined,
      });
    };
    const source = httpPages("pages", {
      first: "http://a.example/",
      page: (reply) => {
        const { values, next } = reply.json() as { values: number[]; next?: string };
        return { values, next: next === undefined ? undefined : { url: next } };
      },
      fetch,
    });
    return { source, asked };
  }

  async function read(source: ReturnType<typeof pages>["source"], checkpoint?: never) {
    const { kernel } = bench().system;
    const all = [];
    const ctx = { checkpoint, input: undefined, signal: new AbortController().signal, kernel };
    for await (const one of source.open(ctx)) all.push(one);
    return all;
  }

  test("give their values, and go on behind each of them [Y96]", async () => {
    const { source, asked } = pages(5);
    const all = await read(source);
    expect(all.map(({ value }) => value)).toEqual([0, 1, 2, 3, 4]);
    for (const [i, { checkpoint }] of all.entries()) {
      asked.length = 0;
      expect((await read(source, checkpoint as never)).map(({ value }) => value)).toEqual(
        [0, 1, 2, 3, 4].slice(i + 1),
      );
      // The page at hand and those behind it; none twice.
      expect(asked).toHaveLength([3, 2, 2, 1, 0][i] as number);
    }
  });

  test("fail the execution with the error of the request, and with what is no page", async () => {
    const { fetch } = answers(new Response("", { status: 403 }));
    const source = httpPages<number>("pages", {
      first: () => url,
      page: () => ({ values: [], next: undefined }),
      fetch,
    });
    await expect(read(source as never)).rejects.toBeInstanceOf(HttpStatusError);
    const odd = httpPages<number>("pages", {
      first: url,
      page: () => 7 as never,
      fetch: answers(new Response("")).fetch,
    });
    await expect(read(odd as never)).rejects.toThrow("a function that returns { values, next }");
    expect(() => httpPages("pages", { first: url } as never)).toThrow("page");
    expect(() => httpPages("pages", { first: { uri: url }, page: () => 1 } as never)).toThrow(
      "did you mean url?",
    );
  });
});
