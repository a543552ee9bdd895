// Services with a pool under the simulator: crashes of workers, jobs that take long and callers that give up, in every order.

import { CalleeExitedError, supervisor } from "signalbox";
import { JobDeadlineError, JobLostError, type PoolOptions, PoolStoppingError, pool } from "signalbox/service";
import type { Scenario } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { explored } from "../../support/proof.js";
import type { NoLabelError } from "./labels.js";
import { errorOf } from "./support.js";

type Labels = typeof import("./labels.js");
const url = new URL("./labels.ts", import.meta.url);
const labels = (options: PoolOptions = {}) =>
  pool<Labels>(url, { size: 2, deadlineMs: 100, name: "labels", ...options });

/** A shop that prints labels, some of which are not wanted in the end. Every job has to end. */
const shop =
  (options: PoolOptions): Scenario =>
  async (sim) => {
    const system = sim.system({ name: "shop" });
    const Labels = labels(options);
    const root = supervisor({
      intensity: 100,
      children: [{ id: "labels", start: Labels }],
    });
    try {
      await system.start(root);
    } catch {
      // A worker that crashes while the pool starts fails the start.
      await system.stop();
      return;
    }
    const printing = Labels.at(system, "labels");
    const jobs = [1, 2, 3].map((id) =>
      printing.run({ id }).then(
        (label) => expect(label).toBe(`label ${id}`),
        (error) => {
          const known = [JobLostError, JobDeadlineError, CalleeExitedError, PoolStoppingError];
          expect(
            known.some((Class) => error instanceof Class),
            String(error),
          ).toBe(true);
        },
      ),
    );
    await Promise.all(jobs);
    // From here on nothing fails: the pool has its workers again.
    await sim.eventually("the pool is back", () => system.whereis("labels") !== undefined);
    expect(await printing.with({ maxAttempts: 3 }).run.add(1, 2)).toBe(3);
    await system.stop();
  };

describe("a pool under the simulator", () => {
  it("runs the functions of its worker file, clones what passes, and packs errors", async () => {
    await explored(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        const printing = await system.start(labels());
        const order = { id: 7 };
        const [sum, label] = await Promise.all([printing.run.add(1), printing.run(order)]);
        expect([sum, label]).toEqual([2, "label 7"]);
        const error: NoLabelError = await errorOf(printing.run.refuse());
        expect(error).toMatchObject({ name: "NoLabelError", message: "no label" });
        const stop = new AbortController();
        const waits = errorOf(
          printing.with({ signal: stop.signal, onProgress: () => stop.abort() }).run.wait(),
        );
        expect((await waits).name).toBe("AbortError");
        await system.stop();
      },
      { quick: 50 },
    );
  });

  it("settles every job and works again, whatever happens to its workers [W12]", async () => {
    await explored(shop({ maxAttempts: 2 }), {
      quick: 150,
      faults: {
        crash: [{ of: "**/worker*", atMost: 3 }],
        pause: { of: "**/worker*", forMs: [1, 1_000], atMost: 2 },
        rush: { atMost: 2 },
      },
    });
  });
});
