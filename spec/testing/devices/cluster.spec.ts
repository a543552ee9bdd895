// A simulated cluster: systems of a simulation that join one by its network, as `joinCluster(system, network)` promises.

import { ConsumerGroup, consumer, defineServer, type JobHost, type Pid, supervisor } from "signalbox";
import { defineFlow, flowHost } from "signalbox/flow";
import { type ClusterNode, job, joinCluster, type Placement, programs } from "signalbox/nodes";
import { memory } from "signalbox/store";
import type { SimulatedNetwork, SimulatedNode, Simulation } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import { explored } from "../../support/proof.js";

const Counter = defineServer({
  init: (_ctx, start: number) => ({ count: start }),
  calls: { add: (state, n: number) => (state.count += n) },
});

const double = job((n: number) => 2 * n);

interface Cluster {
  readonly network: SimulatedNetwork;
  readonly nodes: readonly ClusterNode[];
  readonly machines: readonly SimulatedNode<ClusterNode>[];
}

/** Machines whose systems are nodes of one cluster. */
async function cluster(sim: Simulation, names: readonly string[], latencyMs = 0): Promise<Cluster> {
  const network = sim.network({ latencyMs });
  const machines = names.map((name) =>
    sim.node(name, async (machine) => {
      const node = await joinCluster(machine.system(), network);
      programs(node, { counter: Counter, double });
      return node;
    }),
  );
  const nodes = await Promise.all(machines.map((machine) => machine.ready()));
  return { network, nodes, machines };
}

describe("a simulated cluster", () => {
  test("finds names and places children, which restart elsewhere when their node loses power or is cut off [N1174]", async () => {
    await explored(
      async (sim) => {
        const { network, nodes, machines } = await cluster(sim, ["a", "b", "c"]);
        const [a, b, c] = nodes as [ClusterNode, ClusterNode, ClusterNode];
        expect(nodes.map((node) => node.nodes().length)).toEqual([3, 3, 3]);
        await sim.until("all nodes to offer their program", () =>
          a.nodes().every(({ programs: offered }) => offered.includes("counter")),
        );

        const stock = await b.system.startWith({ name: "stock" }, Counter, 5);
        const found = (await a.whereis("stock")) as Pid<never>;
        expect(a.system.address(found)).toEqual(b.system.address(stock.pid));
        expect(await Counter.at(a.system, found).call.add(2)).toBe(7);
        expect(await a.whereis("nobody")).toBeUndefined();

        const placed: string[] = [];
        const placement: Placement = (offers) => {
          const chosen = offers.find(({ node }) => node.name === (placed.length === 0 ? "b" : "c"));
          placed.push(chosen?.node.name ?? "none");
          return chosen;
        };
        const child = a.on("counter", [10], { placement });
        const top = await a.system.start(supervisor({ children: [{ id: "counter", start: child }] }));
        const add = async () => Counter.at(a.system, (await top.child("counter")) as Pid<never>).call.add(1);
        expect([await add(), await add()]).toEqual([11, 12]);
        const isCut = sim.choose(2, "cut b off") === 1;
        if (isCut) for (const other of [a, c]) network.cut(b.system, other.system);
        else machines[1]?.crash();
        await sim.sleep(1_000);
        expect(await add()).toBe(11);
        expect(placed).toEqual(["b", "c"]);
        const names = () =>
          a
            .nodes()
            .map(({ node }) => node.name)
            .sort();
        expect(names()).toEqual(["a", "c"]);
        if (isCut) for (const other of [a, c]) network.heal(b.system, other.system);
        else machines[1]?.restart();
        await sim.sleep(1_000);
        expect(names()).toEqual(["a", "b", "c"]);
        sim.sometimes("a cut", isCut);
        sim.sometimes("a loss of power", !isCut);
      },
      { quick: 8, seed: 2, share: 0.02, sometimes: ["a cut", "a loss of power"] },
    );
  });

  test("runs the jobs of steps, which are retried elsewhere when their node loses its power [N1416]", async () => {
    await explored(
      async (sim) => {
        const { nodes, machines } = await cluster(sim, ["a", "b", "c"], 1);
        const [a] = nodes as [ClusterNode, ClusterNode, ClusterNode];
        await sim.until("all nodes to offer their program", () =>
          a.nodes().every(({ programs: offered }) => offered.includes("double")),
        );
        let attempts = 0;
        const there: JobHost = {
          run: (program, args, options) => {
            attempts++;
            return a.run(program, args, options);
          },
        };
        const flow = defineFlow("doubling", async (ctx, n: number) => {
          let sum = n;
          for (let i = 0; i < 3; i++)
            sum = await ctx.step("double", double, {
              ...{ on: there, args: [sum] },
              retry: { attempts: 5, backoff: { minMs: 1, maxMs: 10 } },
            });
          return sum;
        });
        const host = await a.system.start(flowHost({ store: memory(), flows: [flow] }));
        const run = await host.start(flow, 1, { id: "one" });
        const result = run.result();
        const fails = sim.choose(3, "loses its power");
        await sim.sleep(sim.choose(20, "when"));
        if (fails > 0) machines[fails]?.crash();
        expect(await result).toBe(8);
        sim.sometimes("a step again", attempts > 3);
      },
      { quick: 40, seed: 2, share: 0.02, sometimes: ["a step again"] },
    );
  });

  test("of nodes that are paused again and again is whole afterwards, and each watches each other once [N1392]", async () => {
    await explored(
      async (sim) => {
        const { nodes } = await cluster(sim, ["a", "b", "c"]);
        const ends: string[] = [];
        for (const { system } of nodes) system.events.on("nodeDown", ({ reason }) => void ends.push(reason));
        await sim.sleep(8_000);
        sim.calm();
        await sim.sleep(20_000);
        for (const { system } of nodes) {
          const agent = system.processes().find(({ label }) => label === "node");
          expect(system.info(agent as Pid<unknown> as Pid)?.monitors).toHaveLength(2);
        }
        expect(nodes.map((node) => node.nodes().length)).toEqual([3, 3, 3]);
        sim.sometimes("a node slept", ends.includes("slept"));
      },
      {
        quick: 10,
        seed: 1,
        share: 0.05,
        faults: { nodePause: { of: "*", atMost: 4, forMs: [1_500, 4_000] } },
        strategy: randomWalk({ rates: { node: 0.02 } }),
        sometimes: ["a node slept"],
      },
    );
  });

  test("has consumer groups that span it [N1174]", async () => {
    await explored(
      async (sim) => {
        const [a, b] = (await cluster(sim, ["a", "b"])).nodes as [ClusterNode, ClusterNode];
        const here = new ConsumerGroup<number, number>({ name: "pickers", scope: a });
        const there = new ConsumerGroup<number, number>({ name: "pickers", scope: b });
        there.join(b.system.spawn(consumer((n: number) => 2 * n)), { id: "far" });
        const outcome = await a.system.dispatch(here, 21);
        expect(outcome).toMatchObject({ reply: 42, deliveredTo: "far", attempts: 1 });
      },
      { quick: 10, share: 0.02 },
    );
  });
});
