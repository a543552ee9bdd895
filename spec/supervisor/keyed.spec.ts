// A process per key: dynamic children that are named by their arguments.

import {
  type BodyContext,
  type Call,
  ChildError,
  type Claim,
  type DynamicSupervisorOptions,
  defineServer,
  defineStateMachine,
  dynamicSupervisor,
  ignore,
  inspect,
  OptionError,
  type Pid,
  partitionSupervisor,
  Registry,
  System,
  startIn,
  to,
  type Via,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from "vitest";
import { AT_ONCE } from "../../lib/supervisor/dynamic-machine.js";
import { gate } from "../support/gate.js";

let clock: ReturnType<typeof testClock>;
let system: System;
let devices: Registry<string>;
let starts: string[];
beforeEach(() => {
  clock = testClock();
  system = new System({ name: "fleet", environment: clock.environment, report: false });
  devices = new Registry<string>(system, { name: "devices" });
  starts = [];
});
afterEach(() => clock.until(system.stop()));

const Device = defineServer({
  init: (_ctx, id: string) => {
    starts.push(id);
    return { id, readings: [] as number[] };
  },
  calls: {
    read: (state, value: number) => state.readings.push(value),
    id: (state) => state.id,
    leave: (_state, how: "crash") => {
      throw new Error(how);
    },
  },
});

type DeviceOptions = DynamicSupervisorOptions<typeof Device>;

const definition = (
  child: Partial<DeviceOptions["child"]> = {},
  options: Partial<Omit<DeviceOptions, "child">> = {},
) =>
  dynamicSupervisor({
    child: { id: "device", start: Device, name: (id) => devices.claim(id), ...child },
    ...options,
  });
const fleet = (...given: Parameters<typeof definition>) => clock.until(system.start(definition(...given)));
const problemOf = (request: Promise<unknown>): Promise<unknown> =>
  request.then(
    () => "granted",
    (error) => (error instanceof ChildError ? error.problem : error),
  );

describe("a dynamic child with a name", () => {
  it("has the name that its template gives for its arguments, over restarts, and no other child gets it [V36]", async () => {
    const all = await fleet();
    await all.startLike(["a"]);
    await all.startLike(["b"]);
    expect([...devices.select(() => true)].map(({ key }) => key)).toEqual(["a", "b"]);
    expect(await problemOf(all.startLike(["a"]))).toBe("already_started");

    const before = devices.find("a")?.pid as Pid;
    system.exit(before, "kill");
    await clock.settle();
    expect(devices.find("a")?.pid).not.toBe(before);
    expect(starts).toEqual(["a", "b", "a"]);
    expect(await problemOf(all.startLike(["a"]))).toBe("already_started");
  });

  it("keeps its name while it waits for its restart, so that no other child makes the restart fail [V36]", async () => {
    const all = await fleet({}, { backoff: { minMs: 100, maxMs: 100, jitter: 0 } });
    await all.startLike(["a"]);
    system.exit(devices.via("a"), "kill");
    await clock.settle();
    expect(devices.find("a")).toBeUndefined();
    expect(await problemOf(all.startLike(["a"]))).toBe("already_started");
    await clock.advance(100);
    expect(await all.countChildren()).toMatchObject({ specs: 1, active: 1 });
    expect(devices.size).toBe(1);
  });

  it("gives its name free when it is gone: after its own end, a termination, a failed start [V36]", async () => {
    let fails = true;
    const all = await fleet({
      restart: "temporary",
      start: defineServer({
        init: (_ctx, id: string) => {
          if (fails) throw new Error("no");
          return { id };
        },
      }) as never,
    });
    expect(await problemOf(all.startLike(["a"]))).toBe("start_failed");
    fails = false;
    const a = await all.startLike(["a"]);
    if (a !== undefined) await all.terminateChild(a);
    await all.startLike(["a"]);
    system.exit(devices.via("a"), "kill");
    await clock.settle();
    await all.startLike(["a"]);
    expect(await all.countChildren()).toMatchObject({ specs: 1, active: 1 });
  });

  it("may have a registered name, the same for all or one for each", async () => {
    const texts = await fleet({ name: (id) => `device ${id}` });
    await texts.startLike(["a"]);
    expect(system.whereis("device a")).toBeDefined();
    const one = await fleet({ name: "the device" });
    const [first, second] = await Promise.all([one.startOrGet(["a"]), one.startOrGet(["b"])]);
    expect([await first.call.id(), await second.call.id()]).toEqual(["a", "a"]);
  });

  it("may share its name with others in a registry with duplicate keys", async () => {
    const rooms = new Registry<string>(system, { keys: "duplicate" });
    const all = await fleet({ name: (id) => rooms.claim(id) });
    const [first, second] = [await all.startLike(["a"]), await all.startLike(["a"])];
    expect(rooms.count("a")).toBe(2);
    expect(first?.pid).not.toBe(second?.pid);
    await expect(all.startOrGet(["a"])).rejects.toMatchObject({ code: "ERR_OPTION", path: "startOrGet" });
  });

  it("is refused a name that is none, and an error of the function goes to the caller alone", async () => {
    expect(() => definition({ name: 7 as never })).toThrow(OptionError);
    expect(() => definition({ name: "" })).toThrow(OptionError);
    const all = await fleet({ name: (id) => (id === "a" ? (undefined as never) : id.at(0)) as string });
    await expect(all.startLike(["a"])).rejects.toMatchObject({
      code: "ERR_OPTION",
      path: "child(device).name",
    });
    await expect(all.startLike([""])).rejects.toMatchObject({ code: "ERR_OPTION" });
    await expect(all.startLike([7 as never])).rejects.toThrow(TypeError);
    expect(system.isAlive(all.pid)).toBe(true);
  });

  it("needs a name for startOrGet", async () => {
    const all = await clock.until(
      system.start(dynamicSupervisor({ child: { id: "device", start: Device } })),
    );
    await expect(all.startOrGet(["a"])).rejects.toMatchObject({ code: "ERR_OPTION", path: "startOrGet" });
    expect(starts).toEqual([]);
  });
});

describe("the handle that startLike and startOrGet return", () => {
  it("is that of the definition, with its types, and goes on with the process after a restart [V39]", async () => {
    const all = await fleet();
    const a = await all.startOrGet(["a"]);
    expect(await a.call.read(7)).toBe(1);
    const before = devices.find("a")?.pid;
    await expect(a.call.leave("crash")).rejects.toThrow();
    await clock.settle();
    expect(devices.find("a")?.pid).not.toBe(before);
    expect(await a.call.read(8)).toBe(1);
    expect(String(a)).toBe('devices["a"]');
    const b = await all.startLike(["b"]);
    expect(await b?.call.id()).toBe("b");
  });

  it("is that of one process without a name, and a pid or an address for a plain process", async () => {
    const plain = await clock.until(
      system.start(dynamicSupervisor({ child: { id: "device", start: Device } })),
    );
    const a = await plain.startLike(["a"]);
    system.exit(a?.pid as Pid, "kill");
    await clock.settle();
    await expect(a?.call.id()).rejects.toMatchObject({ code: "ERR_CALLEE_EXITED" });

    const heard: string[] = [];
    const body = async (ctx: BodyContext<string>): Promise<void> => void heard.push(await ctx.receive());
    const bodies = await clock.until(system.start(dynamicSupervisor({ child: { id: "body", start: body } })));
    const pid = await bodies.startLike();
    if (pid !== undefined) system.send(pid, "hello");
    const named = dynamicSupervisor({ child: { id: "body", start: body, name: "the body" } });
    const address = await (await clock.until(system.start(named))).startOrGet();
    system.send(address, "to the name");
    await clock.settle();
    expect(heard).toEqual(["hello", "to the name"]);
  });

  it("is that of a state machine, a supervisor, or whatever the child is", async () => {
    type Light = { name: "on" | "off" };
    const Light = defineStateMachine<Light, Call<{ type: "flip" }, string>, [first: "on" | "off"]>({
      init: startIn(["on", "off"], (_m, name) => ({ name })),
      states: {
        on: { on: { flip: to("off", (_on, _flip, m) => m.next({ name: "off" }, m.reply("off"))) } },
        off: { on: { flip: to("on", (_off, _flip, m) => m.next({ name: "on" }, m.reply("on"))) } },
      },
    });
    const lights = await clock.until(
      system.start(dynamicSupervisor({ child: { id: "light", start: Light, name: "light" } })),
    );
    const light = await lights.startOrGet(["off"]);
    expect([await light.call.flip(), await light.call.flip(), String(light)]).toEqual(["on", "off", "light"]);
    const houses = await clock.until(
      system.start(dynamicSupervisor({ child: { id: "house", start: definition(), name: "house" } })),
    );
    const house = await houses.startOrGet();
    expect(await (await house.startOrGet(["a"])).call.id()).toBe("a");
  });

  it("terminates the child, also while it waits for its restart", async () => {
    const all = await fleet({}, { backoff: { minMs: 100, maxMs: 100 } });
    const a = await all.startOrGet(["a"]);
    system.exit(devices.via("a"), "kill");
    await clock.settle();
    await all.terminateChild(a);
    await clock.advance(1_000);
    expect(starts).toEqual(["a"]);
    await expect(all.terminateChild(a)).rejects.toMatchObject({ problem: "not_found" });
    await all.startOrGet(["b"]);
    await all.terminateChild(devices.via("b"));
    expect(devices.size).toBe(0);
  });

  it("has the types of the definition, and the name those of its arguments [V39]", () => {
    const _typed = async (): Promise<void> => {
      const all = await fleet();
      const a = await all.startOrGet(["a"]);
      expectTypeOf(a.call.read).toEqualTypeOf<(value: number) => Promise<number>>();
      expectTypeOf(await all.startLike(["a"])).toEqualTypeOf<typeof a | undefined>();
      // @ts-expect-error its argument is a text
      await all.startOrGet([7]);
      // @ts-expect-error it needs an argument
      await all.startOrGet();
      dynamicSupervisor({
        child: {
          id: "device",
          start: Device,
          name: (id) => {
            expectTypeOf(id).toEqualTypeOf<string>();
            return devices.claim(id);
          },
        },
      });
      // @ts-expect-error a name is a text or a claim
      dynamicSupervisor({ child: { id: "device", start: Device, name: (id) => id.length } });
      const start = async (ctx: BodyContext<string>) => void (await ctx.receive());
      const body = await clock.until(
        system.start(dynamicSupervisor({ child: { id: "b", start, name: "b" } })),
      );
      expectTypeOf(await body.startOrGet()).toEqualTypeOf<Pid<string>>();
      expectTypeOf<Via<string>>().toExtend<Pid<string>>();
      // The types of the package leave out what is internal. Nothing else is a claim there, either.
      expectTypeOf<number>().not.toExtend<Omit<Claim, "claim" | "via">>();
    };
  });
});

describe("startOrGet", () => {
  it("starts the child of a name, and gives it to all who ask at the same time [V37]", async () => {
    const all = await fleet();
    const asked = await Promise.all(["a", "b", "a", "a"].map((id) => all.startOrGet([id])));
    expect(await Promise.all(asked.map((device) => device.call.id()))).toEqual(["a", "b", "a", "a"]);
    expect(starts).toEqual(["a", "b"]);
  });

  it("waits for the child that starts, crashes or restarts, and gets that one [V37]", async () => {
    const door = gate();
    let opens = 0;
    const Slow = defineServer({
      init: async (_ctx, id: string) => {
        starts.push(id);
        if (++opens < 3) await door.promise;
        return { id };
      },
    });
    const all = await fleet({ start: Slow as never }, { backoff: { minMs: 100, maxMs: 100, jitter: 0 } });
    const early = [all.startOrGet(["a"]), all.startOrGet(["a"])];
    await clock.settle();
    door.open();
    await clock.until(Promise.all(early));
    expect(starts).toEqual(["a"]);

    // The request comes before the exit signal, and the process is dead when it is handled.
    const crashed = devices.find("a")?.pid as Pid;
    const late = [all.startOrGet(["a"])];
    system.exit(crashed, "kill");
    await clock.settle();
    late.push(all.startOrGet(["a"]));
    await clock.advance(100);
    await clock.until(Promise.all(late));
    expect(devices.find("a")?.pid).not.toBe(crashed);
    expect(starts).toEqual(["a", "a"]);
  });

  it("waits for the end of the child that stops, and starts one other [V37]", async () => {
    const Stubborn = defineServer({
      init: (ctx, id: string) => {
        starts.push(id);
        return { id, ctx };
      },
      trapExit: true,
      terminate: ({ ctx }) =>
        ctx.call(system.spawn({ handle: () => undefined }), () => "", { timeoutMs: 50 }).catch(String),
    });
    const all = await fleet({ start: Stubborn as never }, { maxChildren: 1 });
    const first = await all.startOrGet(["a"]);
    const old = devices.find("a")?.pid as Pid;
    const stopped = all.terminateChild(first);
    const next = Promise.all([all.startOrGet(["a"]), all.startOrGet(["a"])]);
    await clock.settle();
    expect([starts, system.isAlive(old)]).toEqual([["a"], true]);
    await clock.advance(50);
    await clock.until(Promise.all([stopped, next]));
    expect(starts).toEqual(["a", "a"]);
    expect(await all.countChildren()).toMatchObject({ specs: 1, active: 1 });
  });

  it("starts another child after one that ended by itself, whatever its restart [V37]", async () => {
    const all = await fleet({ restart: "temporary" });
    await all.startOrGet(["a"]);
    // Handled before the exit signal.
    const asked = all.startOrGet(["a"]);
    system.exit(devices.via("a"), "kill");
    await clock.until(asked);
    expect(await (await asked).call.id()).toBe("a");
    expect(starts).toEqual(["a", "a"]);
  });

  it("fails with the reason of the start, for all who wait for it, and the next one tries again [V37]", async () => {
    let left = 1;
    const Fails = defineServer({
      init: (_ctx, id: string) => {
        if (left-- > 0) throw new Error("not now");
        return { id };
      },
    });
    const all = await fleet({ start: Fails as never });
    const asked = [all.startOrGet(["a"]), all.startOrGet(["a"])].map((one) => one.catch((error) => error));
    for (const error of await Promise.all(asked))
      expect(error).toMatchObject({ problem: "start_failed", cause: { message: "not now" } });
    await all.startOrGet(["a"]);
    expect(devices.size).toBe(1);
  });

  it("fails when the child is to be ignored, is one too many, or its key belongs to a stranger", async () => {
    const Ignored = defineServer({ init: (_ctx, id: string) => (id === "x" ? ignore : { id }) });
    const all = await fleet({ start: Ignored as never }, { maxChildren: 1 });
    expect(await problemOf(all.startOrGet(["x"]))).toBe("ignored");
    expect(await all.startLike(["x"])).toBeUndefined();
    system.spawn({ handle: () => undefined }, { name: devices.claim("s") });
    await expect(all.startOrGet(["s"])).rejects.toMatchObject({
      problem: "start_failed",
      cause: { code: "ERR_KEY_TAKEN" },
    });
    await all.startOrGet(["a"]);
    await all.startOrGet(["a"]);
    expect(await problemOf(all.startOrGet(["b"]))).toBe("max_children");
  });

  it("ends with the supervisor, wherever the request waits", async () => {
    const all = await fleet({}, { backoff: { minMs: 100, maxMs: 100 } });
    await all.startOrGet(["a"]);
    system.exit(devices.via("a"), "kill");
    await clock.settle();
    const asked = all.startOrGet(["a"]).catch((error) => error.code);
    await clock.settle();
    system.exit(all.pid, "shutdown");
    expect(await clock.until(asked)).toBe("ERR_CALLEE_EXITED");
  });

  it("starts nothing for a caller that has given up [V38]", async () => {
    const all = await fleet({}, { backoff: { minMs: 100, maxMs: 100, jitter: 0 } });
    const a = await all.startOrGet(["a"]);
    system.exit(devices.via("a"), "kill");
    await clock.settle();
    const asked = Promise.all(
      Array.from({ length: 100 }, () => all.startOrGet(["a"], { timeoutMs: 10 }).catch((error) => error)),
    );
    await clock.advance(10);
    expect(await asked).toEqual(
      Array(100).fill(expect.objectContaining({ code: "ERR_CALL_TIMEOUT", request: "withdrawn" })),
    );
    await all.terminateChild(a);
    await clock.advance(1_000);
    expect([starts, devices.size, await all.countChildren()]).toEqual([
      ["a"],
      0,
      expect.objectContaining({ specs: 0 }),
    ]);
  });

  it.each(["starts", "stops"])(
    "answers any number of requests that wait for a child that %s in portions, and others have their turns between them [V40]",
    async (what) => {
      const door = gate();
      let isOpen = what === "stops";
      const Slow = defineServer({
        init: async (ctx, id: string) => {
          if (!isOpen) await door.promise;
          return { id, ctx };
        },
        trapExit: true,
        terminate: () => (isOpen ? door.promise : undefined),
      });
      const all = await fleet({ start: Slow as never });
      if (what === "stops") void all.terminateChild(await all.startOrGet(["a"]));
      const asked = Array.from({ length: 4 * AT_ONCE }, () => all.startOrGet(["a"]));
      await clock.settle();
      const taken: unknown[] = [];
      await using _ = inspect(system, all.pid).trace((event) => {
        if (event.type === "message") taken.push((event.message as { readonly type: string }).type);
      });
      isOpen = true;
      door.open();
      await clock.until(Promise.all(asked));
      expect(devices.size).toBe(1);
      expect(taken.filter((type) => type === "settle").length).toBeGreaterThanOrEqual(3);
    },
  );

  it("goes through partitions of dynamic supervisors", async () => {
    const Fleets = partitionSupervisor({ partitions: 4, child: { start: definition() } });
    const fleets = await clock.until(system.start(Fleets));
    const ids = Array.from({ length: 40 }, (_, n) => `d${n}`);
    const asked = await Promise.all([...ids, ...ids].map((id) => fleets.for(id).startOrGet([id])));
    expect(await Promise.all(asked.map((device) => device.call.id()))).toEqual([...ids, ...ids]);
    expect(starts).toHaveLength(40);
    const counts = await Promise.all(fleets.all().map((one) => one.countChildren()));
    expect(counts.every(({ active }) => active > 0)).toBe(true);
  });
});
