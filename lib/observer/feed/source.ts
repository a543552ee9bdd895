// What an observer asks: the operations of the program that it runs in. A command has another source, at an admin socket.

import { AdminProtocolError } from "../../admin/errors.js";
import { keptFor } from "../../admin/history/kept.js";
import { type Json, toJson } from "../../admin/json-view.js";
import type { AdminOperation, Args, SystemId } from "../../admin/protocol.js";
import { systemService } from "../../admin/system/system-table.js";
import type { Kernel } from "../../process/kernel.js";
import { only } from "../../process/known-options.js";
import { show } from "../../process/show.js";

/** The operations that an observer shows. */
export interface ObserverSource {
  /** The name of the program. */
  readonly name: string;
  /** The names of the operations that are offered now, such as `system.top` and `list`. */
  readonly names: readonly string[];
  /** The systems that are looked at. */
  readonly systems: readonly SystemId[];
  /** The right that an operation needs. Undefined: there is no such operation now. */
  leaveOf(op: string): "look" | "change" | "remove" | undefined;
  /** Carries out an operation. Rejects with its error. */
  look(op: string, args: Args, signal: AbortSignal): Promise<Json>;
  /** Has what is kept only for observers kept, until the call that it gives. */
  hold?(): () => void;
}

/** The operations on a system. */
export function sourceIn(kernel: Kernel): ObserverSource {
  const { operations } = systemService(kernel);
  const { name, id } = kernel.node;
  const find = (op: string): AdminOperation => {
    const found = operations.get(op);
    if (found === undefined) throw new AdminProtocolError(`there is no operation ${show(op)}`);
    return found;
  };
  return {
    name,
    systems: [{ name, id }],
    names: [...operations.keys()],
    leaveOf: (op) => (operations.has(op) ? "look" : undefined),
    look: async (op, args, signal) => {
      const { args: known, run } = find(op);
      only("args", args, known);
      return toJson(await run(args, signal));
    },
    hold: () => keptFor(kernel).hold(),
  };
}
