// The health of running services, and its endpoint.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Body, dynamicSupervisor, OptionError, type Startable, supervisor } from "signalbox";
import { type HealthOptions, type RunOptions, run, type Service } from "signalbox/service";
import { testClock } from "signalbox/testing";
import { afterEach, describe, expect, it } from "vitest";
import { macrotask } from "../../support/host.js";

const services: Service[] = [];
afterEach(async () => {
  for (const service of services.splice(0)) await service.system.stop({ timeoutMs: 0 });
});

function start(tree: Startable<readonly [], unknown>, options: RunOptions<undefined> = {}): Service {
  const service = run(tree, { name: "shop", host: false, system: { report: false }, ...options });
  services.push(service);
  return service;
}

const worker: Body<never> = async (ctx) => void (await ctx.receive());
const tree = supervisor({
  children: [
    { id: "stock", name: "stock", start: worker },
    {
      id: "floor",
      start: supervisor({ intensity: 1, children: [{ id: "clerk", name: "clerk", start: worker }] }),
    },
    { id: "sessions", start: dynamicSupervisor({ child: { id: "session", start: worker } }) },
  ],
});

describe("a reading", () => {
  it("lists the parts of the tree, with their restarts [A13]", async () => {
    const service = start(tree);
    await service.started;
    service.system.exit("clerk", new Error("no tea"));
    await service.system.idle();
    const { ready, parts, warnings } = await service.health.read({});
    expect(ready).toBe(true);
    expect(parts.map(({ path, phase, restarts }) => `${path} ${phase} ${restarts?.count ?? ""}`)).toEqual([
      " running 0",
      "stock running ",
      "floor running 1",
      "floor/clerk running ",
      "sessions running 0",
    ]);
    expect(warnings).toEqual(["floor gives up at its next restart: 1 of 1 within 5000 ms"]);
    expect((await service.health.read({ part: "floor" }))?.parts.map(({ path }) => path)).toEqual([
      "floor",
      "floor/clerk",
    ]);
    expect(await service.health.read({ part: "flor" })).toBeUndefined();
  });

  it("is not ready while it starts, and while a child restarts, with the siblings that wait [A13]", async () => {
    let opened: () => void = () => undefined;
    const gates: (() => void)[] = [];
    const slow = {
      init: () =>
        new Promise<void>((resolve) => {
          gates.push(resolve);
          opened();
        }),
      handle: () => undefined,
    };
    const nextGate = (): Promise<void> =>
      new Promise((resolve) => {
        opened = resolve;
      });
    const first = nextGate();
    const service = start(
      supervisor({
        strategy: "rest_for_one",
        children: [
          { id: "stock", name: "stock", start: slow },
          { id: "clerk", start: worker },
        ],
      }),
    );
    await first;
    const starting = await service.health.read({});
    expect([starting.phase, starting.live, starting.ready]).toEqual(["starting", true, false]);
    expect(starting.reasons).toEqual(["the service is starting", "stock is starting", "clerk is starting"]);
    gates.shift()?.();
    await service.started;
    expect((await service.health.read({})).ready).toBe(true);
    const second = nextGate();
    service.system.exit("stock", new Error("broken"));
    await second;
    expect((await service.health.read({})).reasons).toEqual(["stock is restarting", "clerk is restarting"]);
    gates.shift()?.();
    await service.system.idle();
    expect((await service.health.read({})).ready).toBe(true);
  });

  it("of a stopped service says so, at once", async () => {
    const service = start(tree);
    await service.stop();
    const { live, ready, reasons } = await service.health.read({});
    expect([live, ready, reasons]).toEqual([false, false, ["the service is stopped"]]);
  });

  it("is not ready any more once a stop has begun, also one that was asked for before [A6]", async () => {
    const service = start(tree, { onDrain: () => new Promise(() => undefined) });
    await service.started;
    const reading = service.health.read({});
    void service.stop();
    expect(await reading).toMatchObject({ ready: false, phase: "draining" });
    await service.system.stop({ timeoutMs: 0 });
    expect((await service.ended).outcome).toBe("forced");
  });
});

