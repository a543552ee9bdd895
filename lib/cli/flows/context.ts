// The common part of the commands of `signalbox flows`: how they reach flows, and how they print results.

import type { FlowOperations, FlowStatus } from "../../flow/operations/operations.js";
import type { ValueCodec } from "../../host/payload/values.js";
import type { Store } from "../../store/index.js";
import type { Commands } from "../shell/commands.js";
import type { CommandContext as Common, Opened, StoreCommandHost } from "../shell/context.js";
import { CommandKit } from "../shell/kit.js";
import type { Code } from "./code.js";

/** The surroundings of the command. */
export interface FlowsHost extends StoreCommandHost {
  /**
   * Reaches the flows of a store: a file, or a URL of PostgreSQL. `payloads` read its values where no host does it. @throws Error
   */
  open(store: string, payloads?: ValueCodec): Promise<Opened<FlowOperations>>;
  /** Opens the tables of a store; of a file that a host has open, those of a copy that the host makes. @throws Error */
  openStore(store: string): Promise<{ readonly store: Store; close(): Promise<void> }>;
  /** A path from the root. */
  absolute(path: string): string;
}

/** The context of a command. */
export interface CommandContext extends Common<FlowOperations, FlowsHost, FlowStatus> {
  /** The value of `--store`. */
  readonly store: string;
  /** The module that `--code` names. */
  readonly code: Code | undefined;
}

/** Commands of `signalbox flows`. */
export type FlowsCommands = Commands<CommandContext>;

export const kit: CommandKit<CommandContext, FlowOperations> = new CommandKit();
