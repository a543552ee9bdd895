// The history under any schedule: it counts what really ended, and each restart and re-routing leads to the crash that it came from.

import { type Callbacks, ConsumerGroup, type Delivery, supervisor } from "signalbox";
import { describe, it } from "vitest";
import { keptFor } from "../../../lib/admin/history/kept.js";
import { KernelOperations } from "../../../lib/admin/system/kernel-operations.js";
import { isOrderly } from "../../../lib/process/reason.js";
import { explored } from "../../support/proof.js";

describe("under any schedule", () => {
  it("every abnormal end, restart and re-routing is counted once, and has its cause [N1522] [N1523]", async () => {
    await explored(
      async (sim) => {
        const system = sim.system({ name: "s" });
        const on = new KernelOperations(system.kernel);
        const release = keptFor(system.kernel).hold();
        const ends = { crash: 0, restart: 0, reroute: 0 };
        system.events.on("exit", ({ reason }) => void (isOrderly(reason) || ends.crash++));
        system.events.on("restart", ({ gaveUp }) => void (gaveUp || ends.restart++));
        system.events.on("reroute", () => void ends.reroute++);
        const group = new ConsumerGroup<string>({ name: "clerks", deadlineMs: 1_000 });
        const clerk = (id: string): Callbacks<Delivery<string>> => ({
          init: (ctx) => {
            group.join(ctx.self, { id });
            // Falls with the clerk.
            if (id === "a") ctx.spawnLink({ handle: () => undefined }, { label: "helper" });
          },
          handle: async (_ctx, delivery) => {
            await sim.sleep(5);
            if (delivery.payload === "bad" && delivery.attempt === 1) throw new Error("burnt");
            delivery.reply(id);
          },
        });
        const children = ["a", "b"].map((id) => ({ id, name: id, start: clerk(id) }));
        await system.start(supervisor({ label: "floor", intensity: 9, children }));
        system.spawn(async () => {
          await sim.sleep(sim.oneOf([1, 5, 9], "when"));
          system.exit(sim.oneOf(["a", "b"], "whom"), "kill");
        });
        const sent = ["good", "bad", "good", "bad"].map((payload) => system.dispatch(group, payload));
        await Promise.allSettled(sent);
        await sim.sleep(100);
        const all = await on.recent({ limit: 500 });
        release();
        const counted = (kind: string): number =>
          all.reduce((sum, one) => (one.kind === kind ? sum + one.count + (one.linked ?? 0) : sum), 0);
        for (const kind of ["crash", "restart", "reroute"] as const)
          sim.finally(
            `each ${kind} is counted`,
            () => counted(kind) === ends[kind] || `${counted(kind)} of ${ends[kind]}`,
          );
        const crashes = new Map(all.filter(({ kind }) => kind === "crash").map((one) => [one.number, one]));
        sim.finally("each restart and re-routing has its cause", () => {
          for (const { kind, label, cause, reroute } of all) {
            if (kind !== "restart" && kind !== "reroute") continue;
            const crash = crashes.get(cause ?? 0);
            const of = kind === "restart" ? label : reroute?.from;
            if (crash === undefined || (crash.label !== of && crash.label !== "helper"))
              return `${kind} of ${of}`;
          }
          return true;
        });
      },
      { name: "the history", quick: 60 },
    );
  });
});
