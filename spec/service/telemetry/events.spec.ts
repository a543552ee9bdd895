// The events of telemetry: what each way through a call, a message, a dispatch and a restart emits.

import {
  type Call,
  ConsumerGroup,
  consumer,
  custom,
  defer,
  defineServer,
  defineStateMachine,
  dynamicSupervisor,
  type ReplyTo,
  refuse,
  reject,
  System,
  startIn,
  supervisor,
} from "signalbox";
import { telemetry, telemetryChannel } from "signalbox/service";
import { testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { listen, unbalanced } from "./support.js";

const quiet = (options = {}): System => new System({ name: "shop", report: false, ...options });

const Desk = defineServer({
  label: "desk",
  init: () => ({ sum: 0 }),
  calls: {
    add: (state, n: number) => (state.sum += n),
    deny: () => refuse(new RangeError("denied")),
    ponder: () => defer<number>(() => undefined),
    crash: (): number => {
      throw new Error("spilled");
    },
  },
  casts: {
    note: (state, n: number) => {
      state.sum += n;
    },
  },
});

describe("calls", () => {
  it("end once, and say how [L1]", async () => {
    const clock = testClock();
    await using system = quiet({ environment: clock.environment });
    const { of, heard } = listen(system);
    const desk = await clock.until(system.start(Desk));
    const gone = await clock.until(system.start(Desk));
    gone.stop("normal");
    await clock.settle();
    const slow = desk.with({ timeoutMs: 1 }).call;
    const aborter = new AbortController();
    const results = [
      desk.call.add(3),
      desk.call.deny(),
      slow.ponder(),
      desk.with({ signal: aborter.signal }).call.ponder(),
      gone.call.add(1),
    ];
    aborter.abort(new Error("enough"));
    system.spawn<never>((ctx) => {
      void desk
        .with({ from: ctx })
        .call.ponder()
        .catch(() => undefined);
      return undefined;
    });
    await clock.until(Promise.allSettled(results));
    await clock.until(Promise.allSettled([desk.call.crash()]));
    const full = system.spawn<never>(() => new Promise(() => undefined), {
      mailbox: { capacity: 1, overflow: "reject" },
    });
    const ask = (): Promise<number> =>
      system.call(full as never, (replyTo: ReplyTo<number>) => replyTo as never, { timeoutMs: 1 });
    await clock.until(Promise.allSettled([ask(), ask()]));
    await clock.until(system.stop());
    expect(of("call:end").map(({ label, method, outcome }) => [label, method, outcome])).toEqual([
      ["desk", "add", "callee-exited"],
      ["desk", "ponder", "aborted"],
      ["desk", "add", "replied"],
      ["desk", "deny", "refused"],
      ["desk", "ponder", "caller-exited"],
      ["desk", "ponder", "timeout"],
      ["desk", "crash", "callee-exited"],
      ["process", undefined, "undelivered"],
      ["process", undefined, "timeout"],
    ]);
    expect(of("call:end").map(({ error }) => error === undefined)).toContain(true);
    expect(unbalanced(heard)).toEqual([]);
  });

  it("of a state machine have the names of their events", async () => {
    type Door = { readonly name: "open" };
    type Visit = Call<{ readonly type: "knock" }, string> | { readonly type: "ring" };
    const Front = defineStateMachine<Door, Visit>({
      label: "door",
      init: startIn("open", () => ({ name: "open" })),
      states: { open: { on: { knock: (_open, _event, m) => m.keep(m.reply("come in")), ring: "ignore" } } },
    });
    await using system = quiet();
    const { of } = listen(system);
    const door = await system.start(Front);
    expect(await door.call.knock()).toBe("come in");
    door.cast.ring();
    door.with({ timeoutMs: 5 }).send({ type: "ring" });
    await system.idle();
    expect(of("call:begin").map(({ label, method }) => [label, method])).toEqual([["door", "knock"]]);
    expect(of("cast").map(({ label, method }) => [label, method])).toEqual([
      ["door", "ring"],
      ["door", "ring"],
    ]);
    expect(of("message:end").map(({ kind, name }) => [kind, name])).toEqual([
      ["call", "knock"],
      ["cast", "ring"],
      ["cast", "ring"],
    ]);
  });

  it("and casts of a state machine too, with what they caused", async () => {
    type Events = { readonly type: "knock" };
    const Front = defineStateMachine<{ readonly name: "open" }, Events>({
      label: "door",
      init: startIn("open", () => ({ name: "open" })),
      states: { open: { on: { knock: "ignore" } } },
    });
    await using system = quiet();
    const { of } = listen(system);
    const door = await system.start(Front);
    door.cast.knock();
    await system.idle();
    const [cast] = of("cast");
    expect([cast?.label, cast?.method]).toEqual(["door", "knock"]);
    expect(of("message:end").map(({ kind, name, cause }) => [kind, name, cause])).toEqual([
      ["cast", "knock", cast?.span],
    ]);
  });

  it("tell the message that they caused, and how long it waited", async () => {
    await using system = quiet();
    const { of } = listen(system);
    const desk = await system.start(Desk);
    desk.cast.note(1);
    await desk.call.add(2);
    const [cast] = of("cast");
    const [call] = of("call:begin");
    expect(of("message:end").map(({ kind, name, cause, outcome }) => [kind, name, cause, outcome])).toEqual([
      ["cast", "note", cast?.span, "handled"],
      ["call", "add", call?.span, "handled"],
    ]);
    for (const { waitedMs, durationMs } of of("message:end")) {
      expect(waitedMs).toBeGreaterThanOrEqual(0);
      expect(durationMs).toBeGreaterThanOrEqual(0);
    }
  });
});

describe("messages", () => {
  it("end when a handler has settled, when a body receives again, and when the process ends", async () => {
    await using system = quiet();
    const { of, heard } = listen(system);
    const body = system.spawn<number>(async (ctx) => {
      await ctx.receive();
      await ctx.receive();
    });
    const slow = system.spawn<Promise<void>>({ handle: (_ctx, message) => message });
    const held = system.spawn<string>({ handle: () => new Promise(() => undefined) });
    for (const n of [1, 2]) system.send(body, n);
    system.send(slow, Promise.resolve());
    system.send(slow, Promise.reject(new Error("no")));
    system.send(held, "for ever");
    await system.idle();
    await system.stop();
    const ends = of("message:end").map(({ process, outcome }) => `${process.id} ${outcome}`);
    expect(ends.sort()).toEqual(["1 handled", "1 handled", "2 crashed", "2 handled", "3 exited"]);
    expect(unbalanced(heard)).toEqual([]);
  });

  it("carry their sender's context as before", async () => {
    await using system = quiet({ context: "sender" });
    const { of } = listen(system);
    const seen: string[] = [];
    const echo = system.spawn<string>({ handle: (_ctx, message) => void seen.push(message) });
    system.send(echo, "a");
    system.send(echo, "b");
    await system.idle();
    expect(seen).toEqual(["a", "b"]);
    expect(of("message:end").map(({ kind, outcome }) => [kind, outcome])).toEqual([
      ["message", "handled"],
      ["message", "handled"],
    ]);
  });
});

describe("dispatches", () => {
  it("tell each attempt, and end once on every way [L2]", async () => {
    await using system = quiet();
    const { of, heard } = listen(system);
    const group = new ConsumerGroup<string>({ name: "pickers", maxAttempts: 2 });
    const join = (): void => {
      const work = (order: string): string | ReturnType<typeof reject> | Promise<never> => {
        if (order === "crash") throw new Error("dropped");
        if (order === "slow") return new Promise<never>(() => undefined);
        return order === "no" ? reject("no", { final: true }) : order;
      };
      system.spawn(consumer<string>(work as never, { group, maxInFlight: 5 }), { label: "picker" });
    };
    const empty = await system.dispatch(group, "nobody").catch((error) => error.code);
    expect(empty).toBe("ERR_NO_CONSUMER");
    for (let i = 0; i < 4; i++) join();
    await system.idle();
    const aborter = new AbortController();
    await system.dispatch(group, "book");
    await system.dispatch(group, "no").catch(() => undefined);
    await system.dispatch(group, "crash").catch(() => undefined);
    const withdrawn = system.dispatch(group, "slow", { signal: aborter.signal });
    await system.idle();
    aborter.abort();
    await Promise.allSettled([withdrawn]);
    await system.dispatch(group, "slow", { deadlineMs: 1 }).catch(() => undefined);
    const open = system.dispatch(group, system.envelope("slow", { id: "order 7" }));
    await system.idle();
    await system.stop({ timeoutMs: 0 });
    await Promise.allSettled([open]);
    expect(
      of("dispatch:end").map(({ outcome, attempts, envelope }) => [outcome, attempts, envelope]),
    ).toEqual([
      ["no-consumer", 0, undefined],
      ["delivered", 1, undefined],
      ["rejected", 1, undefined],
      ["attempts", 2, undefined],
      ["withdrawn", 1, undefined],
      ["deadline", 1, undefined],
      ["died", 1, "order 7"],
    ]);
    expect(of("attempt:end").map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, "settled"],
      [1, "rejected"],
      [1, "crashed"],
      [2, "crashed"],
      [1, "withdrawn"],
      [1, "withdrawn"],
      [1, "withdrawn"],
    ]);
    expect(unbalanced(heard)).toEqual([]);
  });
});

