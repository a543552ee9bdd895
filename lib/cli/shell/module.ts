// Modules that a command names: how they are loaded, and the errors for one that cannot be used.

import { Misuse } from "./arguments.js";
import { afterIfThere } from "./host.js";
import { notEnding } from "./output.js";

/** The exports of a module, by name. */
export type Exports = Readonly<Record<string, unknown>>;

/** Time for a module to load. Its top level may await something, such as a connection. */
const LOAD_MS = 60_000;

/**
 * @param command - the words behind the loader of a TypeScript module, such as `flows … --code MODULE`. Undefined: it needs no loader
 * @throws Misuse
 */
export async function loadModule(
  module: string,
  command: string | undefined,
  load: (module: string) => Promise<object>,
  later: typeof afterIfThere = afterIfThere,
): Promise<Exports> {
  try {
    return (await notEnding(`cannot load ${module}`, () => inTime(load(module), later))) as Exports;
  } catch (error) {
    throw new Misuse(notLoaded(module, error, command));
  }
}

/** A module that a timer or a connection keeps alive could be waited for until somebody interrupts the command. */
function inTime(loading: Promise<object>, later: typeof afterIfThere): Promise<object> {
  return new Promise((resolve, reject) => {
    const cancel = later(LOAD_MS, () =>
      reject(
        new Error(
          `it did not load within ${LOAD_MS} ms; await nothing at its top level that may take as long`,
        ),
      ),
    );
    loading.then(resolve, reject).finally(cancel);
  });
}

function notLoaded(module: string, error: unknown, command: string | undefined): string {
  const why = error instanceof Error ? error.message : String(error);
  const needsLoader = command !== undefined && /\.[cm]?tsx?$/.test(module);
  const remedy =
    "\nA module in TypeScript needs a Node that runs it, or a loader: " +
    `node --import tsx node_modules/.bin/signalbox ${command}`;
  return `cannot load ${module}: ${why}${needsLoader ? remedy : ""}`;
}

/** A module lacks an export that the command needs. @param wanted - such as `no flow and no payloads` */
export function lacks(module: string, wanted: string, exports: Exports): Misuse {
  return new Misuse(`${module} exports ${wanted}, only: ${Object.keys(exports).join(", ") || "nothing"}`);
}

/** The error for a wrong export of a module. */
export function unusable(module: string, problem: string): Misuse {
  return new Misuse(`${module} cannot be used: ${problem}`);
}

/** The exports of one kind, alone or in lists. */
export function exportsOf<T>(exports: Exports, isOne: (value: unknown) => value is T): readonly T[] {
  return [...new Set(Object.values(exports).flat().filter(isOne))];
}

/** The export `payloads`: how the values in a store are written and read. @throws Misuse */
export function payloadOptions(module: string, { payloads = {} }: Exports): object {
  if (typeof payloads === "object" && payloads !== null) return payloads;
  throw unusable(module, "payloads must be an object of options");
}
