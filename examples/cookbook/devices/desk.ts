// The desk of a node: it takes the requests for the devices that belong to this node, and starts their processes. All desks are one
// consumer group, so that any node can ask for any device.

import {
  CalleeExitedError,
  ConsumerGroup,
  consumer,
  dynamicSupervisor,
  type Pid,
  Registry,
  rendezvous,
  type SupervisorDefinition,
  type System,
  supervisor,
} from "signalbox";
import type { ClusterNode } from "signalbox/nodes";
import { type Command, Device, LIMITS, type Store } from "./device.js";

/** A request travels to another node, so it is data. A pid is data, too. */
export type Request =
  | {
      readonly type: "reading";
      readonly id: string;
      /** Counted by the device from 1, so that a reading which is sent twice counts once. */
      readonly n: number;
      readonly value: number;
      readonly from: Pid<Command>;
    }
  | { readonly type: "command"; readonly id: string; readonly command: string };

/** False: the device could not do it, or has no connection. */
export type Desks = ConsumerGroup<Request, boolean>;

/** How often a request is given to a device that ends. */
const TRIES = 3;
/** How long a request may wait for its device, which may be starting. */
const WAIT_MS = 2_000;

// #region desks
/** The desks of all nodes. A device belongs to one of them, by its key. When a node is lost, only its devices move. */
export function desksOf(node: ClusterNode): Desks {
  return new ConsumerGroup({ name: "desks", scope: node, route: rendezvous(({ payload }) => payload.id) });
}
// #endregion desks

export function desk(system: System, desks: Desks, store: Store): SupervisorDefinition {
  const keys = new Registry<string>(system, { name: "devices" });
  const Devices = dynamicSupervisor({
    child: { id: "device", start: Device, restart: "temporary", name: (id) => keys.claim(id) },
    maxChildren: LIMITS.maxDevices,
  });
  const devices = Devices.at(system, "devices");

  /** A failure of one device is no reason to ask another node: it would start a second process of the device there. */
  const serve = async (request: Request): Promise<boolean> => {
    for (let tries = 1; ; tries++)
      try {
        const device = await devices.startOrGet([request.id, store], { timeoutMs: WAIT_MS });
        if (request.type === "command") return await device.call.command(request.command);
        await device.call.report(request.n, request.value, request.from);
        return true;
      } catch (error) {
        // The process ended before it answered: it crashed, or was idle in this moment. The next one takes the request.
        if (tries === TRIES || !(error instanceof CalleeExitedError)) return false;
      }
  };
  return supervisor({
    strategy: "rest_for_one",
    children: [
      { id: "devices", name: "devices", start: Devices },
      // Its id is the name of the node, so that a node which is started again has the same devices.
      { id: "desk", start: consumer(serve, { group: desks, id: system.name, concurrency: 1_000 }) },
    ],
  });
}
