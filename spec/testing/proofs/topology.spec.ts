// Topologies under any schedule: whatever crashes when, every bolt works on a reliable tuple at least once before the tuple
// is acked, and its spout gets one ack or fail.

import type { ExploreOptions, FaultOptions, Simulation } from "signalbox/testing";
import { grouping } from "signalbox/topology";
import { describe, expect, it } from "vitest";
import { exhausted, explored, proving } from "../../support/proof.js";
import { judge, type Plant, type Planted, plantOn, seeThrough } from "./support-topology.js";

const CRASHES: FaultOptions = {
  crash: [
    { of: "**/source-*" },
    { of: "**/relay-*", atMost: 2 },
    { of: "**/sink-*", atMost: 2 },
    { of: "**/__acker-*", reason: "kill" },
    { of: "**/system-task", reason: "kill" },
  ],
  pause: { of: "**" },
};

/** One run from the start to the drained end; faults strike once it is up. */
async function whole(sim: Simulation, plant: Plant, everySink = 1): Promise<Planted> {
  sim.calm();
  const { running, records } = await plantOn(sim.system({ name: "s" }), plant);
  sim.storm();
  await seeThrough(sim, running, records, plant.tuples);
  judge(records, plant.tuples, everySink);
  return { running, records };
}

async function inMany(
  plant: Plant,
  options: ExploreOptions & { readonly share?: number },
  everySink = 1,
): Promise<void> {
  const scenario = async (sim: Simulation): Promise<void> => {
    const { records } = await whole(sim, plant, everySink);
    const twice = [...records.seen.values()].some((times) => times > everySink);
    sim.sometimes("a tuple was done twice", twice);
  };
  await explored(scenario, {
    quick: 25,
    share: 1 / 8,
    faults: CRASHES,
    sometimes: ["a tuple was done twice"],
    ...options,
  });
}

describe("topologies, under any schedule", () => {
  it("ack a tuple once, after every bolt has worked on it, whatever crashes [O1]", async () => {
    await inMany({ tuples: 6, relays: 2, sinks: 2 }, { name: "topology", share: 1 });
  });

  it("do so when each key has its task, and messages are late [O1]", async () => {
    await inMany(
      { tuples: 6, relays: 2, sinks: 2, toSink: grouping.fields("n") },
      { name: "fields", faults: { ...CRASHES, delay: { of: "**", atMost: 3 } } },
    );
  });

  it("do so when a bolt settles by itself, and when it awaits something [O1]", async () => {
    await inMany({ tuples: 4, relays: 2, mode: "manual" }, { name: "manual" });
    await inMany({ tuples: 4, relays: 2, waits: true }, { name: "asynchronous" });
  });

  it("do so when a bolt waits for room [O1]", async () => {
    await inMany(
      { tuples: 6, relays: 2, sinks: 2, toSink: grouping.fields("n"), config: { receiveBuffer: 1 } },
      { name: "narrow", faults: { ...CRASHES, delay: { of: "**", atMost: 3 } } },
    );
  });

  it("do so when a task has several tuples in work at once [O1]", async () => {
    await inMany({ tuples: 4, relays: 2, waits: true, config: { concurrency: 2 } }, { name: "concurrent" });
  });

  it("ack a tuple of an `all` grouping when every task has worked on it, and not before [O2]", async () => {
    await inMany(
      { tuples: 4, relays: 1, sinks: 3, toSink: grouping.all(), config: { messageTimeoutMs: 10_000 } },
      { name: "all", faults: { ...CRASHES, rush: {} } },
      3,
    );
  });

  it("leave retries to a source that replays by itself when configured so [O6]", async () => {
    await inMany({ tuples: 4, relays: 2, source: "replays" }, { name: "replays" });
  });
});

describe("in every schedule with at most one preemption", () => {
  it.each(["source-0", "relay-0", "sink-0", "__acker-0", "system-task"])(
    "a spout, two bolts, an acker and two tuples come out right, whenever %s is killed [O1]",
    async (victim) => {
      const scenario = async (sim: Simulation): Promise<void> => {
        const { running } = await whole(sim, { tuples: 2 });
        const struck = running.tasks().some(({ restarts }) => restarts > 0);
        sim.sometimes("a task was killed", struck || victim === "system-task");
      };
      const schedules = await exhausted(scenario, {
        name: victim,
        search: { preemptions: 1 },
        quick: { preemptions: 0 },
        faults: { crash: { of: `**/${victim}`, reason: "kill" } },
        sometimes: ["a task was killed"],
      });
      expect(schedules).toBeGreaterThan(proving ? 500 : 10);
    },
  );
});
