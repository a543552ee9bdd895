// Consumers that work on several envelopes at once, and how they end.

import {
  ConsumerGroup,
  type ConsumerOptions,
  consumer,
  custom,
  type Delivery,
  type Outcome,
  type Pid,
  System,
  stop,
  supervisor,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { type Gate, gate } from "../support/gate.js";
import { desk, type Fate, fate } from "./support.js";

let clock: TestClock;
let system: System;
let group: ConsumerGroup<string>;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
  group = new ConsumerGroup({ name: "clerks", deadlineMs: Number.POSITIVE_INFINITY });
});
afterEach(async () => {
  const stopped = system.stop({ timeoutMs: 0 });
  await clock.advance(1);
  await stopped;
});

/** A consumer whose jobs end when the test says so. */
interface Shop {
  readonly pid: Pid<Delivery<string>>;
  /** Payloads in the order in which it began to work on them. */
  readonly begun: string[];
  readonly done: string[];
  finish(payload: string): Promise<void>;
  crash(payload: string): Promise<void>;
}

function shop(
  options: ConsumerOptions<string>,
  start?: (of: ReturnType<typeof consumer<string>>) => Pid,
): Shop {
  const jobs = new Map<string, Gate<void> & { broken?: boolean }>();
  const begun: string[] = [];
  const done: string[] = [];
  const behaviour = consumer<string>(
    async (payload) => {
      const job: Gate<void> & { broken?: boolean } = gate();
      jobs.set(payload, job);
      begun.push(payload);
      await job.promise;
      if (job.broken === true) throw new Error(`broken by ${payload}`);
      done.push(payload);
    },
    { group, ...options },
  );
  const pid = (start?.(behaviour) ?? system.spawn(behaviour)) as Pid<Delivery<string>>;
  const open = async (payload: string, broken: boolean): Promise<void> => {
    const job = jobs.get(payload);
    if (job === undefined) throw new Error(`${payload} was not begun`);
    job.broken = broken;
    job.open();
    await system.idle();
  };
  return {
    pid,
    begun,
    done,
    finish: (payload) => open(payload, false),
    crash: (payload) => open(payload, true),
  };
}

const dispatchAll = (payloads: readonly string[]): Fate<Outcome<string>>[] =>
  payloads.map((payload) => fate(system.dispatch(group, payload)));

