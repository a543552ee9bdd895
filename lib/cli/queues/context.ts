// The common part of the commands of `signalbox queues`: how they reach queues, and how they print results.

import type { PayloadOptions } from "../../host/payload/payloads.js";
import type { QueueOperations } from "../../pipeline/queues/operations.js";
import type { OptionSpecs } from "../shell/arguments.js";
import type { Command } from "../shell/commands.js";
import type { Showing } from "../shell/context.js";
import type { LetterHost } from "../shell/letters.js";

/** Operations on the queues of a store. */
export interface Opened {
  readonly operations: QueueOperations;
  close(): Promise<void>;
}

/** What the command uses of its surroundings. */
export interface QueuesHost extends LetterHost {
  /** Reaches the queues of a store: a file, or a URL of PostgreSQL. @param payloads - of values, where no host has the store open @throws Error */
  open(store: string, payloads: PayloadOptions): Promise<Opened>;
}

/** What a command is given besides its arguments. */
export interface CommandContext extends Showing<QueuesHost, never> {
  readonly operations: QueueOperations;
}

/** A command of `signalbox queues`. */
export type QueuesCommand<O extends OptionSpecs = OptionSpecs> = Command<CommandContext, O>;

export function defineCommand<const O extends OptionSpecs>(command: QueuesCommand<O>): QueuesCommand {
  return command as unknown as QueuesCommand;
}
