// A flow leaves memory, and its time comes before its process has ended.

import { inspect } from "signalbox";
import { expect, it } from "vitest";
import { defineFlow } from "../../../lib/flow/index.js";
import type { WriteSet } from "../../../lib/store/index.js";
import { gate } from "../../support/gate.js";
import { OpenedSource } from "../../support/opened-store.js";
import { bench } from "./bench.js";

/** Longer than the time after which a flow leaves memory, by little. */
const nap = defineFlow("nap", (flow, _: undefined) => flow.sleep(5_020));

const givesBack = ({ writes }: WriteSet): boolean =>
  writes.some((write) => write.type === "update" && write.set?.holder === null);

it("is taken again when its time comes while it is still on its way out of memory [J841]", async () => {
  const store = new OpenedSource();
  await using b = await bench([nap], { store });
  const run = await b.until(b.flows.start(nap, undefined));
  const pid = b.system.processes().find((one) => one.label === `flow ${run.id}`);
  const inspector = inspect(b.system, pid as NonNullable<typeof pid>);
  const answer = gate();
  let given = 0;
  store.before = async (commit, set) => {
    const committed = await commit();
    if (givesBack(set)) {
      given++;
      await answer.promise;
    }
    return committed;
  };
  await b.clock.advance(5_010);
  expect(given).toBe(1);
  // Its process is slow to end, as in a host that others keep busy.
  const suspension = await b.until(inspector.suspend());
  answer.open();
  await b.clock.advance(20);
  await b.until(suspension.resume());
  expect(await b.until(run.result())).toBeUndefined();
  expect(given).toBe(1);
});
