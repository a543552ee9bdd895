// How the other nodes are asked: so many at a time, each in its time, and all together in theirs.

import { System } from "signalbox";
import { testClock } from "signalbox/testing";
import { expect, onTestFinished, test } from "vitest";
import { ASKING, askingNodes } from "../../../lib/admin/traces/node-questions.js";
import { offerPeers, type TracePeers } from "../../../lib/admin/traces/trace-peers.js";

/** Answers of a node; `silent`: none comes in time. */
type Answer = (id: string) => Promise<unknown> | "silent";

/** A system with so many other nodes, which answer as a function says. */
function asking(count: number, answer: Answer) {
  const clock = testClock();
  const system = new System({ name: "shop", report: false, environment: clock.environment });
  onTestFinished(() => clock.until(system.stop({ timeoutMs: 0 })));
  const nodes = Array.from({ length: count }, (_, i) => ({ name: `n${i}`, id: `${i}` }));
  const ask: TracePeers["ask"] = ({ id }, _question, timeoutMs) => {
    const answered = answer(id);
    if (answered !== "silent") return answered;
    return new Promise((_resolve, reject) => {
      const late = Object.assign(new Error("late"), { code: "ERR_CALL_TIMEOUT" });
      system.kernel.addTimer(timeoutMs, { fire: () => reject(late) });
    });
  };
  const end = offerPeers(system.kernel, { nodes: () => nodes, lost: () => [], ask });
  const look = askingNodes(system.kernel);
  return { clock, look: () => clock.until(look({ type: "spans", trace: "t" })), end };
}

test("one look asks so many nodes, so many at a time, and says how many it did not ask [N1603]", async () => {
  let open = 0;
  let most = 0;
  const { look, end } = asking(ASKING.nodes + 20, async (id) => {
    most = Math.max(most, ++open);
    await undefined;
    open--;
    return id;
  });
  const { answers, missing } = await look();
  expect(answers.map(({ node, answer }) => [node.id, answer])).toEqual(
    Array.from({ length: ASKING.nodes }, (_, i) => [`${i}`, `${i}`]),
  );
  expect(most).toBe(ASKING.atOnce);
  expect(missing).toEqual([
    { node: { name: "20 more nodes", id: "" }, why: `were not asked: one look asks ${ASKING.nodes} at most` },
  ]);
  end();
  expect(await look()).toEqual({ answers: [], missing: [] });
});

test("however many nodes are silent, a look ends, and names each of them [N1604]", async () => {
  const { clock, look } = asking(ASKING.nodes, (id) => (id === "40" ? Promise.resolve("here") : "silent"));
  const from = clock.now;
  const first = await look();
  expect(clock.now - from).toBeLessThanOrEqual(ASKING.beginMs + ASKING.answerMs);
  expect(first.answers.length + first.missing.length).toBe(ASKING.nodes);
  const late = "was not asked: other nodes took too long";
  expect(first.missing.filter(({ why }) => why === late).length).toBeGreaterThan(0);
  // The silent ones are left alone now, so the others have their turn.
  const second = await look();
  expect(second.missing.length + second.answers.length).toBe(ASKING.nodes);
  expect(second.answers.map(({ answer }) => answer)).toEqual(["here"]);
});
