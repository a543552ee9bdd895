// The six weaknesses of the model this was made after, each shown to be absent.

import {
  ConsumerGroup,
  consumer,
  custom,
  type Delivery,
  isolated,
  type RoutingFunction,
  System,
  stop,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { desk, doomed, fate } from "./support.js";

let clock: TestClock;
let system: System;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
});
afterEach(() => system.stop());

const first: RoutingFunction<string> = (_envelope, [one]) => one;

describe("weakness", () => {
  it("1, delivery by the passing of 250 ms: an acknowledgement settles at once, a crash re-routes at any time before [D1]", async () => {
    const group = new ConsumerGroup<string>({ route: first, deadlineMs: Number.POSITIVE_INFINITY });
    const ann = desk(system, group, { id: "ann" });
    const bob = desk(system, group, { id: "bob" });
    const quick = fate(system.dispatch(group, "quick"));
    await system.idle();
    ann.last.ack();
    await system.idle();
    expect(quick.value?.deliveredTo).toBe("ann");
    expect(clock.now).toBe(0);

    const slow = fate(system.dispatch(group, "slow"));
    await clock.advance(3_600_000);
    expect(slow.done).toBe(false);
    system.exit(ann.pid, custom("broken"));
    await system.idle();
    expect(bob.payloads).toEqual(["slow"]);
    bob.last.ack();
    await system.idle();
    expect(slow.value).toMatchObject({ deliveredTo: "bob", reroutedFrom: ["ann"] });
    expect(slow.value?.rerouteTimings).toMatchObject([{ exitAt: 3_600_000, elapsedMs: 0 }]);
  });

  it("2, a load that is set when the consumer joins: routing functions see what is in flight now [D2]", async () => {
    const seen: number[][] = [];
    const group = new ConsumerGroup<string>({
      route: (_envelope, consumers) => {
        seen.push(consumers.map((one) => one.inFlight));
        return consumers.reduce((best, one) => (one.inFlight < best.inFlight ? one : best));
      },
    });
    const ann = desk(system, group);
    desk(system, group);
    for (const payload of ["one", "two", "three"]) void system.dispatch(group, payload);
    await system.idle();
    for (const delivery of ann.deliveries) delivery.ack();
    await system.idle();
    void system.dispatch(group, "four");
    await system.idle();
    expect(seen).toEqual([
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 1],
    ]);
  });

  it("3, crash policies that do nothing: each of the three does what it says [D3]", async () => {
    const undone: string[] = [];
    const ends: unknown[] = [];
    for (const onCrash of ["reroute", "fail", "compensate"] as const) {
      const compensate = (): unknown => undone.push(onCrash);
      const group = new ConsumerGroup<string>({ route: first, onCrash, compensate });
      doomed(system, group, "ann", custom("broken"));
      group.join(system.spawn(consumer(() => undefined)), { id: "bob" });
      const dispatch = fate(system.dispatch(group, "one"));
      await system.idle();
      ends.push(dispatch.value?.deliveredTo ?? (dispatch.error as { end?: unknown }).end);
    }
    expect(ends).toEqual(["bob", "crashed", "compensated"]);
    expect(undone).toEqual(["compensate"]);
  });

  it("4, back-pressure that gates nothing: a consumer that defers is waited for, one that rejects gets nothing [D4]", async () => {
    const group = new ConsumerGroup<string>({ route: first });
    const ann = desk(system, group, { maxInFlight: 1 });
    for (const payload of ["one", "two"]) void system.dispatch(group, payload);
    await system.idle();
    expect(ann.payloads).toEqual(["one"]);
    ann.last.ack();
    await system.idle();
    expect(ann.payloads).toEqual(["one", "two"]);

    const strict = new ConsumerGroup<string>({ route: first });
    const never = new Promise<void>(() => undefined);
    const pid = system.spawn<Delivery<string>>({ handle: () => never });
    strict.join(pid, { maxBuffer: 1 });
    for (const payload of ["one", "two"]) {
      void system.dispatch(strict, payload).catch(() => undefined);
      await system.idle();
    }
    const third = fate(system.dispatch(strict, "three"));
    await system.idle();
    expect(third.error).toMatchObject({ code: "ERR_NO_CONSUMER", why: "rejecting" });
    expect(system.info(pid)?.mailboxDepth).toBe(1);
  });

  it("5, a message that takes the whole group down: it is a dead letter after its attempts, and the rest live on [D5]", async () => {
    const group = new ConsumerGroup<string>({ route: first, maxAttempts: 2 });
    const letters: unknown[] = [];
    system.events.on("undeliverable", ({ history }) => letters.push(history.map((one) => one.consumer)));
    for (const id of ["ann", "bob", "cem", "dot"]) {
      const pid = system.spawn<Delivery<string>>({
        handle: (_ctx, delivery) => {
          if (delivery.payload === "poison") return stop(custom("poisoned"));
          delivery.ack();
          return undefined;
        },
      });
      group.join(pid, { id });
    }
    const poison = fate(system.dispatch(group, "poison"));
    await system.idle();
    expect(poison.code).toBe("ERR_ATTEMPTS_EXHAUSTED");
    expect(letters).toEqual([["ann", "bob"]]);
    expect(group.consumers.map((view) => view.id)).toEqual(["cem", "dot"]);
    expect((await system.dispatch(group, "one")).deliveredTo).toBe("cem");
  });

  it("6, a routing function in an endless loop: in a thread of its own it is stopped, and the next choice is made [D7]", async () => {
    const code = `export default ({ payload }, [first]) => { if (payload === "loop") for (;;); return first; };`;
    await using route = isolated<string>(`data:text/javascript,${encodeURIComponent(code)}`, {
      timeoutMs: 100,
    });
    const group = new ConsumerGroup<string>({ route });
    group.join(system.spawn(consumer(() => undefined)), { id: "ann" });
    const loop = fate(system.dispatch(group, "loop"));
    await clock.advance(100);
    expect(loop.error).toMatchObject({ code: "ERR_EVALUATION", cause: { code: "ERR_ROUTE_TIMEOUT" } });
    expect((await system.dispatch(group, "next")).deliveredTo).toBe("ann");
  });
});
