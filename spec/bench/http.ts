// Requests on kept connections: what each costs the server, by the time of its processor. The clients are a process of their own,
// whose time does not count.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { System } from "signalbox";
import { type FetchHandler, httpServer } from "signalbox/service";
import { type Program, Stopwatch } from "./program.js";

/** The handler that both sides serve. */
export const HELLO: Pick<FetchHandler, "fetch"> = { fetch: () => Response.json({ hello: "world" }) };

export interface Serving {
  readonly port: number;
  end(): Promise<unknown>;
}

/** What the clients got. */
export interface Answers {
  readonly complete: number;
}

const run = promisify(execFile);

/** Sends `count` requests from a process of its own. @returns how many were answered with 200 */
async function load(port: number, count: number): Promise<number> {
  const clients = fileURLToPath(new URL("http-load.js", import.meta.url));
  const { stdout } = await run(process.execPath, [clients, String(port), String(count)]);
  return (JSON.parse(stdout) as Answers).complete;
}

/** A program of `count` requests. Its figure is requests for each second of the server's processor. */
export function requestsTo(count: number, open: () => Promise<Serving>, send: typeof load = load): Program {
  return {
    operations: count,
    expected: count,
    run: async () => {
      const { port, end } = await open();
      const watch = new Stopwatch();
      const counted = await send(port, count);
      const perSecond = (count * 1_000) / watch.read().cpuMs;
      return {
        counted,
        figures: { perSecond, perCpuSecond: perSecond },
        end: async () => void (await end()),
      };
    },
  };
}

/** With the options of a user who sets none. */
export function httpRequest(count: number, send?: typeof load): Program {
  const open = async (): Promise<Serving> => {
    const system = new System({ report: false });
    const server = await system.start(httpServer(HELLO, { port: 0, host: "127.0.0.1" }));
    const { port } = await server.address();
    return { port, end: () => system.stop() };
  };
  return requestsTo(count, open, send);
}
