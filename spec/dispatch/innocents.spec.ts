// What happens to envelopes that a consumer had been given, but had not come to, when it ended: nothing of it is theirs.

import {
  AttemptsExhaustedError,
  ConsumerGroup,
  consumer,
  custom,
  type Delivery,
  System,
  stop,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { decide, type Identified, initial } from "../../lib/dispatch/conversation-machine.js";
import { desk, doomed } from "./support.js";

let system: System;
beforeEach(() => {
  system = new System({ report: false });
});
afterEach(() => system.stop());

describe("an envelope that waits behind one that crashes its consumer", () => {
  it("spends no attempt of its own: the poison is a dead letter, the innocent one is delivered [D6]", async () => {
    const group = new ConsumerGroup<string>({ maxAttempts: 2 });
    const taken: string[] = [];
    for (const id of ["ann", "bob", "cid"]) {
      const worker = system.spawn<Delivery<string>>({
        handle: (_ctx, delivery) => {
          taken.push(delivery.payload);
          if (delivery.payload === "poison") return stop(custom("poisoned"));
          delivery.ack();
          return undefined;
        },
      });
      group.join(worker, { id });
    }
    group.route = (_envelope, consumers) => consumers[0];
    const poison = system.dispatch(group, "poison");
    const innocent = system.dispatch(group, "innocent", { maxAttempts: 1 });
    await expect(poison).rejects.toBeInstanceOf(AttemptsExhaustedError);
    expect(await innocent).toMatchObject({ deliveredTo: "cid", attempts: 3, reroutedFrom: ["ann", "bob"] });
    expect(taken).toEqual(["poison", "poison", "innocent"]);
  });

  it("is not compensated: no work was done on it", async () => {
    const undone: string[] = [];
    const group = new ConsumerGroup<string>({
      onCrash: "compensate",
      compensate: ({ payload }) => void undone.push(payload),
    });
    const first = doomed<string>(system, group, "first", custom("broken"));
    group.route = (_envelope, consumers) => consumers[0];
    const poison = system.dispatch(group, "poison").catch((error) => error.end);
    const innocent = system.dispatch(group, "innocent");
    const second = desk(system, group, { id: "second" });
    expect(await poison).toBe("compensated");
    await system.idle();
    expect(system.isAlive(first)).toBe(false);
    second.last.ack();
    expect(await innocent).toMatchObject({ deliveredTo: "second" });
    expect(undone).toEqual(["poison"]);
  });

  it("is no dead letter on its way", async () => {
    const group = new ConsumerGroup<string>();
    doomed<string>(system, group, "first", custom("broken"));
    group.route = (_envelope, consumers) => consumers[0];
    const poison = system.dispatch(group, "poison");
    const innocent = system.dispatch(group, "innocent");
    const second = desk(system, group, { id: "second" });
    await system.idle();
    for (const delivery of second.deliveries) delivery.ack();
    await Promise.all([poison, innocent]);
    expect(system.deadLetters).toBe(0);
  });
});

describe("the machine, when the consumer ended before it took the envelope", () => {
  const ann: Identified = { id: "ann" };
  const once = { onCrash: "fail", maxAttempts: 1 } as const;
  const given = decide(once, initial<Identified>(), {
    type: "selected",
    consumer: ann,
    pressure: "accept",
  })[0];

  it("selects again, whatever policy and budget say", () => {
    const [state, effects] = decide(once, given, {
      type: "returned",
      consumer: ann,
      exited: true,
      reason: custom("x"),
      at: 3,
    });
    expect(state).toMatchObject({ phase: "selecting", past: { failures: 0, excluded: [] } });
    expect(state.past.history).toEqual([
      { attempt: 1, consumer: "ann", end: "returned", reason: custom("x"), at: 3 },
    ]);
    expect(effects).toEqual([{ type: "release", exited: true }, { type: "select" }]);
  });

  it("ignores that of a consumer that is not the current one", () => {
    const other = { id: "bob" };
    expect(
      decide(once, given, { type: "returned", consumer: other, exited: true, reason: custom("x"), at: 3 })[0],
    ).toBe(given);
  });
});

describe("a delivery that a bounded mailbox drops", () => {
  it.each(["drop-newest", "drop-oldest"] as const)(
    "with policy `%s` goes to another consumer at once",
    async (overflow) => {
      const group = new ConsumerGroup<string>();
      const hold = new Promise<void>((resolve) => setImmediate(resolve));
      const full = system.spawn(
        consumer<string>(async () => {
          await hold;
        }),
        { mailbox: { capacity: 1, overflow } },
      );
      group.join(full, { id: "full" });
      group.route = (_envelope, consumers) => consumers[0];
      const dispatched = ["a", "b", "c"].map((text) => system.dispatch(group, text));
      const spare = desk(system, group, { id: "spare" });
      await system.idle();
      for (const delivery of spare.deliveries) delivery.ack();
      const outcomes = await Promise.all(dispatched);
      expect(spare.payloads.length).toBeGreaterThan(0);
      expect(
        outcomes.filter((one) => one.deliveredTo === "spare").map((one) => one.envelope.payload),
      ).toEqual(spare.payloads);
      expect(system.deadLetters).toBe(0);
    },
  );
});

describe("an unlimited number of attempts", () => {
  it("leave a bounded history, and a short error text", async () => {
    const group = new ConsumerGroup<string>({ maxAttempts: 500 });
    const kill = (): void => {
      group.join(system.spawn<Delivery<string>>({ handle: () => stop(custom("broken")) }));
    };
    group.route = (_envelope, consumers) => consumers[0];
    system.events.on("exit", ({ reason }) => {
      if (reason.type === "custom") kill();
    });
    kill();
    const error = await system.dispatch(group, "poison").catch((caught) => caught);
    expect(error).toBeInstanceOf(AttemptsExhaustedError);
    expect(error.history).toHaveLength(100);
    expect(error.history.at(-1).attempt).toBe(500);
    expect(error.message).toContain("500 consumers");
    expect(error.message.length).toBeLessThan(600);
  });
});

describe("a dispatch that lost its consumer", () => {
  it("goes ahead of dispatches that came later, when all wait for a member", async () => {
    const group = new ConsumerGroup<string>({ patienceMs: 1_000, maxAttempts: 5 });
    const first = desk(system, group, { id: "first" });
    const early = system.dispatch(group, "early");
    await system.idle();
    system.exit(first.pid, "kill");
    // The group notices the end of the only consumer at once, the conversation in its own turn.
    const late = system.dispatch(group, "late");
    await system.idle();
    const second = desk(system, group, { id: "second", maxInFlight: 1 });
    await system.idle();
    expect(second.payloads).toEqual(["early"]);
    second.last.ack();
    await early;
    await system.idle();
    second.last.ack();
    await late;
    expect(second.payloads).toEqual(["early", "late"]);
  });
});

describe("a conversation that is ended from outside", () => {
  it("leaves its consumer alive: its stop does not go along the link [D15]", async () => {
    const group = new ConsumerGroup<string>();
    const worker = desk(system, group);
    const dispatched = system.dispatch(group, "work").catch((error) => error.end);
    await system.idle();
    const conversation = system.processes().find((pid) => pid.label === "dispatch");
    if (conversation === undefined) throw new Error("no conversation");
    system.exit(conversation, "kill");
    expect(await dispatched).toBe("died");
    expect(system.isAlive(worker.pid)).toBe(true);
    expect(group.consumers[0]?.inFlight).toBe(1);
    expect(worker.last.ack()).toBe(false);
    expect(group.consumers[0]?.inFlight).toBe(0);
  });
});
