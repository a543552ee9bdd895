// The tree: the devices, the connections, and the listener that accepts them.

import { once } from "node:events";
import { createServer, type Server } from "node:net";
import {
  defineServer,
  dynamicSupervisor,
  Registry,
  type SupervisorDefinition,
  type System,
  supervisor,
  taskSupervisor,
} from "signalbox";
import { serve } from "./connection.js";
import { Device, LIMITS, type Store } from "./device.js";

export interface FleetOptions {
  readonly port: number;
  readonly host: string;
  readonly store: Store;
  readonly onListening?: (port: number) => void;
}

/** A service that takes the readings of devices over TCP. */
export function fleet(
  system: System,
  { port, host, store, onListening }: FleetOptions,
): SupervisorDefinition {
  // #region key
  const keys = new Registry<string>(system, { name: "devices" });
  const Devices = dynamicSupervisor({
    child: { id: "device", start: Device, restart: "temporary", name: (id) => keys.claim(id) },
    maxChildren: LIMITS.maxDevices,
  });
  // #endregion key
  const Connections = taskSupervisor({ maxTasks: LIMITS.maxDevices });
  const devices = Devices.at(system, "devices");
  const connections = Connections.at(system, "connections");

  const Listener = defineServer({
    label: "listener",
    init: async (ctx) => {
      const server: Server = createServer((socket) => {
        socket.on("error", () => socket.destroy());
        try {
          connections.start((task) => serve(socket, task.signal, devices, store), { label: "connection" });
        } catch {
          socket.destroy(); // too many, or the service ends
        }
      });
      ctx.signal.addEventListener("abort", () => server.close());
      server.listen({ port, host, backlog: 1_024 });
      await once(server, "listening", { signal: ctx.signal });
      server.on(
        "error",
        ctx.wrap((error) => Promise.reject(error)),
      ); // a failure of this process, not of the host
      onListening?.((server.address() as { readonly port: number }).port);
      return server;
    },
  });
  return supervisor({
    strategy: "rest_for_one",
    children: [
      { id: "devices", name: "devices", start: Devices },
      { id: "connections", name: "connections", start: Connections },
      { id: "listener", start: Listener }, // last, so it stops first
    ],
  });
}
