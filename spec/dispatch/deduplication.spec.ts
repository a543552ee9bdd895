// One dispatch per envelope id: joined while under way, its receipt handed out again afterwards.

import fc from "fast-check";
import { ConsumerGroup, System } from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Deduplication } from "../../lib/dispatch/dedup.js";
import type { Outcome } from "../../lib/dispatch/outcome.js";
import { hostRejections } from "../support/host.js";
import { VirtualClock } from "../support/virtual.js";
import { type Desk, desk, doomed, fate } from "./support.js";

let system: System;
let group: ConsumerGroup<string>;
let ann: Desk<string>;
beforeEach(() => {
  system = new System({ environment: new VirtualClock().environment, report: false });
  group = new ConsumerGroup({ window: 2 });
  ann = desk(system, group, { id: "ann" });
});
afterEach(() => system.stop());

const order = (id: string): ReturnType<typeof system.envelope<string>> => system.envelope("tea", { id });
const done = async (id: string): Promise<boolean> => {
  const dispatch = fate(system.dispatch(group, order(id)));
  await system.idle();
  ann.deliveries.at(-1)?.ack();
  await system.idle();
  return dispatch.value?.duplicate ?? true;
};

describe("an envelope dispatched twice", () => {
  it("while the first is under way is one dispatch with two who wait", async () => {
    const fates = [fate(system.dispatch(group, order("a"))), fate(system.dispatch(group, order("a")))];
    await system.idle();
    expect(ann.deliveries).toHaveLength(1);
    ann.last.reply(7);
    await system.idle();
    expect(fates.map((one) => one.value?.duplicate)).toEqual([false, true]);
    expect(fates.map((one) => one.value?.reply)).toEqual([7, 7]);
  });

  it("after the first is done gets its receipt [D10]", async () => {
    expect(await done("a")).toBe(false);
    const again = await system.dispatch(group, order("a"));
    expect(again).toMatchObject({ duplicate: true, deliveredTo: "ann", envelope: { id: "a" } });
    expect(ann.deliveries).toHaveLength(1);
  });

  it("after the first failed is tried again", async () => {
    const first = fate(system.dispatch(group, order("a"), { maxAttempts: 1 }));
    await system.idle();
    ann.last.reject("no");
    await system.idle();
    expect(first.code).toBe("ERR_ATTEMPTS_EXHAUSTED");
    expect(await done("a")).toBe(false);
    expect(ann.deliveries).toHaveLength(2);
  });

  it("shares the failure of the one under way", async () => {
    const fates = [1, 2].map(() => fate(system.dispatch(group, order("a"), { maxAttempts: 1 })));
    await system.idle();
    ann.last.reject("no");
    await system.idle();
    expect(fates.map((one) => one.code)).toEqual(["ERR_ATTEMPTS_EXHAUSTED", "ERR_ATTEMPTS_EXHAUSTED"]);
  });

  it("may be given up by the one who joined, alone", async () => {
    const controller = new AbortController();
    const first = fate(system.dispatch(group, order("a")));
    const second = fate(system.dispatch(group, order("a"), { signal: controller.signal }));
    await system.idle();
    controller.abort("enough");
    await system.idle();
    expect(second.error).toBe("enough");
    ann.last.ack();
    await system.idle();
    expect(first.value?.attempts).toBe(1);
  });

  it("with a signal that is not aborted gets what the other gets", async () => {
    const { signal } = new AbortController();
    void system.dispatch(group, order("a"));
    const second = fate(system.dispatch(group, order("a"), { signal }));
    await system.idle();
    ann.last.ack();
    await system.idle();
    expect(second.value?.duplicate).toBe(true);
  });

  it("in two groups is two dispatches", async () => {
    const other = new ConsumerGroup<string>();
    const bob = desk(system, other);
    void system.dispatch(group, order("a"));
    void system.dispatch(other, order("a"));
    await system.idle();
    expect([ann.deliveries.length, bob.deliveries.length]).toEqual([1, 1]);
  });

  it("is tried again when it was withdrawn", async () => {
    const controller = new AbortController();
    const first = fate(system.dispatch(group, order("a"), { signal: controller.signal }));
    await system.idle();
    controller.abort("enough");
    expect(await done("a")).toBe(false);
    expect(first.error).toBe("enough");
  });
});

describe("a bare payload", () => {
  it("is a new dispatch every time", async () => {
    void system.dispatch(group, "tea");
    void system.dispatch(group, "tea");
    await system.idle();
    expect(ann.deliveries).toHaveLength(2);
    expect(new Set(ann.deliveries.map((one) => one.envelope.id)).size).toBe(2);
  });
});

describe("the window", () => {
  it("forgets the receipts that are oldest", async () => {
    for (const id of ["a", "b", "c"]) expect(await done(id)).toBe(false);
    expect(await done("c")).toBe(true);
    expect(await done("b")).toBe(true);
    expect(await done("a")).toBe(false);
  });

  it("of 0 remembers only what is under way", async () => {
    group = new ConsumerGroup({ window: 0 });
    ann = desk(system, group);
    const fates = [1, 2].map(() => fate(system.dispatch(group, order("a"))));
    await system.idle();
    expect(ann.deliveries).toHaveLength(1);
    ann.last.ack();
    await system.idle();
    expect(fates[1]?.value?.duplicate).toBe(true);
    expect(await done("a")).toBe(false);
  });

  it("holds what a list of the last completed ids holds", async () => {
    const step = fc.record({ id: fc.constantFrom("a", "b", "c", "d"), ok: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: 3 }), fc.array(step), async (window, steps) => {
        const dedup = new Deduplication<string>(window);
        let last: string[] = [];
        for (const { id, ok } of steps) {
          const known = await dedup.find(id);
          expect(known?.duplicate).toBe(last.includes(id) ? true : undefined);
          if (known !== undefined) continue;
          const outcome = { deliveredTo: id, duplicate: false } as Outcome<string>;
          dedup.claim(id, Promise.resolve(outcome));
          expect((await dedup.find(id))?.deliveredTo).toBe(id);
          if (ok) {
            dedup.complete(id, outcome);
            last = [...last, id].slice(Math.max(0, last.length + 1 - window));
          } else dedup.release(id);
        }
      }),
    );
  });
});

describe("a dispatch of an envelope that nobody awaits", () => {
  it("is told of to the host when it fails, as one of a payload is", async () => {
    const seen = await hostRejections(async () => {
      await using own = new System({ report: false });
      const none = new ConsumerGroup<string>();
      doomed(own, none, "ann", "shutdown");
      void own.dispatch(none, own.envelope("tea", { id: "a" }), { maxAttempts: 1 });
      await own.idle();
    });
    expect(seen).toEqual([expect.objectContaining({ code: "ERR_ATTEMPTS_EXHAUSTED" })]);
  });
});
