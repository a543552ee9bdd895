// Queues of a running host: limits, priorities, delays, debounce, and flows that give their slot back.

import { OptionError, System } from "signalbox";
import { defineFlow, type FlowHost, type FlowHostOptions, flowHost } from "signalbox/flow";
import { memory, StoreError } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { watched } from "../defects/support.js";
import { bench } from "../runtime/bench.js";

/** Flows that run until they are told to end, and who runs. */
class Work {
  readonly running = new Set<string>();
  readonly order: string[] = [];
  most = 0;
  readonly flow = defineFlow("work", async (flow, input: string) => {
    await flow.step("begin", () => {
      this.running.add(flow.flowId);
      this.order.push(`${flow.flowId}:${input}`);
      this.most = Math.max(this.most, this.running.size);
    });
    const word = await flow.receive<string>("end");
    this.running.delete(flow.flowId);
    if (word === "fail") flow.hospital("asked for");
    return word;
  });
}

type Queues = NonNullable<FlowHostOptions["queues"]>;

async function withHost(
  queues: Queues,
  test: (flows: FlowHost, work: Work, pass: (ms: number) => Promise<void>, system: System) => Promise<void>,
): Promise<void> {
  const clock = testClock();
  const work = new Work();
  const system = new System({ environment: clock.environment });
  const flows = await system.start(flowHost({ store: memory(), flows: [work.flow], queues }));
  await test(flows, work, (ms) => clock.advance(ms), system);
  await flows.stop();
}

const ids = (work: Work): string[] => work.order.map((line) => line.split(":")[0] as string);

describe("a host that starts", () => {
  it("runs the flows that wait in its queues already [J32]", async () => {
    const flow = defineFlow("waiting", { queue: "line" }, async () => "ran");
    const queues = { line: { concurrency: 1 } };
    const source = memory();
    // The first host ends before it has admitted the flow.
    const stopped = watched(source, (method, [set]) => {
      if (method === "commit" && JSON.stringify(set).includes('"slot":"line"'))
        throw new StoreError("no answer");
    });
    const first = await bench([flow], { store: stopped, queues });
    await first.until(first.flows.start(flow, undefined, { id: "f" }));
    await first.clock.settle();
    await first[Symbol.asyncDispose]();
    await using second = await bench([flow], { store: source, clock: first.clock, queues });
    expect(await second.until(second.flows.get("f").result({ timeoutMs: 60_000 }))).toBe("ran");
  });
});

describe("a queue", () => {
  it("lets as many flows run as its limit says, and the next when one ends", async () => {
    await withHost({ jobs: { concurrency: 2 } }, async (flows, work, pass) => {
      const runs = [];
      for (const id of ["a", "b", "c", "d"])
        runs.push(await flows.start(work.flow, id, { id, queue: "jobs" }));
      await pass(10);
      expect([...work.running]).toEqual(["a", "b"]);
      await runs[0]?.send("end", "done");
      expect(await runs[0]?.result()).toBe("done");
      await pass(10);
      expect([...work.running]).toEqual(["b", "c"]);
    });
  });

  it("lets higher priority go first, and keys take turns", async () => {
    await withHost({ jobs: { concurrency: 1, perKey: { concurrency: 1 } } }, async (flows, work, pass) => {
      const start = (id: string, key: string, priority = 0) =>
        flows.start(work.flow, id, { id, queue: "jobs", key, priority });
      for (const [id, key, priority] of [
        ["a1", "a"],
        ["a2", "a"],
        ["a3", "a"],
        ["b1", "b"],
        ["c1", "c", 9],
      ] as const)
        await start(id, key, priority);
      await pass(10);
      for (let i = 0; i < 4; i++) {
        await flows.get([...work.running][0] as string).send("end", "done");
        await pass(10);
      }
      expect(ids(work)).toEqual(["a1", "c1", "b1", "a2", "a3"]);
      expect(work.most).toBe(1);
    });
  });

  it("gives the slot of a flow that fails, is paused or killed to the next [U7]", async () => {
    await withHost({ jobs: { concurrency: 1 } }, async (flows, work, pass) => {
      for (const id of ["a", "b", "c", "d"]) await flows.start(work.flow, id, { id, queue: "jobs" });
      await pass(10);
      await flows.get("a").send("end", "fail");
      await pass(10);
      expect((await flows.get("a").info()).status).toBe("hospitalized");
      expect(ids(work)).toEqual(["a", "b"]);
      await flows.get("b").pause();
      await pass(10);
      expect(ids(work)).toEqual(["a", "b", "c"]);
      await flows.get("c").kill();
      await pass(10);
      expect(ids(work)).toEqual(["a", "b", "c", "d"]);
      // The paused flow needs a slot to go on.
      await flows.get("b").resume();
      await flows.get("b").send("end", "late");
      await pass(10);
      expect((await flows.get("b").info()).finished).toBeUndefined();
      await flows.get("d").send("end", "done");
      await pass(10);
      expect(await flows.get("b").result()).toBe("late");
    });
  });

  it("lets a flow that waits be killed and cancelled without a slot [U7]", async () => {
    await withHost({ jobs: { concurrency: 1 } }, async (flows, work, pass) => {
      for (const id of ["a", "b"]) await flows.start(work.flow, id, { id, queue: "jobs" });
      await pass(10);
      await flows.get("b").kill();
      await pass(10);
      expect((await flows.get("b").info()).status).toBe("killed");
      expect(ids(work)).toEqual(["a"]);
    });
  });

  it.each([
    ["keep", ["a"]],
    ["release", ["a", "b"]],
  ] as const)(
    "of flows that %s their slot while they wait for long lets run %j",
    async (whileWaiting, expected) => {
      await withHost({ jobs: { concurrency: 1, whileWaiting } }, async (flows, work, pass) => {
        for (const id of ["a", "b"]) await flows.start(work.flow, id, { id, queue: "jobs" });
        await pass(20_000);
        expect(ids(work)).toEqual(expected);
        await flows.get("a").send("end", "done");
        await pass(20_000);
        expect(await flows.get("a").result()).toBe("done");
        expect(ids(work)).toEqual(["a", "b"]);
      });
    },
  );

  it("takes up flows that waited when their host stopped, and flows that held a slot keep it", async () => {
    const clock = testClock();
    const work = new Work();
    const host = flowHost({ store: memory(), flows: [work.flow], queues: { jobs: { concurrency: 1 } } });
    await using system = new System({ environment: clock.environment });
    const first = await system.start(host);
    for (const id of ["a", "b"]) await first.start(work.flow, id, { id, queue: "jobs" });
    await clock.advance(10);
    await first.stop();
    const second = await system.start(host);
    await clock.advance(10);
    expect(ids(work)).toEqual(["a"]);
    await second.get("a").send("end", "done");
    await clock.advance(10);
    expect(ids(work)).toEqual(["a", "b"]);
  });
});

