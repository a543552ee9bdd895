// The outside world: a bank that charges cards and a carrier that takes parcels, over real HTTP. Both are flaky: a request may be
// refused at the door, or take effect without an answer. Both keep their own books, which the shop never sees.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** How often something goes wrong, from 0 to 1. */
export interface Flakiness {
  /** The request is refused with status 503, and has no effect. */
  readonly refuse: number;
  /** The request takes effect, and its connection is cut off before the answer. */
  readonly cutOff: number;
}

/** What the outside world did, by the id of the order. */
export interface Books {
  /** How often each order was charged. */
  readonly charges: ReadonlyMap<string, number>;
  /** How many parcels left for each order. */
  readonly parcels: ReadonlyMap<string, number>;
}

export interface Outside extends AsyncDisposable {
  readonly url: string;
  readonly books: Books;
  /** Requests that were refused or cut off. */
  readonly troubles: number;
}

/** A card that the bank declines. */
export const BAD_CARD = "declined";

/** @param random - numbers from 0 to 1, below 1 */
export async function openOutside({ refuse, cutOff }: Flakiness, random: () => number): Promise<Outside> {
  const charges = new Map<string, number>();
  const parcels = new Map<string, number>();
  /** The answers that were given, by path and order: the same request again has the same answer and no effect. */
  const answers = new Map<string, object>();
  let troubles = 0;

  const answerTo = (path: string, id: string, body: { readonly card?: unknown }): object | undefined => {
    const known = answers.get(`${path} ${id}`);
    if (known !== undefined) return known;
    const answer = effectOf(path, id, body);
    if (answer !== undefined) answers.set(`${path} ${id}`, answer);
    return answer;
  };
  const effectOf = (path: string, id: string, body: { readonly card?: unknown }): object | undefined => {
    if (path === "/charges") {
      if (body.card === BAD_CARD) return { declined: "no money" };
      charges.set(id, (charges.get(id) ?? 0) + 1);
      return { receipt: `receipt-${charges.size}` };
    }
    if (path !== "/parcels") return undefined;
    parcels.set(id, (parcels.get(id) ?? 0) + 1);
    return { parcel: `parcel-${parcels.size}` };
  };

  const server = createServer((request, response) => {
    void handle(request, response).catch(() => response.destroy());
  });
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const roll = random();
    if (roll < refuse) {
      troubles++;
      response.writeHead(503, { "retry-after": "0" }).end();
      return;
    }
    const key = request.headers["idempotency-key"];
    const body = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { readonly card?: unknown };
    const answer = answerTo(request.url ?? "", String(key), body);
    if (roll < refuse + cutOff) {
      troubles++;
      response.destroy();
    } else if (answer === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  };
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    books: { charges, parcels },
    get troubles() {
      return troubles;
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
