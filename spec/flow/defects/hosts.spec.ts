// Defects of hosts that die, hang and come back.

import { type ChildSpec, System, supervisor } from "signalbox";
import { type AnyFlow, defineFlow, flowHost } from "signalbox/flow";
import { memory, StoreUnreachableError } from "signalbox/store";
import { flowKit, testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { flows as FLOWS, journal as JOURNAL } from "../../../lib/flow/journal/tables.js";
import { gate } from "../../support/gate.js";
import { Hosts, opened, watched } from "./support.js";

const TTL_MS = 15_000;

/** A flow of one step that the test opens, which counts its bodies. */
function counted(): { readonly flow: AnyFlow; readonly bodies: number[]; open(): void } {
  const bodies: number[] = [];
  const { promise, open } = gate();
  const flow = defineFlow("counted", (ctx) =>
    ctx.step("step", async ({ token }) => {
      bodies.push(token);
      await promise;
      return token;
    }),
  );
  return { flow: flow as AnyFlow, bodies, open };
}

const NO_INPUT = undefined as never;

/** Asks again when the store fails. */
async function patient<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof StoreUnreachableError) return patient(ask);
    throw error;
  }
}

describe("a host", () => {
  it("8: takes over a wait whole: message or timeout, in the journal and for the code", async () => {
    for (let after = 0; after < 8; after++) {
      await using hosts = new Hosts();
      const flow = defineFlow("either", async (ctx) => {
        const got = await ctx.receive("topic", { timeout: "1 minute" });
        return ctx.step(`got ${got ?? "nothing"}`, () => got ?? "nothing");
      });
      const flows = [flow as AnyFlow];
      const { host: one, system } = await hosts.start(flows);
      const { host: other } = await hosts.start(flows);
      await hosts.clock.until(one.start(flow, NO_INPUT, { id: "f" }));
      await hosts.clock.advance(60_000 - after);
      const sent = hosts.clock.until(other.get("f").send("topic", "message"));
      await hosts.kill(system);
      await sent;
      const result = await hosts.clock.until(other.get("f").result());
      const store = await opened(hosts.clock, hosts.source);
      const rows = await hosts.clock.until(store.scan(JOURNAL, { index: "flow", prefix: [1] }));
      const steps = rows.flatMap(({ head }) => /got \w+/.exec(head)?.[0] ?? []);
      expect(new Set(steps)).toEqual(new Set([`got ${result as string}`]));
      await hosts.clock.until(store.close());
    }
  });

  it("10: that wakes up after others took its flows changes nothing any more", async () => {
    await using hosts = new Hosts();
    const { flow, bodies, open } = counted();
    const { host: frozen } = await hosts.start([flow]);
    await hosts.clock.until(frozen.start(flow as never, NO_INPUT, { id: "f" }));
    const store = await opened(hosts.clock, hosts.source);
    const [claim] = await hosts.clock.until(store.claims("flows/"));
    const { host: other } = await hosts.start([flow]);
    // Others declare the first one dead; it knows nothing of it, and its step ends afterwards.
    await hosts.clock.until(store.revoke(claim?.name as string, claim?.token as number));
    await hosts.clock.advance(TTL_MS);
    open();
    const token = await hosts.clock.until(other.get("f").result());
    expect(token).toBeGreaterThan(bodies[0] as number);
    expect(bodies).toEqual([bodies[0], token]);
    const rows = await hosts.clock.until(store.scan(JOURNAL, { index: "flow", prefix: [1] }));
    expect(rows).toHaveLength(1);
    await hosts.clock.until(store.close());
  });

  it("11: leaves the flows of a live one alone, however often others start", async () => {
    await using hosts = new Hosts();
    const { flow, bodies, open } = counted();
    const { host } = await hosts.start([flow]);
    await hosts.clock.until(host.start(flow as never, NO_INPUT, { id: "f" }));
    for (let i = 0; i < 3; i++) await hosts.start([flow]);
    await hosts.clock.advance(10 * TTL_MS);
    expect(bodies).toHaveLength(1);
    open();
    await hosts.clock.until(host.get("f").result());
    expect(bodies).toHaveLength(1);
  });

  it("11: leaves a flow of a live one alone, though mail, a wish or a query for it comes to another", async () => {
    await using hosts = new Hosts();
    const { flow, bodies, open } = counted();
    const { host } = await hosts.start([flow]);
    const { host: other } = await hosts.start([flow]);
    await hosts.clock.until(host.start(flow as never, NO_INPUT, { id: "f" }));
    const run = other.get("f");
    await hosts.clock.until(run.send("topic", "message"));
    await hosts.clock.until(run.query("nothing").catch(() => undefined));
    await hosts.clock.until(run.resume());
    expect((await hosts.clock.until(other.start(flow as never, NO_INPUT, { id: "f" }))).attached).toBe(true);
    await hosts.clock.advance(TTL_MS);
    expect(bodies).toHaveLength(1);
    open();
    expect(await hosts.clock.until(run.result())).toBe(bodies[0]);
    expect(bodies).toHaveLength(1);
  });

  it("12: does not take flows of a host that came after it asked who is alive", async () => {
    await using hosts = new Hosts();
    const { flow, bodies, open } = counted();
    let late: (() => Promise<unknown>) | undefined;
    const source = watched(hosts.source, async (method, [table]) => {
      // Between the list of claims and the look at the flows another host begins, and takes a flow.
      if (method !== "scan" || table !== FLOWS || late === undefined) return;
      const run = late;
      late = undefined;
      await run();
    });
    const system = new System({ environment: hosts.clock.environment, report: false });
    const other = new System({ environment: hosts.clock.environment, report: false });
    late = async () => {
      const host = await other.start(flowHost({ store: hosts.source, flows: [flow] }));
      await host.start(flow as never, NO_INPUT, { id: "f" });
    };
    await hosts.clock.until(system.start(flowHost({ store: source, flows: [flow] })));
    await hosts.clock.advance(10 * TTL_MS);
    expect(bodies).toHaveLength(1);
    open();
    for (const one of [system, other]) await hosts.clock.until(one.stop());
  });

  it("13: goes on with recovery after an error of the store at any call of it", async () => {
    const flow = defineFlow("fragile", async (ctx) => {
      await ctx.step("one", () => 1);
      return ctx.receive("go");
    });
    for (let at = 1, struck = true; struck; at++) {
      const clock = testClock();
      const inner = memory();
      let calls = Number.NEGATIVE_INFINITY;
      const store = watched(inner, () => {
        if (++calls === at) throw new StoreUnreachableError("a", 1, "nothing", new Error("it restarts"));
      });
      const definition = flowHost({ store, flows: [flow] });
      const child: ChildSpec = { id: "host", name: "host", start: definition };
      const boot = async (): Promise<System> => {
        const system = new System({ environment: clock.environment, report: false });
        const root = supervisor({ intensity: 10, periodMs: 60_000, children: [child] });
        try {
          await clock.until(system.start(root));
          return system;
        } catch {
          // A host that cannot open its store does not start, and says so: whoever runs it starts it again.
          await clock.until(system.stop());
          return boot();
        }
      };
      const first = await boot();
      await clock.until(definition.at(first, "host").start(flow, NO_INPUT, { id: "f" }));
      await clock.settle();
      await clock.until(first.stop({ timeoutMs: 0 }));
      inner.lose();
      calls = 0;
      const second = await boot();
      const run = definition.at(second, "host").get("f");
      await clock.advance(5_000);
      await clock.until(patient(() => run.send("go", at, { messageId: "go" })));
      expect(await clock.until(patient(() => run.result())), `call ${at}`).toBe(at);
      struck = calls >= at;
      calls = Number.NEGATIVE_INFINITY;
      await clock.until(second.stop());
      if (!struck) expect(at).toBeGreaterThan(10);
    }
  });

  it("14: starts the others of a batch in which one cannot be read", async () => {
    const flow = defineFlow("batch", async (ctx, n: number) => {
      await ctx.step("one", () => n);
      return ctx.receive("go");
    });
    const store = memory();
    await using kit = await flowKit({ flows: [flow], store });
    for (let n = 0; n < 5; n++) await kit.start(flow, n, { id: `f${n}` });
    const raw = await opened(kit.clock, store);
    const rows = await kit.clock.until(raw.scan(JOURNAL, { index: "flow", prefix: [3] }));
    const writes = rows.map(({ position }) => ({
      type: "update" as const,
      table: JOURNAL,
      key: [position],
      set: { head: "not JSON" },
    }));
    await kit.clock.until(raw.commit({ writes }));
    await kit.crash();
    for (const n of [0, 1, 3, 4]) await kit.get(`f${n}`).send("go", n);
    for (const n of [0, 1, 3, 4]) expect(await kit.get(`f${n}`).result()).toBe(n);
    expect(await kit.get("f2").status()).toBe("hospitalized");
    await kit.clock.until(raw.close());
  });

  it("19: does not run a finished flow again, and leaves none without an owner", async () => {
    let ran = 0;
    const flow = defineFlow("finished", (ctx, n: number) => ctx.step("step", () => ran++ * 0 + n));
    await using kit = await flowKit({ flows: [flow] });
    const runs = [];
    for (let n = 0; n < 20; n++) runs.push(await kit.start(flow, n, { id: `f${n}` }));
    for (let i = 0; i < 5; i++) {
      await kit.crash();
      await kit.advance("1 hour");
    }
    for (const [n, run] of runs.entries()) expect(await run.result()).toBe(n);
    expect(ran).toBe(20);
  });

  it("20: finds a waiting flow once after any number of restarts", async () => {
    let ran = 0;
    const flow = defineFlow("waiting", async (ctx) => {
      await ctx.receive("go");
      return ctx.step("step", () => ++ran);
    });
    const store = memory();
    await using kit = await flowKit({ flows: [flow], store });
    const run = await kit.start(flow, undefined, { id: "f" });
    for (let i = 0; i < 10; i++) {
      await kit.advance(i % 2 === 0 ? "1 hour" : 0);
      await kit.crash();
    }
    const raw = await opened(kit.clock, store);
    expect(await kit.clock.until(raw.count(FLOWS, {}))).toBe(1);
    await kit.clock.until(raw.close());
    await run.send("go", 1);
    expect(await run.result()).toBe(1);
    await kit.settle();
    expect(ran).toBe(1);
  });

  it("34: gives its id back before a successor with the same id asks for it", async () => {
    await using hosts = new Hosts();
    const { flow } = counted();
    for (let i = 0; i < 5; i++) {
      const { system } = await hosts.start([flow], { hostId: "one" });
      await hosts.clock.until(system.stop());
    }
    expect(hosts.clock.now).toBeLessThan(TTL_MS);
  });
});
