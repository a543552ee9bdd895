// `history()`: what a service keeps before anybody looks.

import { System, stop, supervisor } from "signalbox";
import { history } from "signalbox/observer";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { KernelOperations } from "../../lib/admin/system/kernel-operations.js";

test("a system with history() has what went wrong before the first look, and with its end nothing is kept [N1529]", async () => {
  const clock = testClock();
  const system = new System({ name: "shop", environment: clock.environment, report: false });
  onTestFinished(() => clock.until(system.stop({ timeoutMs: 0 })));
  const floor = await system.start(supervisor({ children: [{ id: "history", start: history() }] }));
  const clerk = system.spawn<string>({ handle: () => stop(new Error("boom")) }, { label: "clerk" });
  system.send(clerk, "go");
  await clock.advance(120_000);
  const on = new KernelOperations(system.kernel);
  expect(await on.recent({ kind: "crash" })).toMatchObject([
    { label: "clerk", at: clock.environment.wallTime() - 120_000 },
  ]);
  system.exit(floor.pid, "shutdown");
  await clock.advance(30_000);
  expect(system.kernel.witness).toBeUndefined();
  expect(system.kernel.events.eventNames()).toEqual([]);
});
