// `signalbox storm` with the files, programs and terminal of this host. rolldown and fflate are loaded when a command needs them.

import { Misuse } from "../shell/arguments.js";
import { folders } from "../shell/folders.js";
import { files, temporaryFolder, terminal } from "../shell/host.js";
import { printingAside } from "../shell/output.js";
import { spawned } from "../shell/spawned.js";
import type { Bundler } from "./bundle.js";
import type { Unzip, Zip } from "./jar.js";
import { storm } from "./storm.js";

export const stormProgram = (args: readonly string[]): Promise<number> =>
  storm(args, { ...files, ...terminal(), ...packages, folders, temporaryFolder, spawned, printingAside });

/** The packages that the commands use. */
export const packages: {
  bundler(): Promise<Bundler>;
  zip(): Promise<Zip & Unzip>;
} = {
  bundler: () => installed("rolldown", () => import("rolldown") as Promise<object>) as Promise<Bundler>,
  zip: () => installed("fflate", () => import("fflate") as Promise<object>) as Promise<Zip & Unzip>,
};

/** Loads an optional package. @throws Misuse that says how to install it */
export async function installed(name: string, load: () => Promise<object>): Promise<object> {
  try {
    return await load();
  } catch (error) {
    throw new Misuse(
      `this command needs the package ${name}: npm install ${name} (${(error as Error).message})`,
    );
  }
}
