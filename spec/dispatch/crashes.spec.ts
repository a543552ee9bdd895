// What the crash of a consumer leads to: another consumer, an error, or a compensation first.

import {
  AttemptsExhaustedError,
  type Compensation,
  ConsumerGroup,
  consumer,
  custom,
  type Delivery,
  type ExitInput,
  ProcessExitedError,
  System,
  stop,
  supervisor,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { gate } from "../support/gate.js";
import { desk, doomed, fate } from "./support.js";

let clock: TestClock;
let system: System;
let group: ConsumerGroup<string>;
const reports: string[] = [];
beforeEach(() => {
  reports.length = 0;
  clock = testClock();
  system = new System({ environment: clock.environment, report: (text) => void reports.push(text) });
  group = new ConsumerGroup({ name: "clerks", route: (_envelope, [first]) => first });
});
afterEach(() => system.stop());

const broken = custom("broken");

describe("a consumer that ends before it has acknowledged", () => {
  it.each<[string, ExitInput]>([
    ["by a crash", new Error("broken")],
    ["by a reason of its own", broken],
    ["in order", "shutdown"],
    ["by a kill", "kill"],
  ])("%s hands its envelope on, and gets none of it any more", async (_how, reason) => {
    const ann = desk(system, group, { id: "ann" });
    const bob = desk(system, group, { id: "bob" });
    const dispatch = fate(system.dispatch(group, "one"));
    await system.idle();
    system.exit(ann.pid, reason);
    await system.idle();
    bob.last.ack();
    await system.idle();
    expect(dispatch.value).toMatchObject({
      deliveredTo: "bob",
      pid: bob.pid,
      reroutedFrom: ["ann"],
      attempts: 2,
    });
  });

  it("with the reason `normal`, has not acknowledged all the same", async () => {
    doomed(system, group, "ann", "normal");
    const bob = desk(system, group);
    void system.dispatch(group, "one");
    await system.idle();
    expect(bob.last.attempt).toBe(2);
  });

  it("before it took the envelope, has the envelope re-routed as well", async () => {
    const never = new Promise<void>(() => undefined);
    const ann = system.spawn<Delivery<string>>({ handle: () => never });
    group.join(ann, { id: "ann" });
    const bob = desk(system, group, { id: "bob" });
    for (const payload of ["one", "two", "three"]) void system.dispatch(group, payload);
    await system.idle();
    expect(bob.deliveries).toEqual([]);
    system.exit(ann, "kill");
    await system.idle();
    expect([...bob.payloads].sort()).toEqual(["one", "three", "two"]);
  });

  it("between two of its awaits, has the envelope re-routed, and its late acknowledgement is refused [D9]", async () => {
    const [begun, late] = [gate(), gate()];
    const seen: unknown[] = [];
    const ann = system.spawn<Delivery<string>>({
      handle: async (_ctx, delivery) => {
        begun.open();
        await late.promise;
        try {
          delivery.ack();
        } catch (error) {
          seen.push(error);
        }
      },
    });
    group.join(ann, { id: "ann" });
    const bob = desk(system, group, { id: "bob" });
    const dispatch = fate(system.dispatch(group, "one"));
    await begun.promise;
    system.exit(ann, broken);
    late.open();
    await system.idle();
    expect(seen).toEqual([expect.any(ProcessExitedError)]);
    expect(dispatch.done).toBe(false);
    bob.last.ack();
    await system.idle();
    expect(dispatch.value?.deliveredTo).toBe("bob");
  });

  it("in the turn in which it acknowledged, has acknowledged", async () => {
    let handled = 0;
    const pid = system.spawn<Delivery<string>>({
      handle: (_ctx, delivery) => {
        handled++;
        delivery.ack();
        return stop(broken);
      },
    });
    group.join(pid, { id: "ann" });
    const bob = desk(system, group);
    expect((await system.dispatch(group, "one")).deliveredTo).toBe("ann");
    await system.idle();
    expect([handled, bob.deliveries.length]).toEqual([1, 0]);
  });

  it("appears in the timings: when its end was observed, and when the envelope was forwarded again", async () => {
    const ann = desk(system, group, { id: "ann" });
    const dispatch = fate(system.dispatch(group, "one", { patienceMs: 1_000 }));
    await clock.advance(30);
    system.exit(ann.pid, broken);
    await clock.advance(12);
    const bob = desk(system, group, { id: "bob" });
    await system.idle();
    bob.last.ack();
    await system.idle();
    expect(dispatch.value?.rerouteTimings).toEqual([
      { consumer: "ann", reason: broken, exitAt: 30, reroutedAt: 42, elapsedMs: 12 },
    ]);
  });

  it("and is restarted by its supervisor, may get the same envelope again", async () => {
    let crashes = 0;
    const work = (payload: string): string => {
      if (crashes++ === 0) throw new Error("first time");
      return payload.toUpperCase();
    };
    const child = { id: "ann", start: consumer(work, { group, id: "ann" }) };
    await system.start(supervisor({ children: [child] }));
    const outcome = await system.dispatch(group, "one", { patienceMs: 1_000 });
    expect(outcome).toMatchObject({ deliveredTo: "ann", reroutedFrom: ["ann"], reply: "ONE", attempts: 2 });
  });
});

describe("an envelope that fails everywhere", () => {
  it("ends as a dead letter with its whole history when its attempts are used up", async () => {
    const letters: unknown[] = [];
    system.events.on("undeliverable", (letter) => letters.push(letter));
    for (const id of ["ann", "bob", "cem", "dot"]) doomed(system, group, id, custom(id));
    const dispatch = fate(system.dispatch(group, "poison"));
    await system.idle();
    const history = ["ann", "bob", "cem"].map((id, i) => ({
      attempt: i + 1,
      consumer: id,
      end: "crashed",
      reason: custom(id),
      at: 0,
    }));
    expect(dispatch.error).toBeInstanceOf(AttemptsExhaustedError);
    expect(dispatch.error).toMatchObject({ code: "ERR_ATTEMPTS_EXHAUSTED", history });
    expect(letters).toEqual([
      {
        group: "clerks",
        envelope: expect.objectContaining({ payload: "poison" }),
        history,
        error: dispatch.error,
      },
    ]);
    expect(group.consumers.map((one) => one.id)).toEqual(["dot"]);
  });

  it("is a dead letter, too, when there are fewer members than attempts", async () => {
    const letters: unknown[] = [];
    system.events.on("undeliverable", (letter) => letters.push(letter));
    doomed(system, group, "ann", broken);
    const dispatch = fate(system.dispatch(group, "poison"));
    await system.idle();
    await clock.advance(1_000);
    expect(dispatch.error).toMatchObject({ code: "ERR_NO_CONSUMER", why: "excluded" });
    expect(letters).toEqual([expect.objectContaining({ error: dispatch.error })]);
  });

  it("may be dispatched again: the error has the envelope", async () => {
    doomed(system, group, "ann", broken);
    const dispatch = fate(system.dispatch(group, "poison"));
    await system.idle();
    await clock.advance(1_000);
    const bob = desk(system, group);
    const { envelope } = dispatch.error as AttemptsExhaustedError;
    void system.dispatch(group, envelope as typeof envelope & { payload: string });
    await system.idle();
    expect(bob.last.envelope).toBe(envelope);
    expect(bob.payloads).toEqual(["poison"]);
  });
});

describe("crash policy `fail`", () => {
  it("ends the dispatch with the consumer's reason, and tries no other consumer", async () => {
    const cause = new Error("broken");
    doomed(system, group, "ann", cause);
    const bob = desk(system, group);
    const dispatch = fate(system.dispatch(group, "one", { onCrash: "fail" }));
    await system.idle();
    expect(dispatch.error).toMatchObject({ code: "ERR_CONVERSATION", end: "crashed", cause });
    expect(bob.deliveries).toEqual([]);
  });
});

describe("crash policy `compensate`", () => {
  const compensating = (compensate: Compensation<string>): ReturnType<typeof fate> =>
    fate(
      system.dispatch(group, "one", {
        onCrash: "compensate",
        compensate,
        compensationTimeoutMs: 100,
        deadlineMs: 50,
      }),
    );

  it("undoes the work, then ends the dispatch with the consumer's reason", async () => {
    const undone: unknown[] = [];
    doomed(system, group, "ann", broken);
    const bob = desk(system, group);
    const dispatch = compensating((envelope, crashed) => undone.push(envelope.payload, crashed));
    await system.idle();
    expect(undone).toEqual(["one", { consumer: "ann", attempt: 1 }]);
    expect(dispatch.error).toMatchObject({ code: "ERR_CONVERSATION", end: "compensated", reason: broken });
    expect(bob.deliveries).toEqual([]);
    expect(reports).toEqual([]);
  });

  it("waits for a slow compensation, past the deadline", async () => {
    doomed(system, group, "ann", broken);
    const done = gate();
    const dispatch = compensating(() => done.promise);
    await clock.advance(99);
    expect(dispatch.done).toBe(false);
    done.open();
    await system.idle();
    expect(dispatch.error).toMatchObject({ end: "compensated" });
  });

  it("fails with `compensation-failed` when the compensation fails", async () => {
    doomed(system, group, "ann", broken);
    const error = new Error("cannot undo");
    const dispatch = compensating(() => {
      throw error;
    });
    await system.idle();
    expect(dispatch.error).toMatchObject({ end: "compensation-failed", reason: { type: "crash", error } });
    expect(reports).toEqual([]);
  });

  it("kills a compensation that takes too long", async () => {
    doomed(system, group, "ann", broken);
    const dispatch = compensating(() => new Promise(() => undefined));
    await clock.advance(99);
    expect(dispatch.done).toBe(false);
    const before = system.population;
    await clock.advance(1);
    expect(dispatch.error).toMatchObject({ end: "compensation-failed", reason: { type: "killed" } });
    expect(system.population).toBe(before - 2);
  });

  it("lets the compensation finish when the caller has given up", async () => {
    doomed(system, group, "ann", broken);
    const controller = new AbortController();
    const dispatch = fate(
      system.dispatch(group, "one", {
        onCrash: "compensate",
        compensate: () => new Promise(() => undefined),
        compensationTimeoutMs: 100,
        signal: controller.signal,
      }),
    );
    await system.idle();
    const before = system.population;
    controller.abort("enough");
    await clock.advance(99);
    expect(dispatch.error).toBe("enough");
    expect(system.population).toBe(before);
    await clock.advance(1);
    expect(system.population).toBe(before - 2);
  });
});
