// The signals of a pipeline host for an autoscaler: what is due in its store, what its routes ask for, and what it holds.

import { System } from "signalbox";
import {
  definePipeline,
  type HostSignals,
  type PipelineDefinition,
  type PipelineHost,
  pipelineHost,
  queue,
  route,
} from "signalbox/pipeline";
import { prometheus } from "signalbox/service";
import { memory, type StoreSource } from "signalbox/store";
import { type FaultOptions, type Simulation, testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { explored } from "../support/proof.js";
import { gate } from "./queues/waits.js";
import { hostOn } from "./simulated/hosts.js";

const MINUTE = 60_000;
/** In a shared store, a host takes so many messages at least. */
const SHARE = 4;
const numbers = queue<number>("numbers");

/** A pipeline whose messages are in work until the gate opens. */
function waiting(over: Promise<void>, concurrency = 1): PipelineDefinition<unknown> {
  const work = route("work", { from: numbers, concurrency, prefetch: 5, timeoutMs: 1_000 * MINUTE });
  return definePipeline("waiting", { routes: [work.via("wait", () => over)] });
}

const values = (count: number) => ({ to: numbers, values: Array.from({ length: count }, (_, n) => n) });

/** Hosts in virtual time, each on a system of its own. */
async function hosted(store: StoreSource | undefined, count = 1) {
  const clock = testClock();
  const over = gate();
  const pipeline = waiting(over.opened);
  const systems: System[] = [];
  const hosts: PipelineHost[] = [];
  for (let n = 0; n < count; n++) {
    const system = new System({ environment: clock.environment, report: false });
    systems.push(system);
    const at = { pipelines: [pipeline as never], name: "jobs", ...(store !== undefined && { store }) };
    hosts.push(await clock.until(system.start(pipelineHost(at))));
  }
  const [system, host] = [systems[0] as System, hosts[0] as PipelineHost];
  return {
    ...{ clock, system, host, hosts, pipeline, over },
    until: <T>(promise: Promise<T>) => clock.until(promise),
    seen: () => clock.until(Promise.all(hosts.map((one) => one.signals()))),
    end: async () => {
      over.open();
      for (const one of systems) await clock.until(one.stop());
    },
  };
}

describe("a pipeline host", () => {
  it("says what waits, how long, what its routes ask for and what it holds [N1343]", async () => {
    const b = await hosted(memory());
    expect(await b.seen()).toEqual([{ due: 0, oldestDueMs: 0, room: 0, held: 0 }]);
    await b.until(b.host.start(b.pipeline, { id: "one", messages: values(3) }));
    await b.clock.advance(1);
    expect(await b.seen()).toEqual([{ due: 0, oldestDueMs: 0, room: 2, held: 3 }]);
    await b.until(b.host.start(b.pipeline, { id: "two", messages: values(8) }));
    await b.clock.advance(MINUTE);
    const [seen] = await b.seen();
    expect(seen).toMatchObject({ due: 3, room: 2, held: 8 });
    expect(seen?.oldestDueMs).toBeGreaterThanOrEqual(MINUTE);
    // Nobody may work on messages of an execution that is paused.
    await b.until(b.host.get("two").pause());
    expect(await b.seen()).toMatchObject([{ due: 0, oldestDueMs: 0, room: 2 }]);
    await b.until(b.host.get("one").pause());
    expect(await b.seen()).toMatchObject([{ due: 0, room: 0 }]);
    await b.end();
  });

  it("of a shared store says the same as the others, and takes what it has room for [N1343]", async () => {
    const b = await hosted(memory({ shared: true }), 2);
    await b.until(b.host.start(b.pipeline, { messages: values(2 * SHARE + 3) }));
    await b.clock.advance(MINUTE);
    const [one, two] = (await b.seen()) as [HostSignals, HostSignals];
    expect([one, two]).toMatchObject([
      { due: 3, room: 0, held: SHARE },
      { due: 3, room: 0, held: SHARE },
    ]);
    expect(one.oldestDueMs).toBe(two.oldestDueMs);
    expect(one.oldestDueMs).toBeGreaterThanOrEqual(MINUTE);
    await b.end();
  });

  it("counts a dead letter that was put back, and a message that was moved, since then [N1343]", async () => {
    const clock = testClock();
    const system = new System({ environment: clock.environment, report: false });
    const [left, right] = [queue<number>("left"), queue<number>("right")];
    const wait = () => new Promise<undefined>(() => undefined);
    const patient = { timeoutMs: 1_000 * MINUTE, prefetch: 1 } as const;
    const retry = { attempts: 1 };
    const fails = route("fails", { from: left, ...patient, retry }).via("fail", (n) => {
      if (n === 0) throw new Error("no");
      return wait();
    });
    const waits = route("waits", { from: right, ...patient }).via("wait", wait);
    const pipeline = definePipeline("two", { routes: [fails, waits] });
    const host = await clock.until(
      system.start(pipelineHost({ store: memory(), pipelines: [pipeline as never], drainMs: 1 })),
    );
    const run = await clock.until(host.start(pipeline, { messages: { to: left, values: [0, 1] } }));
    /** The next minute. */
    const seen = async (): Promise<number> => {
      await clock.advance(MINUTE);
      const { due, oldestDueMs, held } = await clock.until(host.signals());
      expect([due, held]).toEqual([1, 1]);
      return Math.floor(oldestDueMs / MINUTE);
    };
    await clock.advance(10 * MINUTE);
    await clock.until(run.retryDead({}));
    expect(await seen()).toBe(1);
    await clock.advance(10 * MINUTE);
    expect(await seen()).toBe(12);
    const moved = await clock.until(run.move({ to: "waits", queues: ["left"] }));
    expect(moved.messages).toBe(2);
    expect(await seen()).toBe(1);
    await clock.until(system.stop());
  });

  it("is on the page of metrics as long as it runs, and only with a store [N1344]", async () => {
    const b = await hosted(memory());
    const metrics = prometheus(b.system, { runtime: false });
    const page = async (): Promise<string[]> => {
      const lines = metrics
        .text()
        .split("\n")
        .filter((line) => line.startsWith("signalbox_host_"));
      await b.clock.advance(1);
      return lines.map((line) =>
        line.replace(/^signalbox_host_(\w+)\{.*kind="pipelines",host="jobs"\}/, "$1"),
      );
    };
    await b.until(b.host.start(b.pipeline, { messages: values(8) }));
    await b.clock.advance(MINUTE);
    await page();
    const [due, oldest, ...more] = await page();
    expect([due, ...more]).toEqual(["due 3", "room 0", "held 5"]);
    expect(Number(oldest?.replace("due_oldest_seconds ", ""))).toBeGreaterThanOrEqual(MINUTE / 1_000);
    b.over.open();
    await b.until(b.host.stop());
    expect(await page()).toEqual([]);
    await b.end();
    const none = await hosted(undefined);
    const empty = prometheus(none.system, { runtime: false });
    expect(empty.text()).not.toContain("signalbox_host_");
    await expect(none.until(none.host.signals())).rejects.toMatchObject({ code: "ERR_PIPELINE_NO_LINEAGE" });
    await none.end();
  });
});

const MESSAGES = 2 * SHARE + 3;
/** More looks than the others take to find what a killed host held. */
const LOOKS = 60;
const LOOK_MS = 500;
const killed: FaultOptions = {
  crash: [{ of: ["a/root/pipelines", "b/root/pipelines"], atMost: 2, reason: "kill" }],
};

describe("hosts that share a store", () => {
  it("say the same, and each message is due or held, whichever of them is killed [N1345]", async () => {
    await explored(
      async (sim: Simulation) => {
        const store = sim.store({ shared: true });
        const over = gate();
        const hosts: PipelineHost[] = [];
        sim.calm();
        for (const name of ["a", "b"])
          hosts.push(await hostOn(sim, name, store, [waiting(over.opened) as never]));
        const before = await hosts[0]?.start(waiting(over.opened), { id: "one", messages: values(MESSAGES) });
        const started = sim.now;
        sim.storm();
        await sim.sleep(sim.oneOf([0, 50, 2_000], "until the kills end"));
        sim.calm();
        let seen: readonly HostSignals[] = [];
        const isWhole = (): boolean => {
          const held = seen.reduce((sum, one) => sum + one.held, 0);
          return seen.length > 0 && seen.every(({ due }) => due + held === MESSAGES);
        };
        for (let looks = 0; looks < LOOKS && !(isWhole() && looks > LOOKS / 2); looks++) {
          await sim.sleep(LOOK_MS);
          seen = await Promise.all(hosts.map((host) => host.signals()));
        }
        expect(isWhole(), JSON.stringify(seen)).toBe(true);
        expect(seen.map(({ room, held }) => room + held)).toEqual([SHARE, SHARE]);
        for (const { oldestDueMs } of seen)
          expect(oldestDueMs).toBeGreaterThanOrEqual(sim.now - started - LOOK_MS);
        over.open();
        expect((await before?.completed())?.done).toBe(MESSAGES);
      },
      { quick: 10, share: 0.05, seed: 3, faults: killed },
    );
  });
});
