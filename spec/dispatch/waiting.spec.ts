// Pressure: a consumer that has as much as it may have is waited for, and no vacancy is ever lost.

import fc from "fast-check";
import { ConsumerGroup, type Delivery, type RoutingFunction, rendezvous, System } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { pressureOf } from "../../lib/dispatch/member.js";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { gate } from "../support/gate.js";
import { sized } from "../support/proof.js";
import { puppet } from "../support/puppet.js";
import { desk, fate } from "./support.js";

let clock: TestClock;
let system: System;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
});
afterEach(() => system.stop());

const forever = { deadlineMs: Number.POSITIVE_INFINITY };
const first: RoutingFunction<string> = (_envelope, [one]) => one;

describe("the pressure of a consumer", () => {
  it.each([
    [0, 1, 0, 1, "accept"],
    [1, 1, 0, 1, "defer"],
    [2, 1, 0, 1, "defer"],
    [0, 1, 1, 1, "reject"],
    [1, 1, 1, 1, "reject"],
    [1_000, Number.POSITIVE_INFINITY, 1_000, Number.POSITIVE_INFINITY, "accept"],
  ] as const)("with %d of %d in flight and %d of %d in its mailbox: %s", (a, b, c, d, expected) => {
    expect(pressureOf(a, b, c, d)).toBe(expected);
  });
});

describe("a consumer that defers", () => {
  it("gets the next envelope when it has settled one, first in, first out", async () => {
    const group = new ConsumerGroup<string>({ ...forever });
    const ann = desk(system, group, { maxInFlight: 1 });
    for (const payload of ["one", "two", "three"]) void system.dispatch(group, payload);
    await system.idle();
    expect(ann.payloads).toEqual(["one"]);
    expect(group.waitingCount).toBe(2);
    ann.last.ack();
    await system.idle();
    expect(ann.payloads).toEqual(["one", "two"]);
    ann.last.ack();
    await system.idle();
    expect(ann.payloads).toEqual(["one", "two", "three"]);
    expect(group.waitingCount).toBe(0);
  });

  it("is passed over by a routing function that reads `pressure`", async () => {
    const group = new ConsumerGroup<string>({ ...forever });
    const ann = desk(system, group, { maxInFlight: 1 });
    const bob = desk(system, group, { maxInFlight: 1 });
    for (const payload of ["one", "two"]) void system.dispatch(group, payload);
    await system.idle();
    expect([ann.payloads, bob.payloads]).toEqual([["one"], ["two"]]);
  });

  it("is waited for by a dispatch that insists on it, though another consumer is free", async () => {
    const group = new ConsumerGroup<string>({ ...forever, route: rendezvous(() => "the same key") });
    const desks = [desk(system, group, { maxInFlight: 1 }), desk(system, group, { maxInFlight: 1 })];
    for (const payload of ["one", "two"]) void system.dispatch(group, payload);
    await system.idle();
    const chosen = desks.find((one) => one.payloads.length > 0);
    expect(desks.map((one) => one.payloads.length).sort()).toEqual([0, 1]);
    chosen?.last.ack();
    await system.idle();
    expect(chosen?.payloads).toEqual(["one", "two"]);
  });

  it("is waited for no longer than the deadline", async () => {
    const group = new ConsumerGroup<string>({ deadlineMs: 100 });
    const ann = desk(system, group, { maxInFlight: 1 });
    const one = fate(system.dispatch(group, "one", { deadlineMs: 1_000 }));
    const two = fate(system.dispatch(group, "two"));
    await clock.advance(100);
    expect(two.code).toBe("ERR_DEADLINE");
    expect(group.waitingCount).toBe(0);
    ann.last.ack();
    await system.idle();
    expect(one.value?.attempts).toBe(1);
    expect(ann.payloads).toEqual(["one"]);
  });

  it("leaves, and the dispatches that wait for it go elsewhere", async () => {
    const group = new ConsumerGroup<string>({ ...forever, route: first });
    desk(system, group, { id: "ann", maxInFlight: 1 });
    const bob = desk(system, group);
    for (const payload of ["one", "two"]) void system.dispatch(group, payload);
    await system.idle();
    expect(bob.payloads).toEqual([]);
    group.leave("ann");
    await system.idle();
    expect(bob.payloads).toEqual(["two"]);
  });

  it("exits, and its envelopes and the dispatches that wait for it go elsewhere", async () => {
    const group = new ConsumerGroup<string>({ ...forever, route: first });
    const ann = desk(system, group, { maxInFlight: 1 });
    const bob = desk(system, group);
    for (const payload of ["one", "two"]) void system.dispatch(group, payload);
    await system.idle();
    system.exit(ann.pid, "kill");
    await system.idle();
    expect([...bob.payloads].sort()).toEqual(["one", "two"]);
  });

  it("has its slot offered on when the dispatch that it was offered to is withdrawn", async () => {
    const group = new ConsumerGroup<string>({ ...forever });
    const ann = desk(system, group, { maxInFlight: 1 });
    void system.dispatch(group, "one");
    const controller = new AbortController();
    const two = fate(system.dispatch(group, "two", { signal: controller.signal }));
    void system.dispatch(group, "three");
    await system.idle();
    const between = puppet(system).do(() => {
      ann.last.ack();
      const waiting = group.waitingCount;
      controller.abort("enough"); // "two" was woken, and has not had its turn
      return [waiting, group.waitingCount];
    });
    expect(await between).toEqual([2, 1]);
    await system.idle();
    expect(two.error).toBe("enough");
    expect(ann.payloads).toEqual(["one", "three"]);
  });
});

