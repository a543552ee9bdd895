// Consumer groups that span three nodes of a simulated cluster, while nodes are cut off and lose power and consumers crash: every
// dispatch ends once, with a receipt or an error, and afterwards all nodes see the same consumers.

import { ConsumerGroup, consumer, DispatchError, StartError, supervisor } from "signalbox";
import { type ClusterNode, joinCluster } from "signalbox/nodes";
import type { Simulation } from "signalbox/testing";
import { expect, test } from "vitest";
import { explored } from "../../support/proof.js";

const DISPATCHES = 4;
const MOST_CRASHES = 2;
const RECEIPTS = [
  "a receipt of another node",
  "a dispatch was re-routed from another node",
  "a dispatch failed",
];

interface Seat {
  readonly node: ClusterNode;
  readonly group: ConsumerGroup<number, string>;
}

test("a group over three nodes ends each dispatch once, and all nodes see the same consumers after the last fault [N1175]", async () => {
  await explored(
    async (sim: Simulation) => {
      const network = sim.network({
        latencyMs: [0, 20],
        partition: { atMost: 2, forMs: [10, 3_000], oneWay: true, silent: true },
      });
      /** By envelope: the consumers that began to work on it, and those that finished. */
      const begun = Array.from({ length: DISPATCHES + 1 }, (): string[] => []);
      const done = Array.from({ length: DISPATCHES + 1 }, (): string[] => []);
      sim.calm();
      const seat = async (name: string, system: ClusterNode["system"], life: number): Promise<Seat> => {
        const node = await joinCluster(system, network);
        const group = new ConsumerGroup<number, string>({ name: "pickers", scope: node });
        const id = `${name}${life}`;
        const work = async (n: number): Promise<string> => {
          begun[n]?.push(id);
          // Odd ones take time, in which their node may be lost.
          if (n % 2 === 1) await sim.sleep(50);
          done[n]?.push(id);
          return id;
        };
        const picker = consumer(work, { group, id, concurrency: 2 });
        const start = supervisor({ children: [{ id: "picker", start: picker }], intensity: 10 });
        // A consumer that crashes as it starts ends the start of its supervisor.
        for (let crashes = 0; ; crashes++) {
          const started = await system.start(start).then(
            () => true,
            (error: unknown) => {
              if (!(error instanceof StartError) || crashes === MOST_CRASHES) throw error;
              return false;
            },
          );
          if (started) break;
        }
        return { node, group };
      };
      const home = await seat("a", sim.system({ name: "a" }), 1);
      const machines = ["b", "c"].map((name) =>
        sim.node(name, (machine) => seat(name, machine.system(), machine.boots)),
      );
      for (const machine of machines) await machine.ready();
      await sim.until("all to have met", () => home.group.consumers.length === 3);
      // First to the other nodes.
      home.group.route = (_envelope, consumers) =>
        consumers.find(({ id }) => !id.startsWith("a")) ?? consumers[0];
      sim.storm();
      const ends: ("receipt" | "error")[][] = Array.from({ length: DISPATCHES }, () => []);
      const dispatched = ends.map(async (mine, n) => {
        await sim.sleep(sim.oneOf([0, 10, 500], "when"));
        try {
          const outcome = await home.node.system.dispatch(home.group, n, {
            deadlineMs: sim.oneOf([5_000, 60], "deadline"),
            patienceMs: 1_000,
          });
          mine.push("receipt");
          // The one that acknowledged has finished it.
          expect(done[n]).toContain(outcome.deliveredTo);
          expect(outcome.reply).toBe(outcome.deliveredTo);
          // Whoever else began lost the envelope for a reason that the receipt has.
          for (const id of begun[n] ?? [])
            expect([outcome.deliveredTo, ...outcome.reroutedFrom]).toContain(id);
          sim.sometimes("a receipt of another node", !outcome.deliveredTo.startsWith("a"));
          sim.sometimes(
            "a dispatch was re-routed from another node",
            outcome.reroutedFrom.some((id) => !id.startsWith("a")),
          );
          sim.sometimes("an envelope was worked on twice", (done[n]?.length ?? 0) > 1);
        } catch (error) {
          if (!(error instanceof DispatchError)) throw error;
          mine.push("error");
          sim.sometimes("a dispatch failed");
        }
      });
      await Promise.all(dispatched);
      expect(ends.map((mine) => mine.length)).toEqual(ends.map(() => 1));
      sim.sometimes(
        "a node lost power",
        machines.some(({ boots }) => boots > 1),
      );
      sim.calm();
      const seats = [home, ...(await Promise.all(machines.map((machine) => machine.ready())))];
      const expected = ["a1", ...machines.map(({ name, boots }) => `${name}${boots}`)].join();
      await sim.until("all nodes to see the same consumers", () =>
        seats.every(
          ({ group }) =>
            group.consumers
              .map(({ id }) => id)
              .sort()
              .join() === expected,
        ),
      );
      // And they work.
      for (const { node, group } of seats)
        expect((await node.system.dispatch(group, DISPATCHES)).settledBy).toBe("reply");
    },
    {
      quick: 40,
      seed: 1,
      share: 0.05,
      sometimes: [...RECEIPTS, "a node lost power", "an envelope was worked on twice"],
      faults: {
        nodeCrash: { of: ["b", "c"], atMost: 2, downMs: [0, 100, 3_000] },
        crash: { of: "*/supervisor/picker", atMost: MOST_CRASHES },
      },
    },
  );
});
