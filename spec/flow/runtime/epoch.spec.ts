// The fencing token of a flow, over hosts of one store.

import { describe, expect, it } from "vitest";
import { defineFlow } from "../../../lib/flow/index.js";
import { FLOW_SCHEMA } from "../../../lib/flow/journal/tables.js";
import { memory } from "../../../lib/store/index.js";
import { testClock } from "../../../lib/testing/index.js";
import { storeContext } from "../../support/store-context.js";
import { Hosts, opened } from "../defects/support.js";
import { OLDER_SCHEMA, putOlder } from "../stores/older.js";
import { bench } from "./bench.js";

const TTL_MS = 15_000;

describe("the token of a flow", () => {
  it("grows with each take, over a change of hosts and back to the older host [J30]", async () => {
    await using hosts = new Hosts();
    const tokens: number[] = [];
    const flow = defineFlow("walk", async (ctx) => {
      for (let i = 0; i < 3; i++) {
        await ctx.step("at", ({ token }) => void tokens.push(token));
        await ctx.receive<string>("go");
      }
    });
    const limits = { idleMs: 100 };
    const old = await hosts.start([flow], { limits, hostId: "a" });
    await hosts.clock.until(old.host.start(flow as never, undefined as never, { id: "f" }));
    await hosts.clock.advance(1_000);
    // It left memory; the younger host alone has its code from here on.
    const young = await hosts.start([flow], { limits, hostId: "b" });
    const store = await opened(hosts.clock, hosts.source);
    const go = async (to: typeof old): Promise<void> => {
      const other = to === old ? young : old;
      await hosts.clock.until(other.system.stop({ timeoutMs: 0 }));
      await hosts.clock.advance(2 * TTL_MS);
      await hosts.clock.until(to.host.get("f").send("go", 1));
      await hosts.clock.advance(1_000);
    };
    await go(young);
    const [claim] = await hosts.clock.until(store.claims("flows/b"));
    expect(tokens.length).toBe(2);
    await hosts.clock.until(store.revoke("flows/b", claim?.token as number));
    const last = await hosts.start([flow], { limits, hostId: "c" });
    await go(last);
    expect(tokens.length).toBe(3);
    expect(tokens).toEqual([...tokens].sort((a, b) => a - b));
    expect(new Set(tokens).size).toBe(3);
    await hosts.clock.until(store.close());
  });

  it("grows when a flow goes back to a host whose claim is older [J30]", async () => {
    await using hosts = new Hosts();
    const tokens: string[] = [];
    let isStuck = true;
    const flow = (host: string) =>
      defineFlow("shared", async (ctx) =>
        ctx.step("at", async ({ token }) => {
          tokens.push(`${host} ${token}`);
          if (isStuck) await new Promise(() => undefined);
          return token;
        }),
      );
    const other = defineFlow("other", async () => undefined);
    const older = await hosts.start([flow("older")], { hostId: "older" });
    const younger = await hosts.start([flow("younger"), other], { hostId: "younger" });
    const store = await opened(hosts.clock, hosts.source);
    await hosts.clock.until(younger.host.start(flow("younger") as never, undefined as never, { id: "f" }));
    await hosts.clock.advance(10);
    const [claim] = await hosts.clock.until(store.claims("flows/younger"));
    isStuck = false;
    await hosts.clock.until(store.revoke("flows/younger", claim?.token as number));
    await hosts.clock.advance(2 * TTL_MS);
    // The host that lost the flow has the smaller token, though its claim is the younger one.
    expect(tokens).toEqual(["younger 1", "older 2"]);
    expect(await hosts.clock.until(older.host.get("f").result())).toBe(2);
    await hosts.clock.until(store.close());
  });

  it("of a flow of the older schema is larger than those of the hosts that had it [J31]", async () => {
    const store = memory();
    const clock = testClock();
    const older = await store.open([OLDER_SCHEMA], { ...storeContext(), environment: clock.environment });
    let claim = await older.claim("flows/old 0", { owner: "old" });
    for (let i = 1; i < 5; i++) claim = await older.claim(`flows/old ${i}`, { owner: "old" });
    if (claim === undefined) throw new Error("no claim");
    await putOlder(older, claim, { id: "ran", status: "running", holder: claim.token, taken_at: 0 });
    await putOlder(older, claim, { id: "queued", queue: "line", waiting: "line" });
    await older.close();
    const tokens = new Map<string, number[]>();
    const work = defineFlow("work", { queue: "line" }, async (ctx) => {
      for (let i = 0; i < 2; i++) {
        await ctx.step("at", ({ token }) => {
          tokens.set(ctx.flowId, [...(tokens.get(ctx.flowId) ?? []), token]);
        });
        await ctx.sleep("1 minute");
      }
    });
    await using b = await bench([work], {
      store,
      clock,
      queues: { line: { concurrency: 3 } },
      limits: { idleMs: 10 },
    });
    for (const id of ["ran", "queued"]) await b.until(b.flows.get(id).result());
    for (const of of [tokens.get("ran"), tokens.get("queued")]) {
      const [first = 0, second = 0] = of ?? [];
      expect(first).toBeGreaterThan(claim.token);
      expect(second).toBeGreaterThan(first);
    }
    expect(FLOW_SCHEMA.version).toBeGreaterThan(OLDER_SCHEMA.version);
  });
});
