// Trees of tasks whose director was killed. Their supervisors take time to stop them. The next director of the topology
// waits for their end; otherwise its tasks would run beside the old ones.

import type { Kernel } from "../../process/kernel.js";
import type { Process } from "../../process/process.js";
import type { Blueprint } from "../definition/blueprint.js";
import type { RunningTopology } from "../runtime/running-topology.js";

interface Tree {
  readonly director: Process;
  readonly root: Process;
  readonly run: RunningTopology;
}

const trees = new WeakMap<Kernel, Set<Tree>>();

/** The director has started this tree. */
export function plant(director: Process, root: Process, run: RunningTopology): void {
  const known = trees.get(run.kernel) ?? new Set();
  trees.set(run.kernel, known);
  for (const tree of known) if (!tree.root.alive) known.delete(tree);
  known.add({ director, root, run });
  touched(run, "write");
}

/** The roots of trees of this topology whose directors have ended. Their tasks are switched to a hasty end. */
export function orphansOf(blueprint: Blueprint, run: RunningTopology): readonly Process[] {
  touched(run, "read");
  const left = [...(trees.get(run.kernel) ?? [])].filter(
    (tree) => tree.run.blueprint === blueprint && tree.root.alive && !tree.director.alive,
  );
  for (const tree of left) {
    tree.run.switches.ending = true;
    tree.run.switches.hasty = true;
  }
  return left.map(({ root }) => root);
}

function touched({ kernel, name }: RunningTopology, how: "read" | "write"): void {
  kernel.shared?.of(`t:${name}/orphans`, how);
}
