// A node of the gateway: it joins the others, runs its part of the devices, and takes connections of any device.

import { once } from "node:events";
import { createServer } from "node:net";
import { defineServer, dynamicSupervisor, type System, supervisor } from "signalbox";
import { type CarrierSource, joinCluster } from "signalbox/nodes";
import type { Store } from "signalbox/store";
import { Connection } from "./connection.js";
import { devicesOf, LIMITS, type Totals } from "./device.js";

export interface GatewayOptions {
  /** `nats({ servers, cluster })`. */
  readonly carrier: CarrierSource;
  /** Shared by all nodes, and open with `keyedSchema`. */
  readonly store: Store;
  readonly host: string;
  /** 0: one that is free. */
  readonly port: number;
}

export interface Gateway {
  /** The port on which devices connect. */
  readonly port: number;
  /** Sends a command to a device, whichever node it is connected to. False: the device has no connection. */
  command(id: string, command: string): Promise<boolean>;
  /** What is known of a device. */
  totals(id: string): Promise<Totals>;
}

export async function gateway(
  system: System,
  { carrier, store, host, port }: GatewayOptions,
): Promise<Gateway> {
  const node = await joinCluster(system, carrier);
  const devices = devicesOf(node, store);
  const Connections = dynamicSupervisor({
    child: { id: "connection", start: Connection, restart: "temporary" }, // a client that lost its connection connects again
    maxChildren: LIMITS.maxDevices,
  });
  const connections = Connections.at(system, "connections");
  let listening = 0;
  const Listener = defineServer({
    label: "listener",
    init: async (ctx) => {
      const server = createServer((socket) => {
        socket.on("error", () => socket.destroy());
        // Too many, or the service ends.
        connections.startLike([devices, socket]).catch(() => socket.destroy());
      });
      ctx.signal.addEventListener("abort", () => server.close());
      server.listen({ port, host, backlog: 1_024 });
      await once(server, "listening", { signal: ctx.signal });
      listening = (server.address() as { readonly port: number }).port;
      return server;
    },
  });
  await system.start(
    supervisor({
      strategy: "rest_for_one",
      children: [
        { id: "devices", start: devices },
        { id: "connections", name: "connections", start: Connections },
        { id: "listener", start: Listener }, // last, so it stops first
      ],
    }),
  );
  return {
    port: listening,
    command: (id, command) => devices.at(id).call.command(command),
    totals: (id) => devices.at(id, { repeat: true }).call.totals(),
  };
}
