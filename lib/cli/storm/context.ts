// The common part of the commands of `signalbox storm`: the surroundings that they use, and how they print.

import type { Commands } from "../shell/commands.js";
import type { CommandContext, StoreCommandHost } from "../shell/context.js";
import type { Folders } from "../shell/folders.js";
import { CommandKit } from "../shell/kit.js";
import type { SpawnedEnd, SpawnedOptions } from "../shell/spawned.js";
import type { Bundler } from "./bundle.js";
import type { Unzip, Zip } from "./jar.js";

/** The surroundings of the command. */
export interface StormHost extends StoreCommandHost {
  readonly folders: Folders;
  /** The variables of the shell. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The path from the working folder. */
  absolute(path: string): string;
  /** A folder that is removed with the program at the latest. */
  temporaryFolder(): { readonly path: string; remove(): void };
  /** Loads the package rolldown. @throws Misuse when it is not installed */
  bundler(): Promise<Bundler>;
  /** Loads the package fflate. @throws Misuse when it is not installed */
  zip(): Promise<Zip & Unzip>;
  /** Runs code of the user, whose prints go to standard error. */
  printingAside<T>(work: () => Promise<T>): Promise<T>;
  /** Runs a program to its end. */
  spawned(program: string, args: readonly string[], options: SpawnedOptions): Promise<SpawnedEnd>;
}

export type Weight = "blocks" | "differs";
export type StormContext = CommandContext<never, StormHost, Weight>;
export type StormCommands = Commands<StormContext>;

export const kit: CommandKit<StormContext, never> = new CommandKit();
