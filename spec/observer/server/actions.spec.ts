// Operations that change something, with an observer that may carry them out and with one that only shows.

import { System } from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Json } from "../../../lib/admin/json-view.js";
import { FeedDesk } from "../../../lib/observer/feed/desk.js";
import { OBSERVER_LIMITS } from "../../../lib/observer/feed/limits.js";
import type { ObserverSource } from "../../../lib/observer/feed/source.js";
import type { ObserverAction } from "../../../lib/observer/server/audit.js";
import { builtPage } from "../../../lib/observer/server/page.js";
import { ObserverRequests } from "../../../lib/observer/server/requests.js";
import { post } from "../support.js";

const TOKEN = "a-token-of-this-test";
const clock = testClock();
let system: System;
let leaves: Map<string, "look" | "change" | "remove">;
let done: string[];
let told: ObserverAction[];
let answer: (signal: AbortSignal) => Promise<Json>;

beforeEach(() => {
  system = new System({ name: "shop", environment: clock.environment, report: false });
  leaves = new Map([
    ["flows.cancel", "remove"],
    ["system.suspend", "change"],
    ["system.top", "look"],
  ]);
  done = [];
  told = [];
  answer = async () => "done";
  system.events.on("observerAction", (action) => void told.push(action));
});
afterEach(() => system.stop({ timeoutMs: 0 }));

async function requests(actions: boolean): Promise<ObserverRequests> {
  const source: ObserverSource = {
    name: "shop",
    systems: [],
    names: [...leaves.keys()],
    leaveOf: (op) => leaves.get(op),
    look: (op, _args, signal) => {
      done.push(op);
      return answer(signal);
    },
  };
  const desk = new FeedDesk(OBSERVER_LIMITS, () => source);
  await system.start(desk.feed());
  const rules = { token: TOKEN, hosts: [], addresses: false, bodyBytes: 1_000 };
  return new ObserverRequests(desk, builtPage, { rules, actions, limits: OBSERVER_LIMITS });
}

const ask = (op: string): Request => post("/api/ask", { op, args: { id: "order-1" } }, TOKEN);
const feed = (op: string): Request => post("/api/feed", { views: [{ key: "a", op }] }, TOKEN);
const answered = async (response: Response): Promise<unknown> => [response.status, await response.json()];

describe("an observer that only shows", () => {
  it.each(["flows.cancel", "system.suspend"])("refuses %s, and tells of it [N1579]", async (op) => {
    const on = await requests(false);
    const error = {
      name: "ObserverReadOnlyError",
      code: "ERR_OBSERVER_READ_ONLY",
      message: expect.stringContaining(op),
    };
    expect(await answered(await on.answer(ask(op), {}))).toEqual([403, { error }]);
    expect(done).toEqual([]);
    expect(told).toEqual([{ op, args: { id: "order-1" }, outcome: "refused", error, tookMs: 0 }]);
  });

  it("carries out what looks, and tells nothing [N1579]", async () => {
    const on = await requests(false);
    expect(await answered(await on.answer(ask("system.top"), {}))).toEqual([200, { ok: "done" }]);
    expect(told).toEqual([]);
  });
});

describe("a live view", () => {
  it.each([true, false])("never asks for a change, with actions: %s [N1579]", async (actions) => {
    const on = await requests(actions);
    expect((await on.answer(feed("flows.cancel"), {})).status).toBe(403);
    // Not even when the operation turns up later.
    const { body } = await on.answer(feed("late.change"), {});
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    await reader.read();
    await reader.read();
    leaves.set("late.change", "change");
    done = [];
    const next = reader.read();
    await clock.advance(1_000);
    expect(new TextDecoder().decode((await next).value)).toContain("ERR_OBSERVER_READ_ONLY");
    expect(done).toEqual([]);
    await reader.cancel();
  });
});

describe("an observer with actions", () => {
  it("carries changes out, and tells of each with its end [N1579]", async () => {
    const on = await requests(true);
    expect(await answered(await on.answer(ask("flows.cancel"), {}))).toEqual([200, { ok: "done" }]);
    answer = async () => {
      await new Promise<void>((resolve) => {
        system.spawn({ init: (ctx) => void ctx.runAfter(30, resolve), handle: () => undefined });
      });
      throw new Error("no such flow");
    };
    const failing = on.answer(ask("flows.cancel"), {});
    await clock.advance(30);
    expect((await failing).status).toBe(500);
    const about = { op: "flows.cancel", args: { id: "order-1" } };
    expect(told).toEqual([
      { ...about, outcome: "done", tookMs: 0 },
      { ...about, outcome: "failed", error: { name: "Error", message: "no such flow" }, tookMs: 30 },
    ]);
  });

  it("does not end a change with its client, and gives it up after a minute [N1579]", async () => {
    const on = await requests(true);
    const given: AbortSignal[] = [];
    answer = (signal) => {
      given.push(signal);
      return new Promise(() => undefined);
    };
    const gone = new AbortController();
    const response = on.answer(new Request(ask("flows.cancel"), { signal: gone.signal }), {});
    await clock.advance(1_000);
    gone.abort();
    await clock.advance(58_000);
    expect(given[0]?.aborted).toBe(false);
    await clock.advance(1_000);
    expect(await answered(await response)).toMatchObject([504, { error: { code: "ERR_ADMIN_TIMEOUT" } }]);
    expect(given[0]?.aborted).toBe(true);
    expect(told).toMatchObject([{ outcome: "failed" }]);
  });

  it("still needs the token, the origin and JSON [N1579]", async () => {
    const on = await requests(true);
    for (const headers of [{ authorization: "" }, { origin: "null" }, { "content-type": "text/plain" }])
      expect(
        (await on.answer(post("/api/ask", { op: "flows.cancel" }, TOKEN, headers), {})).status,
      ).toBeGreaterThan(400);
    expect(done).toEqual([]);
  });
});

describe("operations that look", () => {
  it("end with their client, and after a time [N1577]", async () => {
    const on = await requests(false);
    const given: AbortSignal[] = [];
    answer = (signal) => {
      given.push(signal);
      return new Promise(() => undefined);
    };
    const gone = new AbortController();
    const pending = [
      on.answer(ask("system.top"), {}),
      on.answer(new Request(ask("system.top"), { signal: gone.signal }), {}),
    ];
    await clock.advance(1_000);
    gone.abort();
    expect(given.map(({ aborted }) => aborted)).toEqual([false, true]);
    await clock.advance(15_000);
    expect((await Promise.all(pending)).map(({ status }) => status)).toEqual([504, 504]);
  });

  it("are at most 32 at a time [N1575]", async () => {
    const on = await requests(false);
    answer = () => new Promise(() => undefined);
    const pending = Array.from({ length: 32 }, () => on.answer(ask("system.top"), {}));
    await clock.advance(1);
    const full = await on.answer(ask("system.top"), {});
    expect(full.status).toBe(503);
    expect(full.headers.get("retry-after")).toBe("1");
    await clock.advance(16_000);
    await Promise.all(pending);
    answer = async () => 1;
    expect((await on.answer(ask("system.top"), {})).status).toBe(200);
  });
});
