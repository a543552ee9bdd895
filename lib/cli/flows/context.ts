// The common part of the commands of `signalbox flows`: how they reach flows, and how they print results.

import type { FlowOperations, FlowStatus } from "../../flow/operations/operations.js";
import type { ValueCodec } from "../../host/payload/values.js";
import type { Store } from "../../store/index.js";
import type { OptionSpecs } from "../shell/arguments.js";
import type { Command } from "../shell/commands.js";
import type { Showing, StoreCommandHost } from "../shell/context.js";
import type { Code } from "./code.js";

/** Operations on the flows of a store. */
export interface Opened {
  readonly operations: FlowOperations;
  /** Through what they go: for people. */
  readonly through: string;
  close(): Promise<void>;
}

/** What the command uses of its surroundings. */
export interface FlowsHost extends StoreCommandHost {
  /**
   * Reaches the flows of a store: a file, or a URL of PostgreSQL. `payloads` read its values where no host does it. @throws Error
   */
  open(store: string, payloads?: ValueCodec): Promise<Opened>;
  /** Opens the tables of a store; of a file that a host has open, those of a copy that the host makes. @throws Error */
  openStore(store: string): Promise<{ readonly store: Store; close(): Promise<void> }>;
  /** A path from the root. */
  absolute(path: string): string;
}

/** What a command is given besides its arguments. */
export interface CommandContext extends Showing<FlowsHost, FlowStatus> {
  /** What `--store` names. */
  readonly store: string;
  readonly operations: FlowOperations;
  /** The module that `--code` names. */
  readonly code: Code | undefined;
}

/** A command of `signalbox flows`. */
export interface FlowsCommand<O extends OptionSpecs = OptionSpecs> extends Command<CommandContext, O> {
  /** It opens the store by itself, and needs no operations. */
  readonly opensStore?: boolean;
}

export function defineCommand<const O extends OptionSpecs>(command: FlowsCommand<O>): FlowsCommand {
  return command as unknown as FlowsCommand;
}