describe("a check", () => {
  async function readWith(health: HealthOptions) {
    const clock = testClock();
    const service = start(tree, { health, system: { environment: clock.environment, report: false } });
    await service.started;
    const reading = service.health.read({});
    await clock.settle();
    await clock.advance(5_000);
    const report = await reading;
    return { service, clock, report };
  }

  it.each([
    [
      "throws",
      () => {
        throw new Error("no db");
      },
      "crash, Error: no db",
    ],
    ["rejects", () => Promise.reject(new Error("no db")), "crash, Error: no db"],
    ["returns false", () => false, "it returned false"],
    ["hangs", () => new Promise(() => undefined), "no answer within 1000 ms"],
  ])("that %s makes the service not ready, within its time [A14]", async (_name, check, error) => {
    const { report } = await readWith({ checks: { db: check } });
    expect(report).toMatchObject({ live: true, ready: false, reasons: ["check db failed"] });
    expect(report.checks).toEqual([{ name: "db", for: "ready", part: "", ok: false, error }]);
  });

  it("that hangs is aborted, and is not run again however often health is read [A14]", async () => {
    let runs = 0;
    let aborted = 0;
    const check = (signal: AbortSignal): Promise<void> => {
      runs++;
      signal.addEventListener("abort", () => aborted++);
      return new Promise(() => undefined);
    };
    const { service, clock } = await readWith({ checks: { db: { check, for: "live" } } });
    for (let i = 0; i < 20; i++) {
      const reading = service.health.read({});
      await clock.advance(2_000);
      expect((await reading).live).toBe(false);
    }
    expect([runs, aborted]).toEqual([1, 1]);
  });

  it("answers many who ask at once by one run, and keeps its answer for a while [A14]", async () => {
    let runs = 0;
    const { service, clock, report } = await readWith({
      checks: { db: { check: () => ++runs, cacheMs: 1_000 } },
    });
    expect([report.ready, runs]).toEqual([true, 1]);
    const readings = Array.from({ length: 100 }, () => service.health.read({}));
    await clock.advance(1);
    await Promise.all(readings);
    expect(runs).toBe(2);
    const again = service.health.read({});
    await clock.advance(1);
    await again;
    expect(runs).toBe(2);
  });

  it("that leaves a rejection behind costs one reading, not the service", async () => {
    let runs = 0;
    const check = () => {
      if (runs++ === 0) void Promise.reject(new Error("careless"));
    };
    const service = start(tree, { health: { checks: { db: { check, cacheMs: 0 } } } });
    await service.started;
    await service.health.read({});
    await new Promise((resolve) => setImmediate(resolve));
    expect((await service.health.read({})).ready).toBe(true);
    expect(service.phase).toBe("running");
  });
});

it("a supervisor that does not answer is unknown, and does not keep the reading [A14]", async () => {
  const service = start(supervisor({ children: [{ id: "floor", name: "floor", start: supervisor({}) }] }), {
    health: { timeoutMs: 5 },
  });
  await service.started;
  const stuck = service.system.whereis("floor")?.process;
  // Its messages stay where they are.
  if (stuck !== undefined) stuck.handle = () => new Promise(() => undefined);
  expect((await service.health.read({})).reasons).toEqual(["floor did not answer in time"]);
});

