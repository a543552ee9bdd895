// CPU-bound work: every job is answered or its caller hears why not, whatever happens to the threads, and the pool works again.

import { supervisor } from "signalbox";
import type { PoolRef } from "signalbox/service";
import type { Simulation } from "signalbox/testing";
import { expect, it } from "vitest";
import { blurred, type Images, imagePool } from "../../../examples/cookbook/cpu-bound/image-pool.js";
import { blur, firstRow, type Image } from "../../../examples/cookbook/cpu-bound/images.js";
import { explored } from "../../support/proof.js";

const image = (grey: number): Image => ({ width: 4, height: 3, points: new Uint8Array(12).fill(grey) });

async function photos(sim: Simulation, options: Parameters<typeof imagePool>[0]): Promise<PoolRef<Images>> {
  const system = sim.system({ name: "photos" });
  const Pool = imagePool(options);
  sim.calm();
  await system.start(supervisor({ intensity: 100, children: [{ id: "images", start: Pool }] }));
  sim.storm();
  return Pool.at(system, "images");
}

/** The result of a job, or why there is none. */
const fate = (job: Promise<Image>): Promise<string> =>
  job.then(
    ({ points }) => [...points].join(" "),
    (error: { readonly code: string }) => error.code,
  );

it("answers each job or says why not, whichever thread crashes or hangs at whichever step", async () => {
  await explored(
    async (sim) => {
      const images = await photos(sim, { deadlineMs: 100 });
      const fates = await Promise.all([1, 2, 3].map((grey) => fate(blurred(images, image(grey), 1))));
      for (const [i, one] of fates.entries()) {
        const right = Array(12)
          .fill(i + 1)
          .join(" ");
        expect([right, "ERR_JOB_LOST", "ERR_JOB_DEADLINE"]).toContain(one);
      }
      sim.sometimes("a thread ended under its job", fates.includes("ERR_JOB_LOST"));
      sim.sometimes("a job took too long", fates.includes("ERR_JOB_DEADLINE"));
      sim.calm();
      expect(await images.run.firstRow(image(1))).toBe(0);
    },
    {
      ...{ quick: 20, share: 0.02, seed: 1 },
      faults: {
        crash: { of: "**/worker*", atMost: 2 },
        pause: { of: "**/worker*", forMs: [1, 1_000], atMost: 2 },
      },
    },
  );
});

it("refuses what neither runs nor has room to wait, and forgets a caller that gives up", async () => {
  await explored(
    async (sim) => {
      const images = await photos(sim, { size: 1, maxQueue: 1 });
      const gone = new AbortController();
      const jobs = [fate(blurred(images, image(1), 1)), fate(blurred(images, image(2), 1, gone.signal))];
      const third = fate(blurred(images, image(3), 1));
      gone.abort(Object.assign(new Error("the user left"), { code: "GONE" }));
      const [first, second] = await Promise.all(jobs);
      expect([first, second]).toEqual([Array(12).fill(1).join(" "), "GONE"]);
      expect(["ERR_POOL_FULL", Array(12).fill(3).join(" ")]).toContain(await third);
      expect(await images.stats()).toMatchObject({ running: 0, queued: 0 });
    },
    { quick: 10, share: 0.02, seed: 2 },
  );
});

it("computes what it says", () => {
  const job = { aborted: false, signal: new AbortController().signal, progress: () => undefined };
  const line: Image = { width: 3, height: 1, points: new Uint8Array([0, 30, 90]) };
  const blurredLine = blur.call({ ...job, transfer: (object) => object }, line, 1);
  expect([...blurredLine.points]).toEqual([15, 40, 60]);
  expect([firstRow(image(0)), firstRow({ ...line, width: 1, height: 3 })]).toEqual([-1, 1]);
  expect(() => blur.call({ ...job, aborted: true, transfer: (object) => object }, line, 1)).toThrow(
    "nobody waits",
  );
});
