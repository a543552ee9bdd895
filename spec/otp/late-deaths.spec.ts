// Whatever an operation on a supervisor tree causes has happened when nothing moves any more: a question that only looks
// finds the tree at rest. (Of 2,268 fresh recordings one had a death a step later here than in OTP; none could be made.)

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TreeRun } from "./supervisors.js";
import type { ChildNode, RootNode, Strategy, TreeOp, WorkerNode } from "./trace.js";

const strategy = fc.constantFrom<Strategy>("one_for_one", "one_for_all", "rest_for_one");
const restart = fc.constantFrom("permanent" as const, "transient" as const, "temporary" as const);
const stopping = fc.constantFrom("never" as const, "any_significant" as const, "all_significant" as const);
const outcome = fc.constantFrom("ok" as const, "error" as const, "ignore" as const);

const worker: fc.Arbitrary<WorkerNode> = fc
  .tuple(
    restart,
    fc.constantFrom(100, "infinity" as const, "brutal_kill" as const),
    fc.boolean(),
    fc.boolean(),
  )
  .chain(([how, shutdown, isSignificant, traps]) =>
    fc
      .array(outcome, { maxLength: 2 })
      // A permanent child may not be significant, and a first start that fails ends the tree.
      .map((later) => {
        const plan = later.length === 0 ? [] : (["ok", ...later] as const);
        return ["worker", "", how, shutdown, isSignificant && how !== "permanent", traps, plan];
      }),
  );

const { children } = fc.letrec<{ children: ChildNode[] }>((tie) => ({
  children: fc.array(
    fc.oneof(
      { maxDepth: 2 },
      worker,
      fc
        .tuple(restart, strategy, fc.nat(2), stopping, tie("children"))
        .map(([how, by, intensity, auto, below]): ChildNode => ["sup", "", how, by, intensity, auto, below]),
    ),
    { minLength: 1, maxLength: 3 },
  ),
}));

/** Gives each child an id of its own: `w1`, `s2`. A supervisor that never stops by itself has no significant children. */
function named(
  nodes: readonly ChildNode[],
  auto: string,
  above: string,
  ids: Map<string, string>,
): ChildNode[] {
  return nodes.map((node) => {
    const id = `${node[0][0]}${ids.size}`;
    ids.set(id, above);
    if (node[0] === "worker") {
      const [kind, , how, shutdown, isSignificant, traps, plan] = node;
      return [kind, id, how, shutdown, isSignificant && auto !== "never", traps, plan];
    }
    const [kind, , how, by, intensity, own, below] = node;
    return [kind, id, how, by, intensity, own, named(below, own, id, ids)];
  });
}

const step = fc.tuple(fc.nat(5), fc.nat(), fc.constantFrom("normal", "shutdown", "boom", "kill"), worker);

function operation(
  [kind, which, reason, made]: readonly [number, number, string, WorkerNode],
  ids: Map<string, string>,
): TreeOp {
  const [id, above] = [...ids][which % ids.size] as [string, string];
  if (kind === 0 && id.startsWith("w") && reason !== "kill") return ["exit", id, reason];
  if (kind <= 2) return ["signal", id, reason];
  if (kind === 3) return ["terminate_child", above, id];
  if (kind === 4) return ["restart_child", above, id];
  return ["start_child", above, named([made], "never", above, ids)[0] as ChildNode];
}

describe("a supervisor tree", () => {
  it("has no death, start or end that comes after everything has come to rest", async () => {
    let deaths = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.tuple(strategy, fc.nat(3), stopping, children),
        fc.array(step, { minLength: 1, maxLength: 8 }),
        async ([by, intensity, auto, below], steps) => {
          const ids = new Map<string, string>();
          const root: RootNode = ["sup", "root", by, intensity, auto, named(below, auto, "root", ids)];
          const run = new TreeRun(root);
          await run.step("start");
          for (const one of steps) {
            const seen = await run.step(operation(one, ids));
            deaths += (seen.died as unknown[]).length;
            for (const look of ["count_children", "which_children"] as const)
              expect(await run.step([look, "root"])).toMatchObject({ order: [], died: [] });
          }
          await run.close();
        },
      ),
      { numRuns: 300 },
    );
    expect(deaths).toBeGreaterThan(300);
  });
});
