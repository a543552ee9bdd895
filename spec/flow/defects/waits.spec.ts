// Defects of waiting: what is sent is lost, and what is due never comes.

import { type AnyFlow, defineFlow } from "signalbox/flow";
import { memory } from "signalbox/store";
import { type FlowKit, flowKit, testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { Hosts, watched } from "./support.js";

const DAY = 86_400_000;

describe("a wait", () => {
  it("5: gets a message that comes at any point while its flow leaves memory", async () => {
    const flow = defineFlow("parking", (ctx) => ctx.receive("topic"));
    for (let at = 1; ; at++) {
      let calls = 0;
      let kit: FlowKit | undefined;
      let isParking = false;
      const store = watched(memory(), () => {
        if (!isParking || ++calls !== at) return undefined;
        return kit?.host.get("f").send("topic", at);
      });
      kit = await flowKit({ flows: [flow], store, host: { limits: { idleMs: 100 } } });
      const run = await kit.start(flow, undefined, { id: "f" });
      isParking = true;
      await kit.advance(200);
      isParking = false;
      const wasSent = calls >= at;
      if (wasSent) {
        await kit.advance(0);
        expect(await run.status(), `sent at call ${at}`).toBe("completed");
      }
      await kit[Symbol.asyncDispose]();
      if (wasSent) continue;
      expect(at).toBeGreaterThan(3);
      return;
    }
  });

  it("6: ends for each of many flows that are due at the same time, also in a host that has just started", async () => {
    const flow = defineFlow("many", (ctx) => ctx.sleep("1 day"));
    await using kit = await flowKit({ flows: [flow], host: { limits: { idleMs: 0, takeAtOnce: 50 } } });
    for (let i = 0; i < 300; i++) await kit.clock.until(kit.host.start(flow, undefined, { id: `f${i}` }));
    await kit.settle();
    await kit.advance("1 day");
    await kit.crash();
    const statuses = new Set<string>();
    for (let i = 0; i < 300; i++) statuses.add(await kit.get(`f${i}`).status());
    expect([...statuses]).toEqual(["completed"]);
  });

  it("7: a message whose answer was lost is sent again without an error, and is received once", async () => {
    const flow = defineFlow("twice", async (ctx) => {
      const first = await ctx.receive("topic");
      return [first, (await ctx.receive("topic", { timeout: "1 hour" })) ?? "none"];
    });
    await using kit = await flowKit({ flows: [flow], host: { limits: { idleMs: 0 } } });
    const run = await kit.start(flow, undefined, { id: "f" });
    await kit.advance(1);
    await run.send("topic", "hello", { messageId: "m" });
    await kit.crash();
    await run.send("topic", "hello", { messageId: "m" });
    expect(await run.result()).toEqual(["hello", "none"]);
  });

  it("9: that races a durable sleep times out", async () => {
    const flow = defineFlow("patient", (ctx) =>
      Promise.race([ctx.receive("never"), ctx.sleep("2 days").then(() => "timed out")]),
    );
    await using kit = await flowKit({ flows: [flow] });
    const run = await kit.start(flow, undefined, { id: "f" });
    await kit.advance("1 day");
    await kit.crash();
    await kit.advance(DAY - 1_000);
    expect(await run.status()).toBe("waiting");
    await kit.advance(1_000);
    expect(await run.status()).toBe("completed");
    expect(await run.result()).toBe("timed out");
  });

  it("23: costs no memory: flows that sleep have no process, and a new host reads no journal of theirs", async () => {
    const flow = defineFlow("sleepy", (ctx) => ctx.sleep("30 days"));
    let journals = 0;
    const store = watched(memory(), (method, [table]) => {
      if (method === "scan" && (table as { name: string }).name === "flow_journal") journals++;
    });
    await using kit = await flowKit({ flows: [flow], store });
    const before = kit.population;
    for (let i = 0; i < 300; i++) await kit.clock.until(kit.host.start(flow, undefined));
    expect(kit.population).toBe(before + 300);
    await kit.advance("1 minute");
    expect(kit.population).toBe(before);
    journals = 0;
    await kit.crash();
    expect([kit.population, journals]).toEqual([before, 0]);
  });

  it("24: of more than 2^31 - 1 ms lasts as long as it says", async () => {
    const flow = defineFlow("long", (ctx) => ctx.sleep("60 days"));
    // A host that looks for due flows more often costs time at each look, and no more.
    const limits = { pollMs: 3_600_000 };
    for (const idleMs of [0, Number.POSITIVE_INFINITY]) {
      await using kit = await flowKit({ flows: [flow], host: { limits: { ...limits, idleMs } } });
      const run = await kit.start(flow, undefined, { id: "f" });
      await kit.advance(60 * DAY - 1);
      expect(await run.status()).not.toBe("completed");
      await kit.advance(1);
      expect(await run.status()).toBe("completed");
    }
  });

  it.each([-7_200_000, 0, 7_200_000])(
    "25: ends once and in time when the store's clock is %d ms ahead of the host's, and the host's jumps",
    async (ahead) => {
      const clock = testClock();
      let jumped = 0;
      const { environment } = clock;
      const wallTime = environment.wallTime.bind(environment);
      Object.assign(environment, { wallTime: () => wallTime() + jumped });
      const store = memory({ clock: () => wallTime() + ahead });
      const ends: number[] = [];
      const flow = defineFlow("clocks", async (ctx) => {
        await ctx.sleep("10 minutes");
        ends.push(await ctx.step("end", () => clock.now));
      });
      await using kit = await flowKit({ flows: [flow], store, clock, host: { limits: { idleMs: 1_000 } } });
      const run = await kit.start(flow, undefined, { id: "f" });
      const begun = clock.now;
      for (const jump of [3_600_000, -3_600_000]) {
        jumped = jump;
        await kit.advance("4 minutes");
        expect(await run.status()).not.toBe("completed");
      }
      await run.result();
      expect(ends.map((end) => Math.round((end - begun) / 60_000))).toEqual([10]);
    },
  );

  it("28: finds the message when it is notified of it, on another host, without a look at the clock", async () => {
    await using hosts = new Hosts();
    const flow: AnyFlow = defineFlow("mailed", (ctx) => ctx.receive("topic"));
    const options = { limits: { pollMs: 1e9 } };
    const { host: one } = await hosts.start([flow], options);
    const { host: other } = await hosts.start([flow], options);
    const run = await hosts.clock.until(one.start(flow as never, undefined as never, { id: "f" }));
    const before = hosts.clock.now;
    await hosts.clock.until(other.get("f").send("topic", "here"));
    await hosts.clock.settle();
    expect(await hosts.clock.until(run.result())).toBe("here");
    expect(hosts.clock.now).toBe(before);
  });
});
