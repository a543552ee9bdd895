// The supervision tree of the past under any schedule: at each moment it is the tree that the supervisors showed then.

import {
  type Callbacks,
  custom,
  dynamicSupervisor,
  type Pid,
  type SupervisorRef,
  type System,
  supervisor,
} from "signalbox";
import { describe, it } from "vitest";
import { keptFor } from "../../../lib/admin/history/kept.js";
import type { PastTree } from "../../../lib/admin/history/past-tree.js";
import { KernelOperations } from "../../../lib/admin/system/kernel-operations.js";
import { pidText, stateOf } from "../../../lib/admin/system/processes/view.js";
import { explored } from "../../support/proof.js";

const idle: Callbacks<unknown> = { handle: () => undefined };

/** The tree as the supervisors themselves show it. */
function shown({ kernel }: System): string {
  return kernel
    .processes()
    .map((process) => [process.pid, stateOf(process, "supervisor")?.children] as const)
    .filter(([, children]) => children !== undefined)
    .sort(([a], [b]) => a.id - b.id)
    .map(([pid, children]) => {
      const all = [...(children ?? [])].reverse();
      const texts = all.map((one) => `${one.id} ${one.pid ? pidText(one.pid) : "-"} ${one.status}`);
      return `${pidText(pid)}: ${texts.join(", ")}`;
    })
    .join("\n");
}

const past = ({ supervisors }: PastTree): string =>
  supervisors
    .map(({ pid, listed }) => {
      const children = listed.map((one) => `${one.id} ${one.pid ?? "-"} ${one.status}`);
      return `${pid}: ${children.join(", ")}`;
    })
    .join("\n");

describe("under any schedule", () => {
  it("the tree at a time is the tree that the supervisors showed at that time [N1622] [N1620]", async () => {
    await explored(
      async (sim) => {
        const system = sim.system({ name: "s" });
        const on = new KernelOperations(system.kernel);
        const strategy = sim.oneOf(["one_for_one", "one_for_all", "rest_for_one"] as const, "strategy");
        const backoff = sim.oneOf([undefined, { minMs: 7, maxMs: 20 }], "backoff");
        const names = ["a", "b", "c"] as const;
        const floor = supervisor({
          label: "floor",
          strategy,
          intensity: 4,
          ...(backoff !== undefined && { backoff }),
          children: names.map((id) => ({
            id,
            name: id,
            start: idle,
            restart: id === "b" ? ("transient" as const) : ("permanent" as const),
          })),
        });
        const lines = dynamicSupervisor({
          label: "lines",
          name: "lines",
          intensity: 3,
          child: { id: "line", start: idle, restart: sim.oneOf(["permanent", "temporary"], "restart") },
        });
        const root = (await system.start(
          supervisor({
            label: "root",
            intensity: 9,
            children: [
              { id: "floor", start: floor },
              { id: "lines", start: lines },
            ],
          }),
        )) as SupervisorRef;
        const many = lines.at(system, "lines");
        const pids: Pid<unknown>[] = [];
        const chaos = async (): Promise<void> => {
          for (let n = 0; n < 8; n++) {
            await sim.sleep(sim.oneOf([0, 3, 10], "pause"));
            const what = sim.oneOf(["kill", "end", "add", "kill line", "stop line", "delete"], "what");
            // Whatever is not there any more is refused.
            const ignored = (asked: Promise<unknown>): Promise<unknown> => asked.catch(() => undefined);
            const whom = sim.oneOf(names, "whom");
            if (what === "kill") system.exit(whom, sim.oneOf([true, false], "how") ? "kill" : custom(1));
            else if (what === "end") system.exit(whom, "normal");
            else if (what === "add")
              await ignored(many.startLike().then((pid) => void pids.push(pid as Pid<unknown>)));
            else if (what === "delete") {
              await ignored(root.startChild({ id: "extra", start: idle, restart: "temporary" }));
              if (sim.oneOf([true, false], "again")) await ignored(root.terminateChild("extra"));
            } else if (pids.length > 0) {
              const which = sim.oneOf([0, 1, 2], "line");
              const line = pids[which % pids.length] as Pid<unknown>;
              if (what === "kill line") system.exit(line, "kill");
              else await ignored(many.terminateChild(line));
            }
          }
        };
        const running = chaos();
        // The history begins in the middle.
        await sim.sleep(sim.oneOf([0, 4, 11], "begin"));
        const release = keptFor(system.kernel).hold();
        const { since } = await on.treeAt();
        const trees: { readonly at: number; readonly tree: string }[] = [];
        // Between the times of the others nothing is left to do, so all agree on the tree.
        await sim.sleep(0.25);
        for (let n = 0; n < 12; n++) {
          await sim.sleep(5.5);
          trees.push({ at: system.kernel.env.wallTime(), tree: shown(system) });
        }
        await running;
        await sim.sleep(50);
        const wrong: string[] = [];
        for (const { at, tree } of trees) {
          const found = past(await on.treeAt({ at }));
          if (at >= since && found !== tree) wrong.push(`at ${at}:\n${tree}\nbut the history has\n${found}`);
        }
        release();
        sim.finally("each tree is known", () => wrong.length === 0 || (wrong[0] as string));
      },
      { name: "the tree of the past", quick: 80 },
    );
  });
});