describe("causes", () => {
  const group = (): ConsumerGroup<string> =>
    new ConsumerGroup<string>({ name: "pickers", patienceMs: 1_000 });

  it("join a crash, the restart after it, its starts, and the attempt at another consumer [L3]", async () => {
    await using system = quiet();
    const { of } = listen(system);
    const pickers = group();
    let crashes = 1;
    const work = (order: string): string => {
      if (crashes-- > 0) throw new Error("dropped");
      return order;
    };
    const Floor = supervisor({
      label: "floor",
      strategy: "one_for_all",
      children: [
        { id: "picker", start: consumer<string>(work, { group: pickers }) },
        { id: "desk", start: Desk },
      ],
    });
    await system.start(Floor);
    await system.dispatch(pickers, "book");
    await system.idle();
    const [crash, ...others] = of("crash");
    expect(others).toEqual([]);
    const id = crash?.crash;
    expect(crash?.path).toBe("shop/floor/picker");
    expect(of("message:end").find(({ span }) => span === crash?.message)?.outcome).toBe("crashed");
    expect(of("restart").map(({ crash: by, path, siblings }) => [by, path, siblings])).toEqual([
      [id, "shop/floor/picker", ["desk"]],
    ]);
    expect(of("start:end").map(({ path, crash: by }) => [path, by])).toEqual([
      ["shop/floor/picker", undefined],
      ["shop/floor/desk", undefined],
      ["shop/floor", undefined],
      ["shop/floor/picker", id],
      ["shop/floor/desk", id],
    ]);
    expect(of("attempt:begin").map(({ attempt, crash: by }) => [attempt, by])).toEqual([
      [1, undefined],
      [2, id],
    ]);
    expect(of("attempt:end").map(({ outcome, crash: by }) => [outcome, by])).toEqual([
      ["crashed", id],
      ["settled", undefined],
    ]);
  });

  it("go through links, and through a supervisor that gives up", async () => {
    await using system = quiet();
    const { of } = listen(system);
    const Inner = supervisor({
      label: "inner",
      intensity: 0,
      children: [
        {
          id: "pair",
          start: async (ctx) => {
            ctx.spawnLink(
              async (other) => {
                await other.receive();
                other.exit(custom("broken"));
              },
              { name: "culprit" },
            );
            await ctx.receive();
          },
        },
      ],
    });
    await system.start(supervisor({ label: "outer", children: [{ id: "inner", start: Inner }] }));
    system.send("culprit", "go");
    await system.idle();
    const [culprit, victim] = of("crash");
    expect(victim?.cause).toBe(culprit?.crash);
    expect(of("restart").map(({ path, crash, gaveUp }) => [path, crash, gaveUp])).toEqual([
      ["shop/outer/inner/pair", victim?.crash, true],
      ["shop/outer/inner", victim?.crash, false],
    ]);
    expect(of("start:begin").at(-1)?.path).toBe("shop/outer/inner/pair");
    expect(
      of("start:begin")
        .filter(({ crash }) => crash === victim?.crash)
        .map(({ path }) => path),
    ).toEqual(["shop/outer/inner"]);
  });

  it("are known for the children of a dynamic supervisor, and of one that ran before", async () => {
    await using system = quiet();
    const Crew = dynamicSupervisor({
      label: "crew",
      intensity: 5,
      child: { id: "hand", start: (ctx) => ctx.receive().then((why) => ctx.exit(custom(why))) },
    });
    const crew = await system.start(Crew);
    const before = await crew.startLike();
    const { of } = listen(system);
    const after = await crew.startLike();
    for (const hand of [before, after]) system.send(hand as never, "go" as never);
    await system.idle();
    expect(of("crash").map(({ crash }) => crash)).toHaveLength(2);
    expect(of("restart").map(({ crash }) => crash)).toEqual(of("crash").map(({ crash }) => crash));
  });

  it("are none for a process that its supervisor or its system ends on purpose", async () => {
    await using system = quiet();
    const { of } = listen(system);
    const stubborn = (): Promise<never> => new Promise<never>(() => undefined);
    const Floor = supervisor({ children: [{ id: "a", start: stubborn, shutdown: "brutal_kill" }] });
    const floor = await system.start(Floor);
    await floor.terminateChild("a");
    system.spawn(stubborn);
    await system.stop({ timeoutMs: 0 });
    expect(of("crash")).toEqual([]);
  });
});

