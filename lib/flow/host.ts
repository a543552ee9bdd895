// Flow hosts as users start them: their program finds their operations, and they have an admin socket and a retention.

import { socketOf } from "../admin/admin-socket.js";
import { offerWhile } from "../admin/system/offered.js";
import { adminLodging } from "../host/index.js";
import { supervisor } from "../supervisor/supervisor.js";
import { portOn } from "./operations/open-operations.js";
import { flowService } from "./operations/operations-table.js";
import { checkRetention, retentionProcess } from "./operations/retention.js";
import { StoreOperations } from "./operations/store-operations.js";
import { type FlowHostDefinition, flowHost as hostOf } from "./runtime/flow-host.js";
import type { FlowHostOptions, HostService } from "./runtime/options.js";

/**
 * Defines a host of durable flows: start it, or make it a child of a supervisor. A host of a SQLite file listens on a Unix socket beside
 * the file, where `npx signalbox flows` reaches it.
 *
 * @throws OptionError
 * @example
 * const flows = await system.start(flowHost({ store: memory(), flows: [greet] }));
 * const run = await flows.start(greet, "Ada", { id: "greet-ada" });
 * console.log(await run.result());
 */
export function flowHost(options: FlowHostOptions): FlowHostDefinition {
  const socket = socketOf(options);
  const retention = options?.retention === undefined ? undefined : checkRetention(options.retention);
  const service: HostService = ({
    kernel,
    alive,
    store,
    payloads,
    background,
    start,
    has,
    held,
    evidence,
  }) => {
    const after = (ms: number, fn: () => void) => {
      const timer = kernel.addTimer(ms, { fire: fn });
      return () => void kernel.cancelTimer(timer);
    };
    const port = { ...portOn(store, kernel.env, after, payloads), start, held, evidence: () => [evidence()] };
    const operations = flowService(new StoreOperations(port), has);
    offerWhile(alive, kernel, operations, { store: store.label, atSockets: options.socket !== false });
    const children = [
      ...(socket === undefined
        ? []
        : [{ id: "admin socket", start: adminLodging(socket, operations, kernel) }]),
      ...(retention === undefined
        ? []
        : [{ id: "retention", start: retentionProcess(store, port.removals, retention, background) }]),
    ];
    return children.length === 0 ? undefined : supervisor({ strategy: "one_for_one", children });
  };
  return hostOf(options, [service]);
}