describe("dispatches that wait", () => {
  it("go first in, first out, also when they were woken in vain [D19]", async () => {
    const group = new ConsumerGroup<string>({ ...forever, route: first });
    const ann = desk(system, group, { maxInFlight: 1 });
    for (const payload of ["one", "two", "three", "four"]) void system.dispatch(group, payload);
    await system.idle();
    const order: string[] = [];
    while (order.length < 4) {
      // Somebody who is never the first of the group joins and leaves: all look again, and go on to wait.
      group.leave(desk(system, group).pid);
      await system.idle();
      order.push(ann.last.payload);
      ann.last.ack();
      await system.idle();
    }
    expect(order).toEqual(["one", "two", "three", "four"]);
  });

  it("are not overtaken by one that comes while a slot is reserved for them [D19]", async () => {
    const group = new ConsumerGroup<string>({ ...forever });
    const ann = desk(system, group, { maxInFlight: 1 });
    void system.dispatch(group, "one");
    await system.idle();
    void system.dispatch(group, "two");
    await system.idle();
    void system.dispatch(group, "three");
    ann.last.ack();
    await system.idle();
    expect(ann.payloads).toEqual(["one", "two"]);
  });

  it("of a higher priority go first, first in, first out among equals [D26]", async () => {
    const group = new ConsumerGroup<string>({ ...forever });
    const ann = desk(system, group, { maxInFlight: 1 });
    for (const [payload, priority] of [
      ["first", 0],
      ["low", 0],
      ["high", 9],
      ["also high", 9],
      ["middle", 5],
    ] as const)
      void system.dispatch(group, system.envelope(payload, { priority }));
    for (let n = 0; n < 5; n++) {
      await system.idle();
      ann.last.ack();
    }
    expect(ann.payloads).toEqual(["first", "high", "also high", "middle", "low"]);
  });

  it("go after those that lost a consumer [D19]", async () => {
    const group = new ConsumerGroup<string>({ ...forever });
    const [ann, bob] = [desk(system, group, { maxInFlight: 1 }), desk(system, group, { maxInFlight: 1 })];
    for (const payload of ["one", "two", "three", "four"]) void system.dispatch(group, payload);
    await system.idle();
    system.exit(ann.pid, "kill");
    await system.idle();
    for (let n = 0; n < 3; n++) {
      bob.last.ack();
      await system.idle();
    }
    expect(bob.payloads).toEqual(["two", "one", "three", "four"]);
  });
});