describe("a stream", () => {
  it("has channels whose names are stable", () => {
    expect(telemetryChannel("call:end")).toBe("signalbox:call:end");
  });

  it("makes no events without a listener, and turns telemetry off at its end [L4]", async () => {
    await using system = quiet();
    const { kernel } = system;
    const stream = telemetry(system);
    const taps = kernel.taps;
    expect(taps).toBeDefined();
    const desk = await system.start(Desk);
    const first = desk.call.add(1);
    expect(kernel.newest?.requests?.tap).toBeUndefined();
    await first;
    const second = telemetry(system);
    stream.close();
    expect(kernel.taps).toBe(taps);
    await second[Symbol.asyncDispose]();
    second.close();
    expect(kernel.taps).toBeUndefined();
    expect(await desk.call.add(1)).toBe(2);
  });

  it("samples one in so many, and what they cause with them [L5]", async () => {
    await using system = quiet();
    const { of, heard } = listen(system, { oneIn: { call: 3, cast: 0, dispatch: 2, message: 4 } });
    const desk = await system.start(Desk);
    for (let i = 0; i < 7; i++) {
      await desk.call.add(1);
      desk.cast.note(1);
    }
    const sink = system.spawn<number>({ handle: () => undefined });
    for (let i = 0; i < 8; i++) system.send(sink, i);
    await system.idle();
    expect(of("call:begin")).toHaveLength(3);
    expect(of("cast")).toEqual([]);
    const kinds = of("message:begin").map(({ kind }) => kind);
    expect(kinds).toEqual(["call", "call", "call", "message", "message"]);
    await system.stop();
    expect(unbalanced(heard)).toEqual([]);
  });

  it("follows the processes that its filter lets through [L6]", async () => {
    await using system = quiet();
    const asked: string[] = [];
    const filter = (pid: { readonly label: string | undefined }): boolean => {
      asked.push(String(pid.label));
      if (pid.label === "odd") throw new Error("no label for me");
      return pid.label !== "desk";
    };
    const { of } = listen(system, { filter });
    const desk = await system.start(Desk);
    await desk.call.add(1);
    desk.cast.note(1);
    const odd = system.spawn<number>({ handle: () => undefined }, { label: "odd" });
    system.send(odd, 1);
    await system.idle();
    expect(asked).toEqual(["desk", "odd"]);
    expect(of("call:begin")).toEqual([]);
    expect(of("cast")).toEqual([]);
    expect(of("message:begin").map(({ label }) => label)).toEqual(["odd"]);
    expect(of("process:begin").map(({ path }) => path)).toEqual(["shop/odd"]);
  });

  it("counts what waits in the mailboxes, as they are [L7]", async () => {
    await using system = quiet();
    const { stream } = listen(system);
    const emitted: unknown[] = [];
    stream.subscribe("mailbox", ({ label, depth }) => void emitted.push([label, depth]));
    const busy = { handle: (): Promise<never> => new Promise<never>(() => undefined) };
    const pids = [1, 2].map(() => system.spawn<number>(busy, { label: "busy" }));
    for (const [i, pid] of pids.entries()) for (let n = 0; n < 3 + i; n++) system.send(pid, n);
    await system.idle();
    const depths = pids.map((pid) => system.info(pid)?.mailboxDepth ?? 0);
    expect(depths).toEqual([2, 3]);
    expect(stream.sample()).toMatchObject([{ label: "busy", processes: 2, depth: 5, deepest: 3 }]);
    expect(emitted).toEqual([["busy", 5]]);
  });

  it("refuses options that are none, and a second set of them", async () => {
    await using system = quiet();
    const wrong = (options: unknown): unknown => {
      try {
        return telemetry(system, options as never);
      } catch (error) {
        return (error as { path?: string }).path;
      }
    };
    expect(wrong({ onein: {} })).toBe("onein");
    expect(wrong({ oneIn: { calls: 1 } })).toBe("oneIn.calls");
    expect(wrong({ oneIn: { call: -1 } })).toBe("oneIn.call");
    expect(wrong({ filter: 7 })).toBe("filter");
    expect(wrong(null)).toBe("options");
    const first = telemetry(system, { oneIn: { call: 2 } });
    expect(wrong({ oneIn: { call: 3 } })).toBe("options");
    expect(() => first.subscribe("nothing" as never, () => undefined)).toThrow(
      "name must be one of call:begin",
    );
    expect(() => first.subscribe("cast", 7 as never)).toThrow("listener must be a function");
    first.close();
    telemetry(system, { oneIn: { call: 3 } }).close();
  });
});
