// The topology that a module exports: the only one, or the one that the user names.

import type { Topology } from "../../topology/topology.js";
import { Misuse } from "../shell/arguments.js";
import { type Exports, lacks } from "../shell/module.js";

export interface ExportedTopology {
  /** The name of the export. */
  readonly name: string;
  readonly topology: Topology;
}

/** @param wanted - the value of `--export`. @throws Misuse */
export function exportedTopology(module: string, exports: Exports, wanted?: string): ExportedTopology {
  if (wanted !== undefined) {
    const value = Object.hasOwn(exports, wanted) ? exports[wanted] : undefined;
    if (isTopology(value)) return { name: wanted, topology: value };
    if (isBuilder(value)) throw unbuilt(module, wanted);
    throw lacks(module, `no topology ${wanted}`, exports);
  }
  const found = Object.entries(exports).filter(([, value]) => isTopology(value)) as [string, Topology][];
  // A topology with two names, such as `default` and its own, is one.
  const [first, ...others] = [...new Map(found.map(([name, one]) => [one, name])).entries()];
  if (first !== undefined && others.length === 0) return { name: first[1], topology: first[0] };
  if (first !== undefined)
    throw new Misuse(
      `${module} exports several topologies; which one? Pass --export ${found.map(([name]) => name).join(" or --export ")}`,
    );
  const builder = Object.entries(exports).find(([, value]) => isBuilder(value));
  throw builder === undefined ? lacks(module, "no topology", exports) : unbuilt(module, builder[0]);
}

const unbuilt = (module: string, name: string): Misuse =>
  new Misuse(`${module} exports ${name}, a topology that is not built: end its declaration with .build()`);

/** Not by class: the module has a signalbox of its own. */
function isTopology(value: unknown): value is Topology {
  const { name, blueprint } = (value ?? {}) as Partial<Topology>;
  return (
    typeof name === "string" && Array.isArray(blueprint?.components) && Array.isArray(blueprint.subscriptions)
  );
}

function isBuilder(value: unknown): boolean {
  const { name, build, spout, bolt } = (value ?? {}) as Record<string, unknown>;
  return typeof name === "string" && [build, spout, bolt].every((one) => typeof one === "function");
}
