// The requests of http.ts on srvx alone.

import { serve } from "srvx/node";
import { HELLO, requestsTo, type Serving } from "./http.js";
import type { Program } from "./program.js";
import { SIZES } from "./sizes.js";

export function httpRequest(count: number, send?: Parameters<typeof requestsTo>[2]): Program {
  const open = async (): Promise<Serving> => {
    const server = serve({
      fetch: HELLO.fetch as () => Response,
      port: 0,
      hostname: "127.0.0.1",
      silent: true,
      gracefulShutdown: false,
    });
    await server.ready();
    const { port } = new URL(server.url ?? "");
    return { port: Number(port), end: () => server.close(true) };
  };
  return requestsTo(count, open, send);
}

export const programs: Readonly<Record<string, Program>> = {
  "http-request": httpRequest(SIZES.httpRequest),
};
