// A step that does not end, in a process of its own: to stop its code corrupts the stack of Node's asynchronous hooks, where other
// specs of the process use these, and Node ends a process for that.

import { EndlessStepError, explore, type Scenario } from "signalbox/testing";
import { expect, test } from "vitest";
import { failureOf } from "../support/found.js";

const quiet: Scenario = async (sim) => {
  sim.system({ name: "post" }).spawn(() => undefined);
  await sim.quiet();
};

test.each(["a process", "the scenario"])(
  "an exploration ends when a step of %s does not end, and says whose and where [T35]",
  async (who) => {
    const loop = async (): Promise<never> => {
      for (;;) await null;
    };
    const error = await failureOf(async (sim) => {
      if (who === "the scenario") await loop();
      sim.system({ name: "mill" }).spawn(loop, { label: "wheel" });
      await sim.quiet();
    });
    expect(error.cause).toBeInstanceOf(EndlessStepError);
    const whose = who === "a process" ? "mill/wheel" : "the scenario";
    expect(error.message).toMatch(
      new RegExp(`does not end: ${whose} awaits in a loop at .*endless.spec.ts:\\d+`),
    );
    // The host is as it was.
    expect(await new Promise((done) => setTimeout(() => done("on time"), 1))).toBe("on time");
    expect((await explore(quiet, { schedules: 5 })).schedules).toBe(5);
  },
);
