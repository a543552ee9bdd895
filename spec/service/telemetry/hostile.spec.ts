// Telemetry does not harm the service: subscribers that throw, act or leave, values that bite, and hosts without channels.

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { ConsumerGroup, consumer, defineServer, System } from "signalbox";
import { telemetry, telemetryChannel } from "signalbox/service";
import { afterEach, describe, expect, it, vi } from "vitest";
import { hostRejections } from "../../support/host.js";
import { listen, NAMES, unbalanced } from "./support.js";

const Adder = defineServer({
  label: "adder",
  init: () => ({ sum: 0 }),
  calls: { add: (state, n: number) => (state.sum += n), ignore: () => undefined },
  casts: { note: () => undefined },
});

async function work(system: System): Promise<number> {
  const adder = await system.start(Adder);
  const group = new ConsumerGroup<number>({ patienceMs: 1_000 });
  system.spawn(consumer<number>((n) => adder.call.add(n), { group }));
  adder.cast.note();
  await system.dispatch(group, 3);
  const sum = await adder.call.add(4);
  await system.idle();
  return sum;
}

describe("subscribers", () => {
  it("that throw or reject are reported, and the service goes on [L8]", async () => {
    const reports: string[] = [];
    const unhandled = await hostRejections(async () => {
      await using system = new System({ name: "shop", report: (text) => void reports.push(text) });
      const stream = telemetry(system);
      for (const name of NAMES) {
        stream.subscribe(name, () => {
          throw new Error(`${name} is not for me`);
        });
      }
      stream.subscribe("call:end", () => Promise.reject(new Error("not now")));
      expect(await work(system)).toBe(7);
    });
    expect(unhandled).toEqual([]);
    expect(reports[0]).toContain(
      "a subscriber of process:begin of telemetry threw: Error: process:begin is not",
    );
    expect(reports.join()).toContain("a subscriber of call:end of telemetry threw: Error: not now");
  });

  it("of Node's own function that throw become uncaught exceptions of the host, and the process goes on", async () => {
    const uncaught: unknown[] = [];
    const others = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", (error) => void uncaught.push((error as Error).message));
    const bad = (): void => {
      throw new Error("mine");
    };
    subscribe(telemetryChannel("call:begin"), bad);
    try {
      await using system = new System({ report: false });
      await using _stream = telemetry(system);
      expect(await work(system)).toBe(7);
    } finally {
      unsubscribe(telemetryChannel("call:begin"), bad);
      process.removeAllListeners("uncaughtException");
      for (const other of others) process.on("uncaughtException", other);
    }
    expect(uncaught).toEqual(["mine", "mine"]);
  });

  it("may send, call, stop processes and leave while they are notified", async () => {
    await using system = new System({ report: false });
    const { heard, stream } = listen(system);
    const sink = system.spawn<string>({ handle: () => undefined }, { label: "sink" });
    const victims: unknown[] = [];
    const ends: (() => void)[] = [];
    let left = 20;
    for (const name of NAMES) {
      const end = stream.subscribe(name, () => {
        if (left-- <= 0) return;
        for (const other of ends) other();
        system.send(sink, name);
        const victim = system.spawn(() => new Promise(() => undefined));
        victims.push(victim);
        system.exit(victim, "kill");
      });
      ends.push(end);
    }
    expect(await work(system)).toBe(7);
    expect(victims.length).toBeGreaterThan(0);
    for (const victim of victims) expect(system.isAlive(victim as never)).toBe(false);
    await system.stop();
    expect(unbalanced(heard)).toEqual([]);
  });

  it("run as no code of a process: a promise of theirs does not crash the process that runs", async () => {
    const failed = new Error("lost");
    const unhandled = await hostRejections(async () => {
      await using system = new System({ report: false });
      const stream = telemetry(system);
      stream.subscribe("message:begin", () => void Promise.reject(failed));
      expect(await work(system)).toBe(7);
    });
    expect(new Set(unhandled)).toEqual(new Set([failed]));
  });
});

/** What the library and the host read of a message that bites, with telemetry or without. */
async function touches(observe: boolean): Promise<readonly string[]> {
  const touched: string[] = [];
  const bite = (what: string): never => {
    touched.push(what);
    throw new Error(`bitten by ${what}`);
  };
  const hostile = new Proxy(
    {},
    {
      get: (_target, key) => bite(`get ${String(key)}`),
      has: () => bite("has"),
      ownKeys: () => bite("ownKeys"),
      getOwnPropertyDescriptor: () => bite("getOwnPropertyDescriptor"),
    },
  );
  await using system = new System({ report: false });
  const ear = observe ? listen(system) : undefined;
  const sink = system.spawn<unknown>({ handle: () => undefined });
  const body = system.spawn<unknown>(async (ctx) => void (await ctx.receive()));
  const adder = await system.start(Adder);
  const group = new ConsumerGroup<unknown>({ patienceMs: 1_000 });
  system.spawn(consumer<unknown>(() => undefined, { group }));
  for (const to of [sink, body]) system.send(to, hostile);
  (adder.cast.note as (value: unknown) => void)(hostile);
  await (adder.call.ignore as (value: unknown) => Promise<unknown>)(hostile);
  await system.dispatch(group, hostile);
  await system.idle();
  const kinds = ear?.of("message:end").map(({ kind }) => kind);
  if (observe) expect(kinds?.sort()).toEqual(["call", "cast", "delivery", "message", "message"]);
  return touched;
}

describe("values", () => {
  it("of the user are never read [L9]", async () => {
    expect(await touches(true)).toEqual(await touches(false));
  });
});

describe("a host without node:diagnostics_channel", () => {
  const { getBuiltinModule } = process;
  afterEach(() => {
    process.getBuiltinModule = getBuiltinModule;
    vi.resetModules();
  });

  it("emits nothing, and counts as usual [L15]", async () => {
    vi.resetModules();
    process.getBuiltinModule = ((name: string) =>
      name === "node:diagnostics_channel" ? undefined : getBuiltinModule(name)) as typeof getBuiltinModule;
    const core = await import("signalbox");
    const service = await import("signalbox/service");
    await using system = new core.System({ name: "shop", report: false });
    const stream = service.telemetry(system);
    const heard: unknown[] = [];
    const end = stream.subscribe("process:begin", (event) => void heard.push(event));
    const metrics = service.prometheus(system);
    const pid = system.spawn<number>({ handle: () => undefined }, { label: "one" });
    system.send(pid, 1);
    await system.idle();
    end();
    expect(stream.active).toBe(false);
    expect(heard).toEqual([]);
    expect(stream.sample()).toMatchObject([{ label: "one", processes: 1, depth: 0 }]);
    expect(metrics.text()).toContain('signalbox_handled_total{system="shop",label="one"} 1\n');
  });
});
