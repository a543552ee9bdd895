// The world outside: a bank, a warehouse and a carrier behind one HTTP server. They do each piece of work once for an idempotency key,
// and note how often they were asked. They can be slow on purpose, so that the service can be killed while it waits.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** An order of this total is declined. */
export const TOO_MUCH = 1_000_000;

/** A request that has taken effect, and has no answer yet. */
export interface Held {
  /** Answers it, if somebody still waits. */
  answer(): void;
}

export interface Outside extends AsyncDisposable {
  readonly url: string;
  /** How often work of a kind was done, such as `/charges`. */
  done(path: string): number;
  /** How often it was asked for. */
  asked(path: string): number;
  /** Holds the answer to the next request of this kind, when its work is done. */
  hold(path: string): Promise<Held>;
}

interface Asked {
  readonly total?: number;
}

export async function openOutside(): Promise<Outside> {
  const done = new Map<string, number>();
  const asked = new Map<string, number>();
  const answers = new Map<string, readonly [status: number, body: object]>();
  const holds = new Map<string, (held: Held) => void>();

  const work = (path: string, { total = 0 }: Asked): readonly [number, object] => {
    if (path === "/charges" && total >= TOO_MUCH) return [402, { error: "not that much" }];
    const count = (done.get(path) ?? 0) + 1;
    done.set(path, count);
    if (path === "/charges") return [200, { receipt: `receipt-${count}` }];
    if (path === "/picks") return [200, { shelf: `shelf-${count}` }];
    if (path === "/parcels") return [200, { parcel: `parcel-${count}` }];
    return [200, {}];
  };

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const path = request.url ?? "";
    const key = `${path} ${String(request.headers["idempotency-key"])}`;
    asked.set(path, (asked.get(path) ?? 0) + 1);
    const answered =
      answers.get(key) ?? work(path, JSON.parse(Buffer.concat(chunks).toString("utf8")) as Asked);
    answers.set(key, answered);
    const [status, body] = answered;
    const answer = (): void => {
      if (!response.destroyed)
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    const hold = holds.get(path);
    holds.delete(path);
    if (hold === undefined) answer();
    else hold({ answer });
  };

  const server = createServer((request, response) => {
    void handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    done: (path) => done.get(path) ?? 0,
    asked: (path) => asked.get(path) ?? 0,
    hold: (path) => new Promise((resolve) => holds.set(path, resolve)),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
