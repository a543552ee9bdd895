// A feed that is as fast as its reader: an hour's worth of differences in seconds. It stands before an observer, passes on what it does not answer, and
// changes each number of a view's value in turn.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Json } from "../../../lib/admin/json-view.js";
import { difference } from "../../../lib/observer/feed/difference.js";

export interface FastFeed {
  /** The address of the page, with the token of the observer. */
  readonly url: string;
  /** Differences that were sent. */
  readonly sent: number;
  close(): Promise<void>;
}

/** How much a number moves in turn. */
const MOVES = 17;

/** @param most - differences of each view */
export async function fastFeed(observer: string, most: number): Promise<FastFeed> {
  const { origin, hash } = new URL(observer);
  let sent = 0;
  const asked = async (path: string, body: string, headers: Record<string, string>): Promise<Response> =>
    fetch(`${origin}${path}`, { method: "POST", body, headers });

  const stream = async (
    body: string,
    headers: Record<string, string>,
    out: ServerResponse,
  ): Promise<void> => {
    const { views } = JSON.parse(body) as { views: { key: string; op: string; args: object }[] };
    out.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    const write = async (event: string, data: object): Promise<void> => {
      if (out.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`)) return;
      await new Promise<void>((resolve) => {
        const goOn = (): void => {
          out.off("drain", goOn);
          out.off("close", goOn);
          resolve();
        };
        out.on("drain", goOn);
        out.on("close", goOn);
      });
    };
    const values = new Map<string, Json>();
    for (const { key, op, args } of views) {
      const answer = await asked("/api/ask", JSON.stringify({ op, args }), headers);
      const { ok } = (await answer.json()) as { ok?: Json };
      if (ok === undefined) continue;
      values.set(key, ok);
      await write("whole", { key, revision: 0, value: ok });
    }
    for (let n = 1; n <= most && !out.destroyed; n++) {
      for (const [key, value] of values) {
        const next = moved(value, n);
        const patch = difference(value, next);
        if (patch === undefined) continue;
        values.set(key, next);
        await write("change", { key, revision: n, from: n - 1, patch });
        sent++;
      }
      // The reader's turns: without them the page would get all of it in one.
      if (n % 10 === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };

  const handle = async (request: IncomingMessage, out: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString("utf8");
    const { authorization = "", "content-type": type = "application/json" } = request.headers;
    const headers = { authorization, "content-type": type };
    if (request.url === "/api/feed") return stream(body, headers, out);
    const path = request.url ?? "/";
    const answer = request.method === "POST" ? await asked(path, body, headers) : await fetch(origin + path);
    const { status } = answer;
    const shown = ["content-type", "content-security-policy"].flatMap((name) => {
      const value = answer.headers.get(name);
      return value === null ? [] : [[name, value] as const];
    });
    out.writeHead(status, Object.fromEntries(shown)).end(Buffer.from(await answer.arrayBuffer()));
  };

  const server = createServer((request, out) => {
    void handle(request, out).catch(() => out.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/${hash}`,
    get sent() {
      return sent;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The same value, with some of its numbers changed. Keys stay. */
function moved(value: Json, n: number, name = ""): Json {
  if (typeof value === "number")
    return KEYS.has(name) ? value : Math.abs(value + ((n * 7) % MOVES) - MOVES / 2);
  if (Array.isArray(value)) return value.map((one) => moved(one as Json, n));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, moved(one as Json, n, key)]));
}

const KEYS = new Set(["number", "place", "cause", "at", "lastAt", "since", "keepsSince"]);
