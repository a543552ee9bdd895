import { System } from "signalbox";
import { joinCluster } from "signalbox/nodes";
import { expect, onTestFinished, test } from "vitest";
import { gate } from "../../support/gate.js";
import { FrameNetwork } from "../session/frame-network.js";

test("a node that leaves closes its carrier once, waits for that, and reports a failure of it [N1433]", async () => {
  const reports: string[] = [];
  const system = new System({ name: "a", report: (text) => void reports.push(text) });
  onTestFinished(() => system.stop());
  const closed = gate();
  let closes = 0;
  const carrier = {
    ...new FrameNetwork().carrier(system.node),
    close: async () => {
      closes++;
      await closed.promise;
      throw new Error("no farewell");
    },
  };
  const node = await joinCluster(system, carrier, { settleMs: 0 });
  let hasLeft = false;
  const left = node.leave().then(() => {
    hasLeft = true;
  });
  await system.idle();
  expect([closes, hasLeft]).toEqual([1, false]);
  closed.open();
  await left;
  expect(closes).toBe(1);
  expect(reports).toEqual([expect.stringContaining("the carrier failed when it was closed")]);
});
