// Modules of Node, on hosts that may not have them. A browser refuses a program with a static import of `node:…`, so these
// modules are asked for by name: Node, Deno and Bun answer, and a bundler leaves the question alone.

import { HostModuleError } from "./errors.js";

interface NodeModules {
  readonly "node:async_hooks": typeof import("node:async_hooks");
  readonly "node:child_process": typeof import("node:child_process");
  readonly "node:crypto": typeof import("node:crypto");
  readonly "node:diagnostics_channel": typeof import("node:diagnostics_channel");
  readonly "node:events": typeof import("node:events");
  readonly "node:fs": typeof import("node:fs");
  readonly "node:http": typeof import("node:http");
  readonly "node:module": typeof import("node:module");
  readonly "node:net": typeof import("node:net");
  readonly "node:os": typeof import("node:os");
  readonly "node:path": typeof import("node:path");
  readonly "node:perf_hooks": typeof import("node:perf_hooks");
  readonly "node:process": typeof import("node:process");
  /** Node's types have it later than the oldest Node that the library runs on. */
  readonly "node:sqlite": object;
  readonly "node:stream": typeof import("node:stream");
  readonly "node:timers": typeof import("node:timers");
  readonly "node:util": typeof import("node:util");
  readonly "node:v8": typeof import("node:v8");
  readonly "node:worker_threads": typeof import("node:worker_threads");
}

/** Of this realm: where programs keep what all their modules share. */
export const globalObject: object = globalThis;

/** A module of Node, or undefined on a host that does not have it. */
export function optionalModule<Name extends keyof NodeModules>(name: Name): NodeModules[Name] | undefined {
  const host = (globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } }).process;
  return host?.getBuiltinModule?.(name) as NodeModules[Name] | undefined;
}

function required<Name extends keyof NodeModules>(name: Name): NodeModules[Name] {
  const found = optionalModule(name);
  if (found === undefined) throw new HostModuleError(name);
  return found;
}

const REQUIRED = {
  childProcess: "node:child_process",
  crypto: "node:crypto",
  fs: "node:fs",
  http: "node:http",
  module: "node:module",
  net: "node:net",
  os: "node:os",
  path: "node:path",
  process: "node:process",
  stream: "node:stream",
  timers: "node:timers",
  workerThreads: "node:worker_threads",
} as const;

/** Modules of Node for code that cannot do without them. Reading one throws a HostModuleError where there is none. */
export const node: {
  readonly [name in keyof typeof REQUIRED]: NodeModules[(typeof REQUIRED)[name]];
} = /* @__PURE__ */ new Proxy(REQUIRED, {
  get: (names, name: keyof typeof REQUIRED) =>
    Object.hasOwn(names, name) ? required(names[name]) : undefined,
}) as never;
