// The entrances of the test kit and the simulator.

import type { System } from "signalbox";
import { defineFlow } from "signalbox/flow";
import {
  assertLinearizable,
  checkLinearizable,
  delayBounded,
  exhaustive,
  explore,
  flowKit,
  OperationHistory,
  pct,
  pos,
  probe,
  randomWalk,
  SimulatedDisk,
  type Simulation,
  simulate,
  TestClock,
  testClock,
  usualStrategies,
} from "signalbox/testing";
import { type Lines, made, nothing, on, settling } from "./lines.js";

const rate = { limit: 1, period: 5 };

/** A call in a simulation of its own. */
function inSimulation(
  use: (sim: Simulation) => (...given: unknown[]) => unknown,
): (...given: unknown[]) => Promise<void> {
  const call = async (...given: unknown[]): Promise<void> => {
    let refusal: unknown;
    await simulate(async (sim) => {
      try {
        await use(sim)(...given);
      } catch (error) {
        refusal = error;
      }
    });
    if (refusal !== undefined) throw refusal;
  };
  settling.add(call);
  return call;
}

const simulated = (method: string): ((...given: unknown[]) => Promise<void>) =>
  inSimulation((sim) => on(sim, method));

export async function testing(system: System): Promise<Lines> {
  const Quiet = defineFlow("quiet", async () => new Promise(nothing));
  const kit = await flowKit({ flows: [Quiet] as never });
  const run = await kit.start(Quiet as never, undefined as never);
  const watcher = (): object => probe(system, {});
  const pid = (): unknown => system.spawn({ handle: nothing });
  const history = new OperationHistory();
  const model = { initial: 0, apply: () => [0, 0] };
  return {
    explore: () => [explore, nothing, { schedules: 1 }],
    simulate: () => [simulate, nothing, {}],
    "Simulation.system": () => [simulated("system"), {}],
    "Simulation.network": () => [simulated("network"), {}],
    "Simulation.disk": () => [simulated("disk"), {}],
    "Simulation.store": () => [simulated("store"), {}],
    "Simulation.node": () => [simulated("node"), "a", nothing, {}],
    "Simulation.io": () => [simulated("io"), "i", nothing, {}],
    "Simulation.until": () => [simulated("until"), "goal", () => true, {}],
    "Simulation.eventually": () => [simulated("eventually"), "goal", () => true, {}],
    "SimulatedNetwork.cut": () => [
      inSimulation((sim) => (_a, _b, options) => {
        const network = sim.network();
        const [a, b] = [sim.system({ name: "a" }), sim.system({ name: "b" })];
        network.join(a);
        network.join(b);
        network.cut(a, b, options as never);
      }),
      undefined,
      undefined,
      {},
    ],
    "SimulatedNode.system": () => [inSimulation((sim) => on(sim.node("a", nothing as never), "system")), {}],
    "SimulatedNode.pause": () => [inSimulation((sim) => on(sim.node("a", nothing as never), "pause")), {}],
    "Monitors.eventually": () => [inSimulation((sim) => on(sim.monitor, "eventually")), "m", () => true, {}],
    "Monitors.leadsTo": () => [
      inSimulation((sim) => on(sim.monitor, "leadsTo")),
      "m",
      () => true,
      () => true,
      {},
    ],
    flowKit: () => [flowKit, { flows: [Quiet], host: { queues: { any: { rate, perKey: { rate } } } } }],
    "FlowKit.start": () => [on(kit, "start"), Quiet, undefined, { debounce: { key: "k", wait: 5 } }],
    "FlowKit.advance": () => [on(kit, "advance"), {}],
    "KitRun.send": () => [on(run, "send"), "topic", 1, {}],
    testClock: () => [testClock, {}],
    "new TestClock": () => [made(TestClock), {}],
    "TestClock.runAll": () => [on(testClock(), "runAll"), {}],
    "TestClock.until": () => [on(testClock(), "until"), Promise.resolve(), {}],
    probe: () => [probe, system, {}],
    "Probe.expect": () => [on(watcher(), "expect"), 1, {}],
    "Probe.fish": () => [on(watcher(), "fish"), 1, {}],
    "Probe.expectNone": () => [on(watcher(), "expectNone"), {}],
    "Probe.expectExit": () => [on(watcher(), "expectExit"), pid(), undefined, {}],
    "Probe.do": () => [on(watcher(), "do"), nothing, {}],
    "new OperationHistory": () => [made(OperationHistory), {}],
    assertLinearizable: () => [assertLinearizable, history, model, {}],
    checkLinearizable: () => [checkLinearizable, history, model, {}],
    "new SimulatedDisk": () => [made(SimulatedDisk), {}, {}],
    delayBounded: () => [delayBounded, {}],
    exhaustive: () => [exhaustive, {}],
    pct: () => [pct, {}],
    pos: () => [pos, {}],
    randomWalk: () => [randomWalk, {}],
    usualStrategies: () => [usualStrategies, {}],
  };
}
