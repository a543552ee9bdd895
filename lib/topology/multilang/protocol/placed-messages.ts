// What the task of a bolt and its program elsewhere say to each other: the messages of multilang, as messages between processes.

import type { Pid } from "../../../process/pid.js";
import type { FullConfig } from "../../definition/config.js";
import type { WireTuple } from "./host-messages.js";

/** Which task a program works for: the argument of its start. */
export interface PlacedTask {
  readonly component: string;
  readonly task: number;
  readonly index: number;
  /** The part of the configuration that concerns the program. */
  readonly config: Pick<FullConfig, "concurrency" | "executeTimeoutMs" | "tickMs" | "messageTimeoutMs">;
  /** The process that hears what the program says. */
  readonly host: Pid<FromPlaced>;
}

/** To the program. */
export type ToPlaced =
  | WireTuple
  /** The receiving tasks of an emit that asked for them. */
  | { readonly type: "tasks"; readonly tasks: readonly number[] }
  /** The topology drains. The answer is the ack of this id. */
  | { readonly type: "flush"; readonly id: string }
  /** The task ends in order. */
  | { readonly type: "stop"; readonly final: boolean };

/** From the program. */
export type FromPlaced =
  | { readonly type: "ready"; readonly pid: Pid<ToPlaced> }
  /** Commands of a component, in their order. */
  | { readonly type: "said"; readonly commands: readonly object[] };