describe("a consumer that rejects", () => {
  const slow = (group: ConsumerGroup<string>, maxBuffer: number): { free(): void; taken: string[] } => {
    const taken: string[] = [];
    const free = gate();
    const pid = system.spawn<Delivery<string>>({
      handle: async (_ctx, delivery) => {
        taken.push(delivery.payload);
        await free.promise;
        delivery.ack();
      },
    });
    group.join(pid, { maxBuffer });
    return { free: () => free.open(), taken };
  };

  it("fails the dispatch that insists on it", async () => {
    const group = new ConsumerGroup<string>({ ...forever, route: first });
    const { free, taken } = slow(group, 1);
    const fates = [];
    for (const payload of ["one", "two", "three"]) {
      fates.push(fate(system.dispatch(group, payload)));
      await system.idle();
    }
    expect(fates.map((one) => one.code)).toEqual([undefined, undefined, "ERR_NO_CONSUMER"]);
    expect(fates[2]?.error).toMatchObject({ why: "rejecting" });
    free();
    await system.idle();
    expect(taken).toEqual(["one", "two"]);
  });

  it("is passed over by a routing function that reads `pressure`; when all reject, none is chosen", async () => {
    const group = new ConsumerGroup<string>({ ...forever });
    const { free } = slow(group, 1);
    for (const payload of ["one", "two"]) {
      void system.dispatch(group, payload);
      await system.idle();
    }
    const three = fate(system.dispatch(group, "three"));
    await system.idle();
    expect(three.error).toMatchObject({ code: "ERR_NO_CONSUMER", why: "none" });
    const bob = desk(system, group);
    void system.dispatch(group, "four");
    await system.idle();
    expect(bob.payloads).toEqual(["four"]);
    free();
  });
});

describe("the number of dispatches that wait", () => {
  it("is limited by `maxWaiting`", async () => {
    const group = new ConsumerGroup<string>({ ...forever, maxWaiting: 1 });
    desk(system, group, { maxInFlight: 1 });
    const fates = ["one", "two", "three"].map((payload) => fate(system.dispatch(group, payload)));
    await system.idle();
    expect(fates.map((one) => one.code)).toEqual([undefined, undefined, "ERR_NO_CONSUMER"]);
    expect(fates[2]?.error).toMatchObject({ why: "waiting-full" });
    expect(group.waitingCount).toBe(1);
  });

  it("of 0 lets no dispatch wait", async () => {
    const group = new ConsumerGroup<string>({ ...forever, maxWaiting: 0, patienceMs: 100 });
    const one = fate(system.dispatch(group, "one"));
    await system.idle();
    expect(one.error).toMatchObject({ why: "waiting-full" });
  });

  it("includes a dispatch that was woken and has not chosen yet: it keeps its place", async () => {
    const group = new ConsumerGroup<string>({ ...forever, maxWaiting: 1 });
    const ann = desk(system, group, { maxInFlight: 1 });
    void system.dispatch(group, "one");
    const two = fate(system.dispatch(group, "two"));
    await system.idle();
    // This one has its turn before "two", for which the newcomer keeps its slot.
    const three = fate(system.dispatch(group, "three"));
    const bob = desk(system, group, { maxInFlight: 1 });
    expect(group.waitingCount).toBe(1);
    await system.idle();
    expect(three.error).toMatchObject({ why: "waiting-full" });
    expect([ann.payloads, bob.payloads, two.done]).toEqual([["one"], ["two"], false]);
  });
});

