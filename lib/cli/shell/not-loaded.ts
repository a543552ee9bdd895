// Why a module that a command names could not be loaded.

/** @param command - what to put behind the loader, such as `flows check …` */
export function notLoaded(module: string, error: unknown, command: string): string {
  const why = error instanceof Error ? error.message : String(error);
  const isTypeScript = /\.[cm]?tsx?$/.test(module);
  const remedy =
    "\nA module in TypeScript needs a Node that runs it, or a loader: " +
    `node --import tsx node_modules/.bin/signalbox ${command}`;
  return `cannot load ${module}: ${why}${isTypeScript ? remedy : ""}`;
}
