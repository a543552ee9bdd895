// The recipe of the HTTP service: over real sockets, with a clock that the test moves.

import { System } from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, expect, it } from "vitest";
import type { Log } from "../../../examples/cookbook/http-service/journal.js";
import type { Pay } from "../../../examples/cookbook/http-service/routes.js";
import { startShop } from "../../../examples/cookbook/http-service/service.js";

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A promise and the function that resolves it. */
function gate() {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open };
}

async function shop(pay: Pay, append: Log["append"] = async () => undefined) {
  const clock = testClock();
  const log: string[] = [];
  const reports: string[] = [];
  const url = { health: "", http: "" };
  const environment = clock.environment;
  const service = startShop(
    {
      port: 0,
      healthPort: 0,
      host: "127.0.0.1",
      pay,
      maxInFlight: 2,
      openLog: async () => ({
        append: async (line) => {
          await append(line);
          log.push(line.trim());
        },
        close: async () => void log.push("closed"),
      }),
      onListening: (name, at) => {
        url[name] = at;
      },
    },
    { system: new System({ environment, report: (text) => void reports.push(text.split("\n")[0] ?? "") }) },
  );
  stops.push(() => clock.until(service.system.stop({ timeoutMs: 0 })));
  await service.started;
  return {
    clock,
    service,
    log,
    reports,
    url,
    ready: async () => (await clock.until(service.health.fetch(new Request("http://shop/readyz")))).status,
    order: async (item: string) => (await fetch(`${url.http}/orders/${item}`, { method: "POST" })).status,
  };
}

it("a stop takes readiness first, lets requests in flight end, refuses new ones, and closes the journal last", async () => {
  const [asked, paid] = [gate(), gate()];
  const { clock, service, log, url, ready, order } = await shop(async (item) => {
    if (item !== "slow") return;
    asked.open();
    await paid.passed;
  });
  expect(await ready()).toBe(200);
  const slow = order("slow");
  await asked.passed;
  const ended = service.stop();
  await clock.settle();
  expect([await ready(), await order("in the delay")]).toEqual([503, 201]);
  await clock.advance(5_000);
  await expect(fetch(url.http)).rejects.toThrow("fetch failed");
  expect([await ready(), service.phase]).toEqual([503, "stopping"]);
  paid.open();
  expect(await slow).toBe(201);
  expect(await ended).toMatchObject({ outcome: "clean", exitCode: 0 });
  expect(log).toEqual(['{"item":"in the delay"}', '{"item":"slow"}', "closed"]);
});

it("a request that outlives the limit is cut off, and the rest of the service still stops in order", async () => {
  const [asked, aborted] = [gate(), gate()];
  const { clock, service, log, order } = await shop(async (_item, signal) => {
    signal.addEventListener("abort", aborted.open);
    asked.open();
    await new Promise(() => undefined);
  });
  const stuck = order("stuck");
  await asked.passed;
  const ended = service.stop();
  const cutOff = expect(stuck).rejects.toThrow("fetch failed");
  await clock.advance(5_000 + 15_000);
  await Promise.all([cutOff, aborted.passed]);
  expect(await ended).toMatchObject({ outcome: "clean" });
  expect(log).toEqual(["closed"]);
});

it("a crash of one request is reported, and touches no other", async () => {
  const [asked, paid] = [gate(), gate()];
  const { reports, order, ready } = await shop(async (item) => {
    if (item === "bad") throw new Error("no such tea");
    asked.open();
    await paid.passed;
  });
  const good = order("good");
  await asked.passed;
  expect(await order("bad")).toBe(500);
  paid.open();
  expect([await good, await ready()]).toEqual([201, 200]);
  expect(reports).toEqual([expect.stringContaining("failed to answer a POST: crash, Error: no such tea")]);
});

it("a crash of the journal asks the client to try again, and the restarted journal takes the order", async () => {
  let tries = 0;
  const { clock, log, order } = await shop(
    async () => undefined,
    async () => {
      if (++tries === 1) throw new Error("disk full");
    },
  );
  expect(await order("tea")).toBe(503);
  await clock.settle();
  expect(await order("tea")).toBe(201);
  expect(log.filter((line) => line !== "closed")).toEqual(['{"item":"tea"}']);
});

it("requests over the limit are turned away at once, and those in flight end", async () => {
  const [asked, paid] = [gate(), gate()];
  let inFlight = 0;
  const { order } = await shop(async () => {
    if (++inFlight === 2) asked.open();
    await paid.passed;
  });
  const taken = [order("tea"), order("tea")];
  await asked.passed;
  expect(await order("tea")).toBe(503);
  paid.open();
  expect(await Promise.all(taken)).toEqual([201, 201]);
});
