// The common part of the commands of `signalbox pipelines`: how they reach executions, and how they print results.

import type { PayloadOptions } from "../../host/payload/payloads.js";
import type { AnyPipeline } from "../../pipeline/definition/pipeline.js";
import type { ExecutionStatus } from "../../pipeline/ledger/tables.js";
import type { PipelineOperations } from "../../pipeline/operations/operations.js";
import type { StoreSource } from "../../store/index.js";
import type { Commands } from "../shell/commands.js";
import type { CommandContext as Common, Opened } from "../shell/context.js";
import { CommandKit } from "../shell/kit.js";
import type { LetterHost } from "../shell/letters.js";
import type { Code } from "./code.js";

/** Opens a store that no host has open. */
export interface Reach {
  /** How its values are read. */
  readonly payloads: PayloadOptions;
  /** The pipelines as they are now, for replays. */
  readonly pipelines: readonly AnyPipeline[];
}

/** A wish of the user that the command ends: a signal of the terminal. */
export interface Interruption {
  readonly signal: AbortSignal;
  /** The exit code of a command that was interrupted: 128 and the number of the signal. */
  readonly code: number;
  /** Listens no more. */
  release(): void;
}

/** The surroundings of the command. */
export interface PipelinesHost extends LetterHost {
  /** Reaches the executions of a store: a file, or a URL of PostgreSQL. @throws Error */
  open(store: string, reach: Reach): Promise<Opened<PipelineOperations>>;
  /** The store that `run` opens. @throws Error */
  source(store: string): StoreSource;
  /** @throws Error */
  read(path: string): string;
  /** Draws a line over the one before; undefined clears it. Does nothing where there is no terminal. */
  draw(line: string | undefined): void;
  /** From now on, the signals of the terminal do not end the program at once; the second one does. */
  interruption(): Interruption;
}

/** The context of a command. Its operations know the pipelines of the module, and those that the command adds. */
export interface CommandContext
  extends Common<PipelineOperations, PipelinesHost, ExecutionStatus, [more?: readonly AnyPipeline[]]> {
  /** The value of `--store`. */
  readonly store: string | undefined;
  /** The module that `--code` names, or the types that come with the library. */
  readonly code: Code;
}

/** Commands of `signalbox pipelines`. */
export type PipelinesCommands = Commands<CommandContext>;

export const kit: CommandKit<CommandContext, PipelineOperations> = new CommandKit();
