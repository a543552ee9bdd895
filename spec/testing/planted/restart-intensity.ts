// An off-by-one in restart intensity: one restart fewer than agreed is taken for one too many.

import { type Callbacks, type Context, custom, stop } from "signalbox";
import type { Planted } from "./planted.js";

/** So many restarts within the period are a repair; one more, and the keeper gives up. */
const INTENSITY = 2;
const PERIOD_MS = 1_000;
const SHIFT_MS = 600;

/** Starts a worker again when it has crashed, unless that happens too often. */
function keeper(wrong: boolean): Callbacks<never> {
  let restarts: number[] = [];
  const start = (ctx: Context<never>): void => {
    ctx.spawnLink<never>(async (worker) => void (await worker.receive()), { label: "worker" });
  };
  return {
    init: start,
    handle: () => undefined,
    signal: (ctx, signal) => {
      if (signal.type !== "exit") return undefined;
      restarts = [...restarts.filter((at) => ctx.now() - at <= PERIOD_MS), ctx.now()];
      const tooOften = wrong ? restarts.length >= INTENSITY : restarts.length > INTENSITY;
      if (tooOften) return stop(custom("too many restarts"));
      return start(ctx);
    },
  };
}

export const restartIntensity: Planted = {
  bug: "restart intensity off by one",
  wrong: "a home-made supervisor of intensity 2 gives up at the second restart, not the third",
  code: "ERR_SIM_INVARIANT",
  says: "gives up after too many crashes, and not before",
  faults: { crash: { of: "shop/keeper/worker*", atMost: 3 } },
  scenario: (wrong) => async (sim) => {
    const system = sim.system({ name: "shop" });
    const crashes: number[] = [];
    system.events.on("exit", ({ reason }) => {
      if (reason.type === "crash") crashes.push(sim.now);
    });
    const guarded = system.spawn(keeper(wrong), { label: "keeper", trapExit: true });
    sim.finally("gives up after too many crashes, and not before", () => {
      const tooMany = crashes.some((at, i) => at - (crashes[i - INTENSITY] ?? -Infinity) <= PERIOD_MS);
      return system.isAlive(guarded) !== tooMany;
    });
    await sim.sleep(SHIFT_MS);
    await sim.sleep(SHIFT_MS);
  },
};
