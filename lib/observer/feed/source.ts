// What an observer asks: the operations of the program that it runs in. A command has another source, at an admin socket.

import { keptFor } from "../../admin/history/kept.js";
import { type Json, toJson } from "../../admin/json-view.js";
import {
  type Args,
  chosenOf,
  type Leave,
  type Stores,
  type SystemId,
  storesOf,
} from "../../admin/protocol.js";
import { operationsOn } from "../../admin/system/kernel-operations.js";
import { offeredBy } from "../../admin/system/offered.js";
import type { Kernel } from "../../process/kernel.js";
import { offerSpansOf } from "../../service/telemetry/telemetry.js";

/** The operations that an observer shows. */
export interface ObserverSource {
  /** The name of the program. */
  readonly name: string;
  /** The names of the operations that are offered now, such as `system.top` and `list`. */
  readonly names: readonly string[];
  /** The systems that are looked at. */
  readonly systems: readonly SystemId[];
  /** The stores that the argument `store` of an operation may name, by the subject of the operation. */
  readonly stores?: Stores | undefined;
  /** The right that an operation needs. Undefined: there is no such operation now. */
  leaveOf(op: string): Leave | undefined;
  /** Carries out an operation. Rejects with its error. */
  look(op: string, args: Args, signal: AbortSignal): Promise<Json>;
  /** Has what is kept only for observers kept, until the call that it gives. */
  hold?(): () => void;
}

/** The operations of all hosts in a system, and those on the system. */
export function sourceIn(kernel: Kernel): ObserverSource {
  const operations = offeredBy(kernel);
  // They have what there is to keep, also before anybody looks.
  operationsOn(kernel);
  offerSpansOf(kernel);
  const { name, id } = kernel.node;
  return {
    name,
    systems: [{ name, id }],
    get names() {
      return operations.names;
    },
    get stores() {
      return storesOf(operations);
    },
    leaveOf: (op) => operations.find(op)[0]?.leave,
    look: async (op, args, signal) => {
      const { run } = await chosenOf(operations, op, args);
      return toJson(await run(args, signal));
    },
    hold: () => keptFor(kernel).hold(),
  };
}