describe("patience", () => {
  it("counts from the moment that there is no consumer to choose: a moving queue does not use it up [D20]", async () => {
    const group = new ConsumerGroup<string>({ ...forever, patienceMs: 100 });
    const ann = desk(system, group, { maxInFlight: 1 });
    void system.dispatch(group, "one");
    const two = fate(system.dispatch(group, "two"));
    await clock.advance(500);
    expect([two.done, group.waitingCount]).toEqual([false, 1]);
    group.leave(String(ann.pid));
    await clock.advance(99);
    expect(two.done).toBe(false);
    const bob = desk(system, group);
    await system.idle();
    expect(bob.payloads).toEqual(["two"]);
  });

  it("begins anew each time that there is no consumer to choose [D20]", async () => {
    const group = new ConsumerGroup<string>({ ...forever, patienceMs: 100, maxAttempts: 9 });
    const one = fate(system.dispatch(group, "one"));
    for (let n = 0; n < 5; n++) {
      await clock.advance(60);
      const pid = desk(system, group).pid;
      await system.idle();
      system.exit(pid, "kill");
    }
    await clock.advance(99);
    expect(one.done).toBe(false);
    await clock.advance(1);
    expect(one.code).toBe("ERR_NO_CONSUMER");
  });

  it("does not begin anew with free slots that the routing function does not choose", async () => {
    const group = new ConsumerGroup<string>({
      ...forever,
      patienceMs: 100,
      route: ({ payload }, [ann]) => (payload === "other" ? undefined : ann),
    });
    const ann = desk(system, group);
    const other = fate(system.dispatch(group, "other"));
    for (let n = 0; n < 10; n++) {
      void system.dispatch(group, "one");
      await clock.advance(10);
      ann.last.ack();
    }
    await system.idle();
    expect(other.error).toMatchObject({ why: "none" });
  });

  it("waits for a member when there is none", async () => {
    const group = new ConsumerGroup<string>({ ...forever, patienceMs: 100 });
    const one = fate(system.dispatch(group, "one"));
    await clock.advance(99);
    expect(one.done).toBe(false);
    const ann = desk(system, group);
    await system.idle();
    ann.last.ack();
    await system.idle();
    expect(one.value?.attempts).toBe(1);
  });

  it("ends", async () => {
    const group = new ConsumerGroup<string>({ ...forever, patienceMs: 100 });
    const one = fate(system.dispatch(group, "one"));
    await clock.advance(100);
    expect(one.error).toMatchObject({ code: "ERR_NO_CONSUMER", why: "empty" });
    expect(group.waitingCount).toBe(0);
  });

  it("of `Infinity` waits for ever", async () => {
    const group = new ConsumerGroup<string>({ ...forever, patienceMs: Number.POSITIVE_INFINITY });
    const one = fate(system.dispatch(group, "one"));
    await clock.advance(1e9);
    expect(one.done).toBe(false);
    expect(group.waitingCount).toBe(1);
  });

  it("waits also when the routing function chose none, and asks again when members join", async () => {
    const group = new ConsumerGroup<string>({
      ...forever,
      patienceMs: 100,
      route: (_envelope, consumers) => consumers.find((one) => one.tags.strong === true),
    });
    desk(system, group, { tags: { strong: false } });
    void system.dispatch(group, "one");
    await system.idle();
    const bob = desk(system, group, { tags: { strong: true } });
    await system.idle();
    expect(bob.payloads).toEqual(["one"]);
  });

  it("does not end the wait for a slot", async () => {
    const group = new ConsumerGroup<string>({ ...forever, patienceMs: 100 });
    const ann = desk(system, group, { maxInFlight: 1 });
    void system.dispatch(group, "one");
    const two = fate(system.dispatch(group, "two"));
    await clock.advance(10_000);
    expect(two.done).toBe(false);
    ann.last.ack();
    await system.idle();
    expect(ann.payloads).toEqual(["one", "two"]);
  });

  it("waits for the restart of a crashed consumer", async () => {
    const group = new ConsumerGroup<string>({ ...forever, patienceMs: 100 });
    const ann = desk(system, group, { id: "ann" });
    const one = fate(system.dispatch(group, "one"));
    await system.idle();
    system.exit(ann.pid, "kill");
    await system.idle();
    const again = desk(system, group, { id: "ann" });
    await system.idle();
    again.last.ack();
    await system.idle();
    expect(one.value).toMatchObject({ deliveredTo: "ann", reroutedFrom: ["ann"], attempts: 2 });
  });
});

