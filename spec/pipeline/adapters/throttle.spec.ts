// The rate of `throttle` against a naive model: nowhere in time do more messages pass than its options say.

import fc from "fast-check";
import { definePipeline, pipelineHost, queue, route, throttle } from "signalbox/pipeline";
import { simulate } from "signalbox/testing";
import { expect, test } from "vitest";
import { decide, initial, rateOf } from "../../../lib/service/protection/limiter-machine.js";
import { sized } from "../../support/proof.js";

/** Most of these times, in order, in a span of this length: with its beginning and without its end. */
function mostWithin(times: readonly number[], spanMs: number): number {
  // Sums of the microseconds of the machine are not exact in milliseconds.
  const end = (at: number): number => at + spanMs - 0.000_1;
  return Math.max(0, ...times.map((at) => times.filter((one) => one >= at && one < end(at)).length));
}

test("50 a second are 50 in any second, also after a quiet time [Y322]", async () => {
  await simulate(async (sim) => {
    const jobs = queue<number>("jobs");
    const passed: number[] = [];
    const work = route("work", { from: jobs, concurrency: 200 })
      .via(throttle("gently", { permits: 50 }))
      .via("note", () => {
        passed.push(sim.now);
        return undefined;
      });
    const pipeline = definePipeline("throttled", { routes: [work], inFlight: 200 });
    const host = await sim.system({ name: "shop" }).start(pipelineHost({ pipelines: [pipeline] }));
    await sim.sleep(10_000);
    const values = Array.from({ length: 120 }, (_, i) => i);
    await (await host.start(pipeline, { messages: { to: jobs, values } })).completed();
    expect(passed).toHaveLength(values.length);
    expect(mostWithin(passed, 1_000)).toBe(50);
  });
});

test("with a burst, at most burst - 1 more pass in any span, however late timers are [Y322]", () => {
  const rules = fc.record({
    permits: fc.integer({ min: 1, max: 20 }),
    perMs: fc.constantFrom(1, 7, 100, 1_000),
    burst: fc.integer({ min: 1, max: 5 }),
  });
  const steps = fc.array(fc.tuple(fc.boolean(), fc.nat({ max: 60_000 })), { maxLength: 200 });
  fc.assert(
    fc.property(rules, steps, ({ permits, perMs, burst }, given) => {
      const machine = initial({ ...rateOf(permits, perMs, burst), maxWaiting: 1_000, maxKeys: 10 });
      const passed: number[] = [];
      let now = 0;
      for (const [id, [asks, share]] of given.entries()) {
        now += Math.round((share / 60_000) * perMs * 1_000) / 1_000;
        const event = asks
          ? ({ type: "ask", id, key: "", permits: 1, now } as const)
          : ({ type: "due", key: "", now } as const);
        for (const effect of decide(machine, event)[1]) if (effect.type === "grant") passed.push(now);
      }
      expect(mostWithin(passed, perMs)).toBeLessThanOrEqual(permits + burst - 1);
    }),
    { numRuns: sized(200, 0.1) },
  );
});
