// Looks at one trace over three simulated nodes, while nodes are cut off and lose power: each look ends in its time, and of each node it has all
// spans or the name.

import { defineServer, type Pid } from "signalbox";
import { type ClusterNode, joinCluster } from "signalbox/nodes";
import type { Simulation } from "signalbox/testing";
import { expect, test } from "vitest";
import { KernelOperations } from "../../../lib/admin/system/kernel-operations.js";
import { joinedSpans } from "../../../lib/admin/traces/joined-trace.js";
import { ASKING } from "../../../lib/admin/traces/node-questions.js";
import { offerSpansOf, spansOf } from "../../../lib/service/telemetry/telemetry.js";
// Loaded beforehand: the simulator does not wait for a file.
import "../../../lib/service/telemetry/span-keeper.js";
import { explored } from "../../support/proof.js";

const LOOKS = 3;

test("a look has all spans of each node or its name, in its time, whatever happens to the others [N1600] [N1604]", async () => {
  await explored(
    async (sim: Simulation) => {
      const network = sim.network({
        latencyMs: [0, 20],
        partition: { atMost: 2, forMs: [10, 3_000], oneWay: true, silent: true },
      });
      sim.calm();
      const seat = async (system: ClusterNode["system"]): Promise<ClusterNode> => {
        const node = await joinCluster(system, network);
        offerSpansOf(system.kernel);
        (await spansOf(system.kernel)).hold();
        return node;
      };
      const home = await seat(sim.system({ name: "home" }));
      const machines = ["bank", "mill"].map((name) => sim.node(name, (machine) => seat(machine.system())));
      const [bank, mill] = (await Promise.all(machines.map((machine) => machine.ready()))) as [
        ClusterNode,
        ClusterNode,
      ];
      const seats = [home, bank, mill];
      await sim.until("all to have met", () => seats.every((node) => node.nodes().length === seats.length));

      // home calls bank, which calls mill.
      const Mill = defineServer({ label: "mill", init: () => 0, calls: { grind: (_state, n: number) => n } });
      const ground = await mill.system.start(Mill);
      const atBank = Mill.at(bank.system, bank.system.pidAt(mill.system.address(ground.pid)) as never);
      const Bank = defineServer({
        label: "bank",
        init: () => 0,
        calls: { pay: (_state, n: number) => atBank.call.grind(n) },
      });
      const paid = await bank.system.start(Bank);
      const far = Bank.at(home.system, home.system.pidAt(bank.system.address(paid.pid)) as Pid<never>);
      expect(await far.call.pay(3)).toBe(3);
      await sim.quiet();

      const keepers = await Promise.all(seats.map(({ system }) => spansOf(system.kernel)));
      const [found] = keepers[0]?.traces({ limit: 1, find: "/pay" }) ?? [];
      const trace = found?.trace ?? "";
      const parts = seats.map((node, i) => {
        const { spans = [], dropped = 0 } = keepers[i]?.spans(trace) ?? {};
        return { node: node.node, spans, dropped };
      });
      const model = joinedSpans(trace, home.node, parts, []);
      expect(model.spans.map(({ depth, kind, node }) => `${depth} ${kind} ${node}`)).toEqual([
        ...["0 call home", "1 message bank", "2 call bank", "3 message mill"],
      ]);
      const operations = new KernelOperations(home.system.kernel);
      expect(await operations.spans(trace)).toEqual(model);

      sim.storm();
      const { env } = home.system.kernel;
      for (let i = 0; i < LOOKS; i++) {
        await sim.sleep(sim.oneOf([0, 30, 2_500], "when"));
        const from = env.now();
        const { spans, missing } = await operations.spans(trace);
        expect(env.now() - from).toBeLessThanOrEqual(ASKING.beginMs + ASKING.answerMs);
        for (const { node, spans: own } of parts) {
          const there = spans.filter((span) => span.node === node.name).map(({ id }) => id);
          const isMissing = missing.some((one) => one.node.startsWith(node.name));
          // A machine that has booted again answers, and has forgotten the trace: then its life before is missing.
          if (there.length === 0) expect([node.name, isMissing]).toEqual([node.name, true]);
          else expect(there.sort()).toEqual(own.map(({ id }) => id).sort());
          sim.sometimes("a node is missing", isMissing);
          sim.sometimes("a node has answered in the storm", there.length > 0 && node !== home.node);
        }
      }
      sim.calm();
    },
    {
      quick: 25,
      share: 0.1,
      faults: { nodeCrash: { of: ["bank", "mill"], downMs: [10, 3_000] } },
      sometimes: ["a node is missing", "a node has answered in the storm"],
    },
  );
});