describe("a start", () => {
  it("may be delayed, in a queue and without one", async () => {
    await withHost({ jobs: { concurrency: 1 } }, async (flows, work, pass) => {
      await flows.start(work.flow, "x", { id: "later", delay: "1 min" });
      await flows.start(work.flow, "x", { id: "queued", queue: "jobs", delay: "2 min" });
      await pass(59_000);
      expect(ids(work)).toEqual([]);
      await pass(2_000);
      expect(ids(work)).toEqual(["later"]);
      await pass(60_000);
      expect(ids(work)).toEqual(["later", "queued"]);
    });
  });

  it("with debounce is one flow with the last input, that runs when no more come, and in time [U8]", async () => {
    await withHost({ jobs: { concurrency: 1 } }, async (flows, work, pass) => {
      const start = (input: string, key = "k") =>
        flows.start(work.flow, input, { queue: "jobs", debounce: { key, wait: "10 s", atMost: "25 s" } });
      const first = await start("one");
      expect(first.attached).toBe(false);
      for (const input of ["two", "three"]) {
        await pass(9_000);
        const again = await start(input);
        expect([again.id, again.attached]).toEqual([first.id, true]);
      }
      await pass(6_900);
      expect(work.order).toEqual([]);
      // The bound of 25 s from the first start, though the last one was 7 s ago.
      await pass(200);
      expect(work.order).toEqual([`${first.id}:three`]);
      // It runs: a further start is a new flow.
      expect((await start("four")).attached).toBe(false);
      await pass(11_000);
      // That one waits in its queue now: it still takes the last input.
      expect((await start("five")).attached).toBe(true);
      await first.send("end", "done");
      await pass(20_000);
      expect(work.order.map((line) => line.split(":")[1])).toEqual(["three", "five"]);
    });
  });

  it("that says something impossible about its turn is refused", async () => {
    await withHost({ jobs: { concurrency: 1 } }, async (flows, work) => {
      const refused = async (options: object, path: string) =>
        expect(flows.start(work.flow, "x", options)).rejects.toMatchObject({ code: "ERR_OPTION", path });
      await refused({ queue: "mail" }, "queue");
      await refused({ key: "a" }, "key");
      await refused({ priority: 1 }, "priority");
      await refused({ queue: "jobs", priority: 10 }, "priority");
      await refused({ queue: "jobs", key: "" }, "key");
      await refused({ delay: 5, debounce: { key: "a", wait: 5 } }, "delay");
      await refused({ debounce: { key: "a", wait: 0 } }, "debounce.wait");
      await refused({ debounce: { key: "a", wait: 10, atMost: 5 } }, "debounce.atMost");
      await refused({ ques: "jobs" }, "ques");
    });
  });
});

describe("the options of queues", () => {
  const check = (queues: unknown) => () => flowHost({ store: memory(), flows: [], queues: queues as Queues });
  it.each([
    [[], "queues"],
    [{ a: { concurrency: 0 } }, "queues.a.concurrency"],
    [{ a: { perHost: 1.5 } }, "queues.a.perHost"],
    [{ a: { perKey: { concurrency: -1 } } }, "queues.a.perKey.concurrency"],
    [{ a: { perKey: { perHost: 1 } } }, "queues.a.perKey.perHost"],
    [{ a: { rate: { limit: 1e9, period: 5 } } }, "queues.a.rate.limit"],
    [{ a: { rate: { limit: 1, period: "1 fortnight" } } }, "queues.a.rate.period"],
    [{ a: { whileWaiting: "drop" } }, "queues.a.whileWaiting"],
    [{ a: { concurency: 1 } }, "queues.a.concurency"],
  ])("%j are refused at %s", (queues, path) => {
    expect(check(queues)).toThrow(OptionError);
    expect(check(queues)).toThrow(path);
  });

  it("must name the queue of each flow", () => {
    const flow = defineFlow("mail", { queue: "mails" }, async () => undefined);
    expect(() => flowHost({ store: memory(), flows: [flow] })).toThrow(
      /the queue of flow mail must be absent/,
    );
  });
});
