// The tree: a dynamic supervisor with a process for each connection, and the HTTP server that upgrades requests.

import { createServer } from "node:http";
import {
  type DynamicSupervisorRef,
  dynamicSupervisor,
  type SupervisorDefinition,
  type System,
  supervisor,
} from "signalbox";
import { type HttpServerOptions, httpServer } from "signalbox/service";
import { WebSocketServer } from "ws";
import { Connection, type Socket } from "./connection.js";

type Arguments = readonly [system: System, socket: Socket, room: string];

export const Connections: SupervisorDefinition<DynamicSupervisorRef<Arguments>> = dynamicSupervisor({
  child: { id: "connection", start: Connection, restart: "temporary" }, // a client that lost its connection connects again
  maxChildren: 10_000,
});

/** A chat with rooms: `ws://host:port/rooms/NAME`. */
export function chat(system: System, options: Omit<HttpServerOptions, "createServer">): SupervisorDefinition {
  const connections = Connections.at(system, "connections");
  const sockets = new WebSocketServer({ noServer: true, clientTracking: false, maxPayload: 16_384 });
  const pages = { fetch: () => new Response("connect to /rooms/NAME with a WebSocket\n") };
  const http = httpServer(pages, {
    ...options,
    createServer: (settings, listener) =>
      createServer(settings, listener).on("upgrade", (request, stream, head) => {
        stream.on("error", () => stream.destroy());
        const room = /^\/rooms\/(\w+)$/.exec(request.url ?? "")?.[1];
        if (room === undefined) return void stream.end("HTTP/1.1 404 Not Found\r\n\r\n");
        sockets.handleUpgrade(request, stream, head, (socket) => {
          socket.on("error", () => socket.terminate());
          socket.pause(); // until its process listens
          connections.startLike([system, socket, room]).catch(() => socket.close(1013, "try again later"));
        });
      }),
  });
  return supervisor({
    strategy: "rest_for_one",
    children: [
      { id: "connections", name: "connections", start: Connections },
      { id: "http", start: http }, // last, so it stops first: no new connections while the others end
    ],
  });
}