describe("a vacancy", () => {
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ do: fc.constant("settle" as const), n: fc.nat(), ok: fc.boolean() }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant("dispatch" as const), key: fc.nat({ max: 3 }) }) },
    fc.record({ do: fc.constant("withdraw" as const), n: fc.nat() }),
    fc.record({ do: fc.constant("leave" as const), n: fc.nat() }),
    fc.record({ do: fc.constant("kill" as const), n: fc.nat() }),
    fc.record({ do: fc.constant("join" as const), room: fc.integer({ min: 1, max: 2 }) }),
  );
  const route = fc.constantFrom<RoutingFunction<number> | undefined>(
    undefined,
    rendezvous((envelope) => String(envelope.payload % 3)),
    (envelope, consumers) => consumers[envelope.payload % consumers.length],
  );
  const rooms = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 1, maxLength: 4 });

  it("is never lost: whatever settles in whatever order, every dispatch ends and all counters are back at zero [D13]", async () => {
    await fc.assert(
      fc.asyncProperty(
        rooms,
        route,
        fc.array(step, { maxLength: 40 }),
        fc.boolean(),
        async (sizes, by, steps, calm) => {
          await using own = new System({ environment: testClock().environment, report: false });
          const options = {
            ...forever,
            patienceMs: Number.POSITIVE_INFINITY,
            maxAttempts: Number.POSITIVE_INFINITY,
          };
          const group = new ConsumerGroup<number>(by === undefined ? options : { ...options, route: by });
          const desks = sizes.map((maxInFlight) => desk(own, group, { maxInFlight }));
          const dispatches: { controller: AbortController; fate: ReturnType<typeof fate> }[] = [];
          const open = (): Delivery<number>[] =>
            desks
              .filter((one) => own.isAlive(one.pid))
              .flatMap((one) => one.deliveries)
              .filter((one) => one.settlement === undefined);
          for (const one of steps) {
            if (one.do === "settle") {
              const all = open();
              const delivery = all[one.n % Math.max(1, all.length)];
              if (one.ok) delivery?.ack();
              else delivery?.reject("not me");
            } else if (one.do === "dispatch") {
              const controller = new AbortController();
              const { signal } = controller;
              dispatches.push({ controller, fate: fate(own.dispatch(group, one.key, { signal })) });
            } else if (one.do === "withdraw")
              dispatches[one.n % Math.max(1, dispatches.length)]?.controller.abort();
            else if (one.do === "join") desks.push(desk(own, group, { maxInFlight: one.room }));
            else {
              // Somebody stays, so that there is always someone to wait for.
              const alive = group.consumers.filter((member) => own.isAlive(member.pid));
              const member = alive[one.n % alive.length];
              if (member === undefined || alive.length === 1) continue;
              if (one.do === "leave") group.leave(member.id);
              else own.exit(member.pid, "kill");
            }
            if (calm) await own.idle();
          }
          const finish = async (): Promise<void> => {
            await own.idle();
            // To settle what has been withdrawn changes no dispatch, but makes room for the next one.
            for (let all = open(); all.length > 0; all = open()) {
              for (const delivery of all) delivery.ack();
              await own.idle();
            }
          };
          await finish();
          const rejections = steps.some((one) => one.do === "settle" && !one.ok);
          if (!rejections) expect(dispatches.filter((one) => !one.fate.done)).toEqual([]);
          // Somewhere to go for what all the others have rejected.
          desks.push(desk(own, group));
          await finish();
          expect(dispatches.map((one) => one.fate.done)).toEqual(dispatches.map(() => true));
          expect(group.waitingCount).toBe(0);
          expect(group.consumers.map((one) => one.inFlight)).toEqual(group.consumers.map(() => 0));
        },
      ),
      { numRuns: sized(50, 3 / 200, 150) },
    );
  });
});