describe("a consumer with `concurrency`", () => {
  it("works on that many envelopes at once, and on no more [D21]", async () => {
    const { begun, finish } = shop({ concurrency: 3 });
    await system.idle();
    const fates = dispatchAll(["a", "b", "c", "d", "e"]);
    await system.idle();
    expect(begun).toEqual(["a", "b", "c"]);
    expect(group.consumers[0]).toMatchObject({ inFlight: 3, maxInFlight: 3, bufferDepth: 0 });
    await finish("b");
    expect(begun).toEqual(["a", "b", "c", "d"]);
    expect(fates.map((one) => one.done)).toEqual([false, true, false, false, false]);
    for (const payload of ["a", "c", "d", "e"]) await finish(payload);
    expect(fates.map((one) => one.value?.settledBy)).toEqual(["ack", "ack", "ack", "ack", "ack"]);
    expect(group.consumers[0]?.inFlight).toBe(0);
  });

  it("leaves further envelopes in its mailbox, up to `maxInFlight` [D21]", async () => {
    const { begun, finish } = shop({ concurrency: 2, maxInFlight: 4 });
    await system.idle();
    dispatchAll(["a", "b", "c", "d", "e"]);
    await system.idle();
    expect(begun).toEqual(["a", "b"]);
    expect(group.consumers[0]).toMatchObject({ inFlight: 4, bufferDepth: 2 });
    await finish("a");
    expect(begun).toEqual(["a", "b", "c"]);
  });

  it("works on one envelope at a time by default", async () => {
    const { begun, finish } = shop({});
    await system.idle();
    dispatchAll(["a", "b"]);
    await system.idle();
    expect(begun).toEqual(["a"]);
    await finish("a");
    expect(begun).toEqual(["a", "b"]);
  });

  it.each([0, 1.5, Number.POSITIVE_INFINITY, "2"])("refuses %s", (concurrency) => {
    expect(() => consumer(() => undefined, { concurrency } as never)).toThrow(/concurrency/);
  });

  it("crashes with any of its jobs: that job spends an attempt, the other jobs re-route and spend none [D22]", async () => {
    const { begun, crash } = shop({ concurrency: 3, id: "ann" });
    await system.idle();
    const fates = ["a", "b", "c"].map((payload) => fate(system.dispatch(group, payload, { maxAttempts: 1 })));
    await system.idle();
    expect(begun).toEqual(["a", "b", "c"]);
    const bob = desk(system, group, { id: "bob" });
    await crash("b");
    expect(fates[1]).toMatchObject({
      code: "ERR_ATTEMPTS_EXHAUSTED",
      error: { history: [{ end: "crashed" }] },
    });
    expect([...bob.payloads].sort()).toEqual(["a", "c"]);
    for (const delivery of bob.deliveries) delivery.ack();
    await system.idle();
    expect(fates[0]?.value).toMatchObject({ deliveredTo: "bob", attempts: 2, reroutedFrom: ["ann"] });
  });

  it("crashes, and its other jobs do not re-route where the crash policy forbids it [D22]", async () => {
    const undone: string[] = [];
    const { crash } = shop({ concurrency: 2 });
    await system.idle();
    const fates = [
      fate(system.dispatch(group, "a", { onCrash: "fail" })),
      fate(
        system.dispatch(group, "b", {
          onCrash: "compensate",
          compensate: ({ payload }) => void undone.push(payload),
        }),
      ),
    ];
    await system.idle();
    const bob = desk(system, group);
    await crash("a");
    expect(fates.map((one) => one.error)).toMatchObject([{ end: "crashed" }, { end: "compensated" }]);
    expect([bob.payloads, undone]).toEqual([[], ["b"]]);
  });

  it("is killed from outside, and all of its jobs spend an attempt", async () => {
    const { pid } = shop({ concurrency: 2 });
    await system.idle();
    const fates = ["a", "b"].map((payload) => fate(system.dispatch(group, payload, { maxAttempts: 1 })));
    await system.idle();
    system.exit(pid, "kill");
    await system.idle();
    expect(fates.map((one) => one.code)).toEqual(["ERR_ATTEMPTS_EXHAUSTED", "ERR_ATTEMPTS_EXHAUSTED"]);
  });

  it("returns a stop from one job, and finishes the other jobs first", async () => {
    const hold = gate();
    const pid = system.spawn(
      consumer<string>(
        async (payload) => {
          if (payload === "last") return stop(custom("enough"));
          await hold.promise;
          return "done";
        },
        { group, concurrency: 2 },
      ),
    );
    const ended = system.exited(pid);
    await system.idle();
    const fates = dispatchAll(["slow", "last"]);
    await system.idle();
    expect([fates[1]?.value?.settledBy, system.isAlive(pid), group.consumers]).toEqual(["ack", true, []]);
    hold.open();
    expect(await ended).toEqual(custom("enough"));
    await system.idle();
    expect(fates[0]?.value?.reply).toBe("done");
  });
});