describe("the endpoint", () => {
  it("answers 200 or 503 with JSON, for liveness, readiness and parts [A14]", async () => {
    const service = start(tree, {
      health: {
        checks: { db: { check: () => Promise.reject(new Error("postgres://user:pw@db")), part: "stock" } },
      },
    });
    await service.started;
    const get = async (path: string, init?: RequestInit) => {
      const response = await service.health.fetch(new Request(`http://shop${path}`, init));
      return { status: response.status, body: await response.text() };
    };
    expect((await get("/health/live")).status).toBe(200);
    expect((await get("/livez")).status).toBe(200);
    const ready = await get("/readyz");
    expect(ready.status).toBe(503);
    expect(JSON.parse(ready.body)).toMatchObject({
      name: "shop",
      ready: false,
      reasons: ["check db failed"],
    });
    expect(ready.body).not.toContain("postgres");
    expect((await get("/ready?part=floor")).status).toBe(200);
    expect((await get("/ready?part=stock")).status).toBe(503);
    expect((await get("/ready?part=flor")).status).toBe(404);
    expect((await get("/ready", { method: "POST" })).status).toBe(405);
    expect(await get("/ready", { method: "HEAD" })).toEqual({ status: 503, body: "" });
  });

  it("serves node:http as it is, with details on request", async () => {
    const service = start(tree, { health: { details: true } });
    await service.started;
    const server = createServer(service.health.listener).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/readyz`);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/json"]);
    expect((await response.json()) as object).toMatchObject({ parts: { length: 5 } });
    server.close();
  });
});

const ok = () => true;
it.each<[string, HealthOptions]>([
  ["health", 5 as never],
  ["health.chekcs", { chekcs: {} } as never],
  ["health.timeoutMs", { timeoutMs: 0 }],
  ["health.maxMailboxDepth", { maxMailboxDepth: -1 }],
  ["health.maxEventLoopDelayMs", { maxEventLoopDelayMs: 0 }],
  ["health.details", { details: 1 as never }],
  ["health.checks", { checks: 5 as never }],
  ["health.checks.db", { checks: { db: 5 as never } }],
  ["health.checks.db.check", { checks: { db: {} as never } }],
  ["health.checks.db.for", { checks: { db: { check: ok, for: "fun" as never } } }],
  ["health.checks.db.part", { checks: { db: { check: ok, part: 1 as never } } }],
  ["health.checks.db.timeoutMs", { checks: { db: { check: ok, timeoutMs: 0 } } }],
  ["health.checks.db.cacheMs", { checks: { db: { check: ok, cacheMs: -1 } } }],
])("a wrong %s is refused", (path, health) => {
  const make = () => run(tree, { host: false, health });
  expect(make).toThrow(OptionError);
  expect(make).toThrow(expect.objectContaining({ path }));
});

describe("checks run apart", () => {
  const broken = new Error("floating");
  const floating = async (): Promise<boolean> => {
    void Promise.reject(broken);
    await macrotask();
    return true;
  };
  const asked = async (
    service: Service,
    path: string,
  ): Promise<{ status: number; body: { reasons: string[] } }> => {
    const response = await service.health.fetch(new Request(`http://localhost${path}`));
    return { status: response.status, body: (await response.json()) as { reasons: string[] } };
  };

  it("a readiness check that leaves a rejection alone fails by itself: liveness and the others are answered [A16]", async () => {
    const service = start(tree, { health: { checks: { floating, fine: () => true } } });
    await service.started;
    expect((await asked(service, "/livez")).status).toBe(200);
    const ready = await asked(service, "/readyz");
    expect(ready).toMatchObject({ status: 503, body: { reasons: ["check floating failed"] } });
    const { checks } = (await service.health.read()) ?? { checks: [] };
    expect(checks.find(({ name }) => name === "floating")?.error).toContain("floating");
    expect(checks.find(({ name }) => name === "fine")?.ok).toBe(true);
    expect((await asked(service, "/livez")).status).toBe(200);
  });

  it("liveness waits for no readiness check, however it hangs [A16]", async () => {
    let runs = 0;
    const hangs = (): Promise<never> => {
      runs++;
      return new Promise(() => undefined);
    };
    const service = start(tree, { health: { checks: { hangs } } });
    await service.started;
    const live = await asked(service, "/livez");
    expect(live.status).toBe(200);
    expect(live.body).not.toHaveProperty("ready");
    expect(runs).toBe(0);
  });

  it("a liveness check counts, and a crash of it names it [A16]", async () => {
    const service = start(tree, { health: { checks: { floating: { check: floating, for: "live" } } } });
    await service.started;
    expect(await asked(service, "/livez")).toMatchObject({
      status: 503,
      body: { reasons: ["check floating failed"] },
    });
  });
});
