// The admin socket of a host as a supervised process. Each connection is a process of its own, linked to it.

import { type Callbacks, type Stop, stop } from "../../process/behaviour.js";
import type { Context } from "../../process/context.js";
import type { Signal } from "../../process/entries.js";
import type { Pid } from "../../process/pid.js";
import { type Launch, launch, type Startable } from "../../process/start.js";
import { ADMIN_DEFAULTS, type AdminLimits } from "./admin-limits.js";
import { type OpenSocket, openSocket, type Socket } from "./admin-socket.js";
import { connectionBehaviour } from "./connection-process.js";
import type { FlowOperations } from "./operations.js";

/** What an admin server is given. */
export interface AdminServerOptions {
  /** The path of its socket: see `socketPathOf`. */
  readonly path: string;
  readonly operations: FlowOperations;
  readonly limits?: Partial<AdminLimits>;
}

/**
 * The server of an admin socket, for the tree of a host. It has started when it listens; it stops by closing the socket, its
 * connections, and the requests in flight.
 *
 * @throws AdminSocketError at its start
 */
export function adminServer(options: AdminServerOptions): Startable<readonly [], Pid> {
  return {
    [launch]: (): Launch<Pid> => ({
      behaviour: serverBehaviour(options) as Callbacks<never>,
      options: { label: "admin socket", trapExit: true },
      ref: (pid) => pid,
    }),
  };
}

function serverBehaviour({ path, operations, limits }: AdminServerOptions): Callbacks<never> {
  const all: AdminLimits = { ...ADMIN_DEFAULTS, ...limits };
  const connections = new Set<Pid>();
  return {
    init: async (ctx) => {
      const accept = ctx.wrap((socket: Socket) => {
        // A socket that fails is closed, and that is what its process listens for.
        socket.on("error", () => undefined);
        if (connections.size >= all.connections) socket.destroy();
        else connections.add(connect(ctx, socket));
      });
      const opened: OpenSocket = await openSocket(path, accept);
      if (ctx.alive) ctx.signal.addEventListener("abort", () => opened.close());
      else opened.close();
    },
    handle: () => undefined,
    // A connection that crashes is closed, reported by the system, and harms no other.
    signal: (_ctx, signal: Signal): Stop | undefined => {
      if (signal.type !== "exit") return undefined;
      return connections.delete(signal.from) ? undefined : stop(signal.reason);
    },
  };

  function connect(ctx: Context<never>, socket: Socket): Pid {
    return ctx.spawnLink(connectionBehaviour(socket, operations, all), { label: "admin connection" });
  }
}