describe("a consumer that its supervisor stops", () => {
  const supervised = async (shutdown: number, concurrency: number): Promise<Shop & { stop(): void }> => {
    const staff: { behaviour?: ReturnType<typeof consumer<string>> } = {};
    const made = shop({ concurrency, maxInFlight: 10, id: "ann" }, (behaviour) => {
      staff.behaviour = behaviour;
      return system.spawn(() => undefined);
    });
    const { behaviour } = staff;
    if (behaviour === undefined) throw new Error("no behaviour");
    const ref = await system.start(supervisor({ children: [{ id: "ann", start: behaviour, shutdown }] }));
    const pid = group.consumers[0]?.pid as Pid<Delivery<string>>;
    return { ...made, pid, stop: () => system.exit(ref.pid, "shutdown") };
  };

  it("leaves its group at once, finishes its jobs, then ends [D23]", async () => {
    const ann = await supervised(1_000, 2);
    const bob = desk(system, group, { id: "bob" });
    group.route = (_envelope, [first]) => first;
    const fates = dispatchAll(["a", "b", "c", "d"]);
    await system.idle();
    expect(ann.begun).toEqual(["a", "b"]);
    ann.stop();
    await system.idle();
    expect(group.consumers.map(({ id }) => id)).toEqual(["bob"]);
    expect(bob.payloads).toEqual(["c", "d"]);
    expect(bob.deliveries.map(({ attempt }) => attempt)).toEqual([2, 2]);
    expect(system.isAlive(ann.pid)).toBe(true);
    await ann.finish("a");
    expect(system.isAlive(ann.pid)).toBe(true);
    await ann.finish("b");
    expect(system.isAlive(ann.pid)).toBe(false);
    expect(ann.begun).toEqual(["a", "b"]);
    expect(fates.map((one) => one.value?.deliveredTo)).toEqual(["ann", "ann", undefined, undefined]);
  });

  it("gives back envelopes without spending an attempt [D23]", async () => {
    const ann = await supervised(1_000, 1);
    group.route = (_envelope, [first]) => first;
    void dispatchAll(["a"]);
    const once = fate(system.dispatch(group, "once", { maxAttempts: 1 }));
    const bob = desk(system, group, { id: "bob" });
    await system.idle();
    ann.stop();
    await system.idle();
    bob.last.ack();
    await system.idle();
    expect(once.value).toMatchObject({ deliveredTo: "bob", reroutedFrom: ["ann"] });
  });

  it("is killed when its jobs exceed its shutdown time, and the jobs re-route", async () => {
    const ann = await supervised(100, 1);
    const bob = desk(system, group, { id: "bob" });
    group.route = (_envelope, [first]) => first;
    void dispatchAll(["a"]);
    await system.idle();
    ann.stop();
    await clock.advance(99);
    expect([system.isAlive(ann.pid), bob.payloads]).toEqual([true, []]);
    await clock.advance(1);
    expect([system.isAlive(ann.pid), bob.payloads]).toEqual([false, ["a"]]);
  });

  it("ends at once when it has no jobs", async () => {
    const ann = await supervised(1_000, 1);
    ann.stop();
    await system.idle();
    expect(system.isAlive(ann.pid)).toBe(false);
  });

  it("crashes when one of its last jobs crashes", async () => {
    const ann = await supervised(1_000, 2);
    const fates = dispatchAll(["a", "b"]);
    await system.idle();
    ann.stop();
    await system.idle();
    await ann.crash("a");
    expect(system.isAlive(ann.pid)).toBe(false);
    await clock.advance(1_000);
    expect(fates.map((one) => one.code)).toEqual(["ERR_NO_CONSUMER", "ERR_NO_CONSUMER"]);
  });
});

describe("a system that stops", () => {
  it("lets the jobs in progress finish: their callers get the outcome, waiting callers the reason `shutdown` [D24]", async () => {
    const { begun, done, finish } = shop({ concurrency: 2 });
    await system.idle();
    const fates = dispatchAll(["a", "b", "waits"]);
    await system.idle();
    const stopped = fate(system.stop());
    await clock.advance(1_000);
    expect(stopped.done).toBe(false);
    await finish("a");
    await finish("b");
    await clock.advance(0);
    for (let n = 0; n < 10 && !stopped.done; n++) await new Promise((next) => setImmediate(next));
    expect(stopped.done).toBe(true);
    expect([begun, done]).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
    expect(fates.map((one) => one.value?.settledBy)).toEqual(["ack", "ack", undefined]);
    expect(fates[2]?.error).toMatchObject({ end: "died", reason: { type: "shutdown" } });
  });

  it("kills the jobs that exceed the shutdown time of their consumer", async () => {
    const { done } = shop({});
    await system.idle();
    const [one] = dispatchAll(["a"]);
    await system.idle();
    const stopped = fate(system.stop());
    await clock.advance(5_000);
    for (let n = 0; n < 10 && !stopped.done; n++) await new Promise((next) => setImmediate(next));
    expect([stopped.done, done]).toEqual([true, []]);
    expect(one?.error).toMatchObject({ end: "died", reason: { type: "shutdown" } });
  });
});
