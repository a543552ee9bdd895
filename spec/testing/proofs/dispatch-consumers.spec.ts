// Consumers of several jobs under any schedule: consumers crash, stall and are stopped, and callers give up and ask again.
// No job is repeated without a reason, no consumer exceeds its limit, and all loads come back to zero.

import {
  ConsumerGroup,
  type ConsumerView,
  consumer,
  type Delivery,
  leastLoaded,
  roundRobin,
  supervisor,
} from "signalbox";
import type { Simulation } from "signalbox/testing";
import { describe, it } from "vitest";
import { explored } from "../../support/proof.js";

const CONCURRENCY = 2;
const MOST = 3;

/** One time that a consumer worked on a payload. */
interface Job {
  readonly payload: string;
  readonly life: string;
  /** How it came to its end. */
  over: "done" | "crashed" | "told to stop" | undefined;
}

async function shop(sim: Simulation): Promise<void> {
  const system = sim.system({ name: "s" });
  const jobs: Job[] = [];
  const ended = new Set<string>();
  const leaving = new Set<string>();
  const faults: string[] = [];
  const views = new Map<string, ConsumerView>();
  system.events.on("exit", ({ pid }) => void ended.add(sim.path(pid)));
  const group = new ConsumerGroup<string>({
    name: "clerks",
    route: sim.oneOf([leastLoaded(), roundRobin()], "route"),
    patienceMs: 50,
    maxAttempts: 10,
  });
  const look = (): void => {
    for (const view of group.consumers) views.set(sim.path(view.pid), view);
  };
  const work = async (
    payload: string,
    delivery: Delivery<string>,
    ctx: { readonly self: ConsumerView["pid"] },
  ): Promise<void> => {
    look();
    const life = sim.path(ctx.self);
    const before = jobs.find((job) => job.payload === payload && !ended.has(job.life));
    if (before !== undefined)
      faults.push(`${life} begins ${payload}, which ${before.life} had, who is alive`);
    if (leaving.has(life)) faults.push(`${life} begins ${payload} after it was told to stop`);
    const job: Job = { payload, life, over: undefined };
    jobs.push(job);
    const active = jobs.filter((one) => one.life === life && one.over === undefined).length;
    if (active > CONCURRENCY) faults.push(`${life} works on ${active} at once`);
    if (active > 1) sim.sometimes("two at once");
    const manner = sim.oneOf(["quick", "slow", "slow", "crash", "stall"], "manner");
    if (manner === "slow") await sim.sleep(5);
    if (manner === "crash") {
      job.over = "crashed";
      throw new Error("broken");
    }
    if (manner === "stall")
      await new Promise<void>((_, reject) => {
        delivery.signal.addEventListener("abort", () => {
          job.over = "told to stop";
          sim.sometimes("told to stop");
          reject(delivery.signal.reason);
        });
      });
    job.over = "done";
  };
  sim.monitor.always("no consumer begins a job that it must not begin", () => faults[0]);
  sim.monitor.always("no consumer has more in flight than its limit", () => {
    look();
    const wrong = [...views.values()].find(({ inFlight }) => inFlight < 0 || inFlight > MOST);
    return wrong === undefined ? undefined : `${wrong.id} has ${wrong.inFlight} in flight`;
  });
  sim.finally("no consumer has anything in flight", () => {
    const wrong = [...views.values()].find(({ inFlight }) => inFlight !== 0);
    return wrong === undefined ? undefined : `${wrong.id} has ${wrong.inFlight} in flight`;
  });
  sim.finally("no dispatch waits", () => group.waitingCount === 0);
  const ids = ["ann", "bob"];
  const start = consumer<string>(work, { group, concurrency: CONCURRENCY, maxInFlight: MOST });
  const children = ids.map((id) => ({ id, start, shutdown: 10 }));
  sim.calm();
  const floor = await system.start(supervisor({ intensity: 100, children }));
  await sim.quiet();
  look();
  sim.storm();
  const caller = async (name: string): Promise<void> => {
    // It asks again when its deadline has passed or it gave up.
    for (let round = 0; round < 2; round++) {
      const controller = new AbortController();
      const deadline = sim.oneOf([40, 8], "deadline");
      const asked = system.dispatch(group, `${name}${round}`, {
        deadlineMs: deadline,
        signal: controller.signal,
      });
      if (sim.choose(4, "give up") === 3) void sim.sleep(3).then(() => controller.abort(new Error("enough")));
      const answered = await asked.then(
        () => true,
        () => false,
      );
      if (answered) return;
    }
  };
  const all = ["a", "b", "c", "d", "e"].map(caller);
  await sim.sleep(4);
  const [first] = group.consumers;
  if (first !== undefined && sim.choose(2, "stop one") === 1) {
    // From its leaving on it begins nothing.
    const life = sim.path(first.pid);
    const { id } = first;
    sim.monitor.always("a consumer that left begins no job", () => {
      if (group.consumers.every((one) => one.id !== id)) leaving.add(life);
      return true;
    });
    const [child] = (await floor.whichChildren()).filter(({ pid }) => pid === first.pid);
    if (child !== undefined) {
      await floor.terminateChild(child.id);
      sim.sometimes("stopped");
      // A fault may strike the new one while it starts: its supervisor tries again.
      await floor.restartChild(child.id).catch(() => undefined);
    }
  }
  await Promise.all(all);
  sim.calm();
  await sim.sleep(500);
  for (const id of ids) await floor.terminateChild(id);
}

describe("consumers of several jobs, under any schedule,", () => {
  it("repeat a job only after its consumer ended, keep to their limits, and end with nothing in flight [D16]", async () => {
    await explored(shop, {
      quick: 60,
      name: "consumers",
      faults: {
        pause: { of: "s/**", forMs: [1, 5, 20] },
        delay: { of: "s/**", atMost: 2 },
        crash: { of: "s/supervisor/*", atMost: 2, reason: "kill" },
      },
      sometimes: ["two at once", "told to stop", "stopped"],
    });
  });
});
