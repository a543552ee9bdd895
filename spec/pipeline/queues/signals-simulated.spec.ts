// The signals of a queue under the simulator: whichever subscriber is killed at any step, all programs of the store say the same, and each
// message is due, or held by one of them.

import type { FaultOptions, Simulation } from "signalbox/testing";
import { expect, it } from "vitest";
import { openQueues } from "../../../lib/pipeline/queues/queues.js";
import { done } from "../../../lib/pipeline/queues/status.js";
import { explored } from "../../support/proof.js";
import { gate } from "./waits.js";

const MESSAGES = 5;
const PREFETCH = 2;
/** More than others take to find what a killed subscriber held. */
const LOOKS = 40;
const LOOK_MS = 500;

const killed: FaultOptions = { crash: [{ of: "one/subscriber of q", atMost: 1, reason: "kill" }] };

async function played(sim: Simulation): Promise<void> {
  const store = sim.store({ shared: true });
  const over = gate();
  sim.calm();
  const all = await Promise.all(
    ["one", "two"].map(async (name) => {
      const queues = await openQueues(sim.system({ name }), { store });
      const queue = queues.queue<number>("q");
      const policy = { prefetch: PREFETCH, timeoutMs: Number.POSITIVE_INFINITY };
      await queue.subscribe(policy, () => over.opened.then(() => done));
      return { queues, queue };
    }),
  );
  sim.storm();
  for (let value = 0; value < MESSAGES; value++) await all[value % 2]?.queue.publish(value);
  sim.calm();
  const published = sim.now;
  let seen: readonly { due: number; oldestDueMs: number; held: number; room: number }[] = [];
  const isWhole = (): boolean => {
    const held = seen.reduce((sum, one) => sum + one.held, 0);
    return seen.length > 0 && seen.every(({ due }) => due + held === MESSAGES);
  };
  for (let looks = 0; looks < LOOKS; looks++) {
    await sim.sleep(LOOK_MS);
    seen = await Promise.all(all.map(({ queue }) => queue.signals()));
    if (isWhole() && looks > LOOKS / 2) break;
  }
  expect(isWhole(), JSON.stringify(seen)).toBe(true);
  const isKilled = seen[0]?.held === 0;
  expect(seen.map(({ held, room }) => [held, room])).toEqual([
    isKilled ? [0, 0] : [PREFETCH, 0],
    [PREFETCH, 0],
  ]);
  for (const { oldestDueMs } of seen)
    expect(oldestDueMs).toBeGreaterThanOrEqual(sim.now - published - LOOK_MS);
  sim.sometimes("a subscriber was killed", isKilled);
  sim.sometimes("none was killed", !isKilled);
  over.open();
  for (const { queues } of all) await queues.close();
}

it("each message is due or held, and all programs say the same, whichever subscriber is killed [N1335]", async () => {
  await explored(played, {
    quick: 12,
    seed: 5,
    share: 0.1,
    faults: killed,
    sometimes: ["a subscriber was killed", "none was killed"],
  });
});
