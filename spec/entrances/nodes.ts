// The entrances of nodes.

import type { System } from "signalbox";
import { singleton, storeLeases } from "signalbox/nodes";
import { memory, openStore } from "signalbox/store";
import { type Lines, nothing, on } from "./lines.js";

export async function nodes(system: System): Promise<Lines> {
  const store = await openStore(system, memory(), []);
  const only = singleton(system, { name: "only", lease: store, start: nothing });
  const ref = await system.start(only);
  return {
    "SingletonRef.here": () => [on(ref, "here"), {}],
    singleton: () => [singleton, system, { name: "only", lease: store, start: nothing }],
    storeLeases: () => [storeLeases, store, {}],
  };
}
