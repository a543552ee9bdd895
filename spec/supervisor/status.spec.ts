// What a supervisor says about itself: the phases of its children, and how near it is to giving up.

import { type Body, dynamicSupervisor, type SupervisorRef, System, supervisor } from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, describe, expect, it } from "vitest";

let system: System;
afterEach(() => system.stop({ timeoutMs: 0 }));

const worker: Body<never> = async (ctx) => void (await ctx.receive());
const phases = async (ref: SupervisorRef) =>
  (await ref.status()).children?.map(({ id, phase }) => `${id} ${phase}`);

describe("the status of a supervisor", () => {
  it("counts the restarts within its period, and forgets older ones", async () => {
    const clock = testClock();
    system = new System({ environment: clock.environment, report: false });
    const children = [{ id: "clerk", name: "clerk", start: worker }];
    const ref = await system.start(supervisor({ intensity: 3, periodMs: 1_000, children }));
    const counted = async () => {
      const { restarts, intensity, periodMs, size } = await ref.status();
      return [restarts, intensity, periodMs, size];
    };
    expect(await counted()).toEqual([0, 3, 1_000, 1]);
    system.exit("clerk", new Error("no tea"));
    await clock.settle();
    expect(await counted()).toEqual([1, 3, 1_000, 1]);
    await clock.advance(1_001);
    expect(await counted()).toEqual([0, 3, 1_000, 1]);
  });

  it.each([
    ["one_for_one", ["a running", "b restarting", "c running"]],
    ["rest_for_one", ["a running", "b restarting", "c restarting"]],
    ["one_for_all", ["a restarting", "b restarting", "c restarting"]],
  ] as const)("lists siblings that wait for a restart with it: %s", async (strategy, expected) => {
    const clock = testClock();
    system = new System({ environment: clock.environment, report: false });
    const children = ["a", "b", "c"].map((id) => ({ id, name: id, start: worker }));
    const ref = await system.start(supervisor({ strategy, backoff: { minMs: 100, maxMs: 100 }, children }));
    system.exit("b", new Error("no tea"));
    await clock.settle();
    expect(await phases(ref)).toEqual(expected);
    await clock.advance(200);
    expect(await phases(ref)).toEqual(["a running", "b running", "c running"]);
    await ref.terminateChild("b");
    expect(await phases(ref)).toEqual(["a running", "b stopped", "c running"]);
  });

  it("of a dynamic one has the number of its children alone", async () => {
    system = new System({ report: false });
    const ref = await system.start(dynamicSupervisor({ child: { id: "session", start: worker } }));
    await ref.startLike();
    await ref.startLike();
    expect(await ref.status()).toEqual({
      children: undefined,
      size: 2,
      restarts: 0,
      intensity: 1,
      periodMs: 5_000,
    });
  });
});
