// The version of the package, as the package says.

import { optionalModule } from "../../process/node-modules.js";

let version: string | undefined;

/** Such as `1.2.0`; `unknown` where the package is part of a program's bundle. */
export function versionOf(): string {
  version ??= read();
  return version;
}

function read(): string {
  const require = optionalModule("node:module")?.createRequire(import.meta.url);
  if (require === undefined) return "unknown";
  try {
    return (require("signalbox/package.json") as { readonly version: string }).version;
  } catch {
    return "unknown";
  }
}
