// Looking into running processes: state, suspend, resume and swap.

import {
  CalleeExitedError,
  CallTimeoutError,
  defineServer,
  FormatError,
  InspectSelfError,
  inspect,
  NoProcessError,
  NotSwappableError,
  OptionError,
  OtherNodeError,
  type Pid,
  type StateOfDefinition,
  SwapError,
  System,
  stop,
  supervisor,
  UnknownRequestError,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { describe, expect, expectTypeOf, test } from "vitest";

const Stock = defineServer({
  init: (_ctx, left: number) => ({ left, key: "secret" }),
  calls: {
    take: (state, n: number) => (state.left -= n),
    slow: async (state, gate: Promise<void>) => {
      await gate;
      return state.left;
    },
  },
  casts: {
    restock: (state, n: number) => {
      state.left += n;
    },
  },
  format: ({ left }) => ({ left }),
});

/** The second version: with reservations. */
const Stock2 = defineServer({
  init: (_ctx, left: number) => ({ left, reserved: 0 }),
  calls: {
    take: (state, n: number) => {
      state.left -= n;
      return `${state.left} left`;
    },
    reserve: (state, n: number) => (state.reserved += n),
  },
});

const never = new Promise<never>(() => undefined);

function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

describe("the state", () => {
  test("of a server comes between two messages, as its `format` shows it, and is a copy [I1]", async () => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    const { open, opened } = gate();
    const slow = stock.call.slow(opened);
    stock.cast.restock(5);
    const asked = inspect(system, stock.pid).state<{ left: number }>();
    stock.cast.restock(100);
    open();
    const state = await asked;
    expect(state).toEqual({ left: 15 });
    expect(await slow).toBe(10);
    expect(await stock.call.take(0)).toBe(115);
    expect(state).toEqual({ left: 15 });
  });

  test("passes through the `format` of the request after that of the definition [I1]", async () => {
    await using system = new System();
    await system.startWith({ name: "stock" }, Stock, 3);
    const seen = await inspect(system, "stock").state({ format: (state) => Object.keys(state as object) });
    expectTypeOf(seen).toEqualTypeOf<string[]>();
    expect(seen).toEqual(["left"]);
  });

  test("is a copy of nested data, and shares instances of classes [I1]", async () => {
    class Shelf {
      items = 0;
    }
    const shelf = new Shelf();
    const state = { list: [{ n: 1 }], map: new Map([["a", { n: 1 }]]), set: new Set([1]), shelf, self: {} };
    state.self = state;
    await using system = new System();
    const pid = (await system.start(defineServer({ init: () => state }))).pid;
    const seen = await inspect(system, pid).state<typeof state>();
    expect(seen).toEqual(state);
    expect(seen).not.toBe(state);
    expect(seen.self).toBe(seen);
    expect([
      seen.list[0] === state.list[0],
      seen.map.get("a") === state.map.get("a"),
      seen.set === state.set,
    ]).toEqual([false, false, false]);
    expect(seen.shelf).toBe(shelf);
  });

  test("that is large is copied in slices: others go on, and the process waits [I16]", async () => {
    await using system = new System();
    const big = new Map(Array.from({ length: 20_000 }, (_, i) => [i, { n: i }]));
    const Big = defineServer({ init: () => big, calls: { grow: (state) => state.set(-1, { n: -1 }).size } });
    const server = await system.start(Big);
    let turns = 0;
    let over = false;
    const other = system.spawn<number>({
      handle: (ctx) => {
        if (over) return;
        turns++;
        ctx.send(ctx.self, 0);
      },
    });
    const asked = inspect(system, server.pid).state<typeof big>();
    const grown = server.call.grow();
    system.send(other, 0);
    const seen = await asked;
    over = true;
    expect(seen.size).toBe(20_000);
    expect(seen.get(5)).toEqual({ n: 5 });
    expect(seen.get(5)).not.toBe(big.get(5));
    // 40,000 parts, 2,000 a turn, and the other process has its part of each turn.
    expect(turns).toBeGreaterThan(10);
    expect(await grown).toBe(20_001);
  });

  test("that is too large is refused, and `format` shows a part of it [I16]", async () => {
    await using system = new System();
    const big = new Map(Array.from({ length: 1_000_000 }, (_, i) => [i, "x"]));
    const { pid } = await system.start(defineServer({ init: () => big }));
    const inspector = inspect(system, pid);
    await expect(inspector.state()).rejects.toMatchObject({ code: "ERR_STATE_TOO_LARGE", maxParts: 100_000 });
    expect(await inspector.state({ format: (state) => (state as typeof big).size })).toBe(1_000_000);
    await expect(inspector.state({ maxParts: 0 })).rejects.toMatchObject({ code: "ERR_OPTION" });
  });

  test("is copied no further once the request has ended, and the process goes on [I16]", async () => {
    const clock = testClock();
    await using system = new System({ environment: clock.environment });
    let read = 0;
    const parts = Array.from({ length: 50_000 }, () => ({
      get n() {
        return ++read;
      },
    }));
    const server = await system.start(defineServer({ init: () => parts, calls: { ping: () => "pong" } }));
    const end = new AbortController();
    const asked = inspect(system, server.pid).state({ signal: end.signal });
    const refused = expect(asked).rejects.toThrow();
    await system.idle();
    const first = read;
    end.abort();
    await clock.advance(1);
    await refused;
    expect([first > 0, first < 2_000, read - first]).toEqual([true, true, 0]);
    expect(await server.call.ping()).toBe("pong");
  });

  test("of a supervisor is its strategy and its children", async () => {
    await using system = new System({ report: false });
    const Shop = supervisor({
      strategy: "rest_for_one",
      intensity: 3,
      periodMs: 60_000,
      children: [
        { id: "stock", start: Stock, args: [100] },
        { id: "clerk", start: () => never },
      ],
    });
    const shop = await system.start(Shop);
    const clerk = await shop.child("clerk");
    system.exit(clerk as Pid, "kill");
    await shop.countChildren();
    const state = await inspect(system, shop.pid).state();
    expect(state).toMatchObject({
      ...{ strategy: "rest_for_one", intensity: 3, periodMs: 60_000, restarts: 1, closing: undefined },
      children: [
        { id: "clerk", status: "running", type: "worker" },
        { id: "stock", status: "running", type: "worker" },
      ],
    });
  });

  test("of plain callbacks is the fields of their object, and of a body nothing", async () => {
    await using system = new System();
    class Counter {
      count = 0;
      handle(): void {
        this.count++;
      }
    }
    const counter = system.spawn(new Counter());
    system.send(counter, "one");
    expect(await inspect(system, counter).state()).toEqual({ count: 1 });
    const closure = system.spawn({ handle: () => undefined });
    expect(await inspect(system, closure).state()).toBeUndefined();
    const body = system.spawn(async (ctx) => {
      for (;;) await ctx.receive((message) => message === "never");
    });
    system.send(body, "other");
    expect(await inspect(system, body).state()).toBeUndefined();
    expect(system.info(body)?.mailboxDepth).toBe(1);
  });

  test("that cannot be formatted is an error of the request, and harms no process [I2]", async () => {
    await using system = new System();
    const bad = new TypeError("no such field");
    const Server = defineServer({
      init: () => ({ wrong: false }),
      calls: {
        spoil: (state, wrong: boolean) => {
          state.wrong = wrong;
        },
      },
      format: (state) => {
        if (state.wrong) throw bad;
        return state;
      },
    });
    const server = await system.start(Server);
    const inspector = inspect(system, server.pid);
    await server.call.spoil(true);
    const failed = inspector.state();
    await expect(failed).rejects.toThrow(FormatError);
    await expect(failed).rejects.toMatchObject({ code: "ERR_FORMAT", cause: bad });
    await server.call.spoil(false);
    expect(await inspector.state()).toEqual({ wrong: false });
    const again = inspector.state({
      format: () => {
        throw bad;
      },
    });
    await expect(again).rejects.toMatchObject({ code: "ERR_FORMAT", cause: bad });
    const trap = await system.start(
      defineServer({
        init: () => ({
          get left(): number {
            throw bad;
          },
        }),
      }),
    );
    await expect(inspect(system, trap.pid).state()).rejects.toMatchObject({ code: "ERR_FORMAT", cause: bad });
    expect(system.isAlive(trap.pid)).toBe(true);
  });
});

describe("a suspended process", () => {
  test("handles no messages until it is resumed, and then all of them in order [I3]", async () => {
    await using system = new System();
    const handled: string[] = [];
    const pid = system.spawn<string>({ handle: (_ctx, text) => void handled.push(text) });
    const inspector = inspect(system, pid);
    system.send(pid, "before");
    const suspension = await inspector.suspend();
    expect(handled).toEqual(["before"]);
    for (const text of ["1", "2", "3"]) system.send(pid, text);
    await system.idle();
    expect(handled).toEqual(["before"]);
    expect(system.info(pid)).toMatchObject({ status: "held", mailboxDepth: 3 });
    await suspension.resume();
    await system.idle();
    expect(handled).toEqual(["before", "1", "2", "3"]);
    expect(system.info(pid)?.status).toBe("waiting");
  });

  test("answers inspectors ahead of the messages that wait [I3]", async () => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    const inspector = inspect(system, stock.pid);
    const asked = [inspector.suspend(), stock.call.take(1), inspector.state(), inspector.suspend()] as const;
    expect(await asked[2]).toEqual({ left: 10 });
    await asked[3];
    stock.cast.restock(1);
    expect(await inspector.state()).toEqual({ left: 10 });
    await inspector.resume();
    expect(await asked[1]).toBe(9);
    expect(await inspector.state()).toEqual({ left: 10 });
  });

  test("that is a body gets no messages, and no timeouts of its receives, until it is resumed [I3]", async () => {
    const clock = testClock();
    await using system = new System({ environment: clock.environment });
    const got: unknown[] = [];
    const pid = system.spawn<string>(async (ctx) => {
      got.push(await ctx.receive());
      got.push(await ctx.receive({ timeoutMs: 10 }).catch((error: Error) => error.name));
      got.push(await ctx.receive());
    });
    const inspector = inspect(system, pid);
    await inspector.suspend();
    system.send(pid, "first");
    await system.idle();
    expect(got).toEqual([]);
    await inspector.resume();
    await inspector.suspend();
    expect(got).toEqual(["first"]);
    await clock.advance(10);
    expect(got).toEqual(["first"]);
    await inspector.resume();
    await system.idle();
    expect(got).toEqual(["first", "ReceiveTimeoutError"]);
    system.send(pid, "second");
    await system.idle();
    expect(got).toEqual(["first", "ReceiveTimeoutError", "second"]);
  });

  test("is stopped by its supervisor, after `terminate`, without a message in between [I4]", async () => {
    await using system = new System({ report: false });
    const log: string[] = [];
    const Server = defineServer({
      init: () => ({}),
      trapExit: true,
      casts: { note: (_state, text: string) => void log.push(text) },
      terminate: (_state, reason) => void log.push(reason.type),
    });
    const shop = await system.start(
      supervisor({ children: [{ id: "server", name: "server", start: Server, shutdown: 60_000 }] }),
    );
    const server = Server.at(system, "server");
    await inspect(system, "server").suspend();
    server.cast.note("late");
    await shop.terminateChild("server");
    expect(log).toEqual(["shutdown"]);
  });

  test("that is a supervisor stops its children in order when it has to stop [I4]", async () => {
    await using system = new System({ report: false });
    const log: string[] = [];
    const leaf = (id: string) => ({
      id,
      start: defineServer({ init: () => ({}), trapExit: true, terminate: () => void log.push(id) }),
    });
    const inner = supervisor({ name: "inner", children: [leaf("a"), leaf("b")] } as never);
    const shop = await system.start(supervisor({ children: [{ id: "inner", name: "inner", start: inner }] }));
    await inspect(system, "inner").suspend();
    await shop.terminateChild("inner");
    expect(log).toEqual(["b", "a"]);
  });

  test("that is a body which traps exits is resumed by the EXIT of its parent [I4]", async () => {
    await using system = new System();
    const body = system.spawn(
      async (ctx) => {
        const signal = await ctx.receiveSignal();
        return stop(signal.type === "exit" ? { type: "custom", value: "seen" } : "normal");
      },
      { trapExit: true },
    );
    await inspect(system, body).suspend();
    const exited = system.exited(body);
    system.exit(body, "shutdown");
    expect(await exited).toMatchObject({ type: "custom" });
  });

  test("is ended by a kill and by a link, and stops with the system [I4]", async () => {
    const system = new System({ report: false });
    const [one, two, three] = await Promise.all([
      system.start(Stock, 1),
      system.start(Stock, 1),
      system.start(Stock, 1),
    ]);
    for (const { pid } of [one, two, three]) await inspect(system, pid).suspend();
    system.exit(one.pid, "kill");
    expect(system.isAlive(one.pid)).toBe(false);
    const dies = system.spawn((ctx) => {
      ctx.link(two.pid);
      throw new Error("down");
    });
    await system.exited(dies);
    expect(system.isAlive(two.pid)).toBe(false);
    await system.stop();
    expect(system.isAlive(three.pid)).toBe(false);
  });

  test("lets the timeouts of its callers run, and never sees their calls [I5]", async () => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    const suspension = await inspect(system, stock.pid).suspend();
    await expect(stock.with({ timeoutMs: 0 }).call.take(3)).rejects.toThrow(CallTimeoutError);
    await suspension.resume();
    expect(await stock.call.take(0)).toBe(10);
  });

  test("is resumed when the suspension is disposed of, unless it has ended", async () => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    {
      await using _ = await inspect(system, stock.pid).suspend();
      expect(system.info(stock.pid)?.status).toBe("held");
    }
    expect(system.info(stock.pid)?.status).toBe("waiting");
    {
      await using _ = await inspect(system, stock.pid).suspend();
      system.exit(stock.pid, "kill");
    }
  });

  test("keeps the bound of its mailbox, which requests do not count toward", async () => {
    await using system = new System();
    const pid = system.spawn<number>(
      { handle: () => undefined },
      { mailbox: { capacity: 1, overflow: "reject" } },
    );
    const inspector = inspect(system, pid);
    await inspector.suspend();
    system.send(pid, 1);
    expect(() => system.send(pid, 2)).toThrow();
    await inspector.state();
    await inspector.resume();
    await system.idle();
    system.send(pid, 3);
  });
});

describe("a swap", () => {
  test("replaces the definition: calls that wait meet the new one, with the migrated state [I6]", async () => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    const inspector = inspect(system, stock.pid);
    const before = stock.call.take(1);
    const swapped = inspector.swap(Stock2, ({ left }) => ({ left, reserved: 7 }), { from: Stock });
    const after = stock.call.take(1);
    const unknown = stock.call.slow(Promise.resolve());
    expect(await before).toBe(9);
    await swapped;
    expect(await after).toBe("8 left");
    await expect(unknown).rejects.toThrow(UnknownRequestError);
    expect(await Stock2.at(system, stock.pid).call.reserve(1)).toBe(8);
    expect(await inspector.state()).toEqual({ left: 8, reserved: 8 });
  });

  test("may take time: no message is handled meanwhile [I6]", async () => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    const { open, opened } = gate();
    const swapped = inspect(system, stock.pid).swap(Stock2, async (old: StateOfDefinition<typeof Stock>) => {
      await opened;
      return { left: old.left, reserved: 0 };
    });
    const taken = stock.call.take(1);
    await system.idle();
    expect(system.info(stock.pid)).toMatchObject({ status: "suspended", mailboxDepth: 1 });
    open();
    await swapped;
    expect(await taken).toBe("9 left");
  });

  test("of a suspended server leaves it suspended [I6]", async () => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    const inspector = inspect(system, stock.pid);
    await inspector.suspend();
    const taken = stock.call.take(1);
    await inspector.swap(Stock2, async () => ({ left: 5, reserved: 0 }));
    await inspector.swap(Stock2, ({ left }) => ({ left: left * 2, reserved: 0 }), { from: Stock2 });
    expect(system.info(stock.pid)?.status).toBe("held");
    await inspector.resume();
    expect(await taken).toBe("9 left");
  });

  test.each([
    [
      "throws",
      () => {
        throw new RangeError("cannot");
      },
    ],
    [
      "rejects",
      async () => {
        throw new RangeError("cannot");
      },
    ],
  ])("whose migration %s leaves the old definition running [I7]", async (_how, migrate) => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    const swapped = inspect(system, stock.pid).swap(Stock2, migrate as () => never);
    const taken = stock.call.take(1);
    await expect(swapped).rejects.toThrow(SwapError);
    await expect(swapped).rejects.toMatchObject({ code: "ERR_SWAP", cause: new RangeError("cannot") });
    expect(await taken).toBe(9);
  });

  test("whose migration never ends is given up at the timeout, and the old definition goes on [I7]", async () => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    const { open, opened } = gate();
    const migrate = async () => {
      await opened;
      return { left: 0, reserved: 0 };
    };
    await expect(inspect(system, stock.pid).swap(Stock2, migrate, { timeoutMs: 0 })).rejects.toThrow(
      CallTimeoutError,
    );
    expect(await stock.call.take(1)).toBe(9);
    open();
    await system.idle();
    expect(await stock.call.take(1)).toBe(8);
  });

  test("is refused by what runs no definition, another kind, or another definition [I7]", async () => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    const body = system.spawn(async (ctx) => void (await ctx.receive()));
    const plain = system.spawn({ handle: () => undefined });
    const shop = await system.start(supervisor({}));
    const make = () => ({ left: 1, reserved: 0 });
    for (const pid of [body, plain, shop.pid]) {
      const swapped = inspect(system, pid).swap(Stock2, make);
      await expect(swapped).rejects.toThrow(NotSwappableError);
      await expect(swapped).rejects.toMatchObject({ code: "ERR_NOT_SWAPPABLE" });
      expect(system.isAlive(pid)).toBe(true);
    }
    const other = inspect(system, stock.pid).swap(Stock2, make, { from: Stock2 });
    await expect(other).rejects.toThrow(NotSwappableError);
    expect(await stock.call.take(1)).toBe(9);
  });

  test("to something that is no definition of a server is refused at the call [I7]", async () => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    const inspector = inspect(system, stock.pid);
    const make = () => ({});
    for (const wrong of [undefined, null, {}, supervisor({}), Stock.at(system, stock.pid)])
      await expect(inspector.swap(wrong as never, make)).rejects.toMatchObject({
        code: "ERR_OPTION",
        path: "definition",
      });
    await expect(inspector.swap(Stock2, 1 as never)).rejects.toMatchObject({ path: "migrate" });
    await expect(inspector.swap(Stock2, make as never, { from: {} as never })).rejects.toMatchObject({
      path: "from",
    });
  });

  test("swaps `terminate` too", async () => {
    await using system = new System();
    const log: string[] = [];
    const stock = await system.start(Stock, 10);
    const Last = defineServer({ init: () => ({ n: 1 }), terminate: ({ n }) => void log.push(`end ${n}`) });
    await inspect(system, stock.pid).swap(Last, () => ({ n: 2 }));
    stock.stop();
    await system.exited(stock.pid);
    expect(log).toEqual(["end 2"]);
  });

  test("checks the type of the migrated state", () => {
    const compiles = (system: System, pid: Pid): unknown => [
      inspect(system, pid).swap(Stock2, (old: { left: number }) => ({ left: old.left, reserved: 0 })),
      // @ts-expect-error: the new state needs `reserved`.
      inspect(system, pid).swap(Stock2, (old: { left: number }) => ({ left: old.left })),
      // @ts-expect-error: the old state has no `right`.
      inspect(system, pid).swap(Stock2, ({ right }) => ({ left: right, reserved: 0 }), { from: Stock }),
    ];
    expectTypeOf(compiles).toBeFunction();
    expectTypeOf<StateOfDefinition<typeof Stock2>>().toEqualTypeOf<{ left: number; reserved: number }>();
  });
});

describe("a request", () => {
  test("to no process, or to one of another node, is refused [I8]", async () => {
    await using system = new System({ name: "here" });
    await using other = new System({ name: "there" });
    const stock = await other.start(Stock, 1);
    const gone = system.spawn(() => undefined);
    await system.exited(gone);
    for (const to of [gone, "nobody"]) {
      const inspector = inspect(system, to);
      await expect(inspector.state()).rejects.toThrow(NoProcessError);
      await expect(inspector.suspend()).rejects.toThrow(NoProcessError);
      expect(() => inspector.trace()).toThrow(NoProcessError);
    }
    await expect(inspect(system, stock.pid).state()).rejects.toThrow(OtherNodeError);
    await expect(inspect(system, stock.pid).state()).rejects.toMatchObject({
      code: "ERR_OTHER_NODE",
      pid: stock.pid,
    });
    expect(() => inspect(system, stock.pid).trace()).toThrow(OtherNodeError);
  });

  test("of a process about itself is refused, since it would wait for itself [I8]", async () => {
    await using system = new System();
    const errors: unknown[] = [];
    const pid = system.spawn<{ by: "handler" | "from" }>({
      handle: async (ctx, { by }) => {
        const inspector = inspect(system, ctx.self, by === "from" ? { from: ctx } : {});
        await inspector.state().catch((error: unknown) => errors.push(error));
        await inspector.suspend().catch((error: unknown) => errors.push(error));
      },
    });
    system.send(pid, { by: "handler" });
    system.send(pid, { by: "from" });
    await inspect(system, pid).state();
    expect(errors.map((error) => error instanceof InspectSelfError)).toEqual([true, true, true, true]);
    expect(errors[0]).toMatchObject({ code: "ERR_INSPECT_SELF" });
  });

  test("ends by its timeout, its signal, the exit of the process or of its owner, and then has no effect [I9]", async () => {
    await using system = new System({ report: false });
    const stock = await system.start(Stock, 10);
    const inspector = inspect(system, stock.pid);
    const { open, opened } = gate();
    const slow = stock.call.slow(opened);
    const controller = new AbortController();
    await expect(inspector.suspend({ timeoutMs: 0 })).rejects.toThrow(CallTimeoutError);
    const aborted = inspector.suspend({ signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(aborted).rejects.toThrow("enough");
    let failed: Promise<unknown> = never;
    const owner = system.spawn((ctx) => {
      failed = inspect(system, stock.pid, { from: ctx }).suspend();
      failed.catch(() => undefined);
      return never;
    });
    await system.idle();
    system.exit(owner, "kill");
    await expect(failed).rejects.toMatchObject({ code: "ERR_PROCESS_EXITED" });
    open();
    await slow;
    expect(await stock.call.take(1)).toBe(9);
    const last = stock.call.slow(never);
    const ended = inspector.state();
    system.exit(stock.pid, "kill");
    await expect(ended).rejects.toThrow(CalleeExitedError);
    await expect(last).rejects.toThrow(CalleeExitedError);
  });

  test("with wrong options is refused with the name of the option", async () => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    const inspector = inspect(system, stock.pid);
    await expect(inspector.state({ timeout: 1 } as never)).rejects.toMatchObject({
      code: "ERR_OPTION",
      path: "timeout",
    });
    await expect(inspector.state({ timeoutMs: -1 })).rejects.toMatchObject({ path: "timeoutMs" });
    expect(() => inspect(system, 7 as never)).toThrow(OptionError);
    expect(() => inspect(system, "stock", { form: 1 } as never)).toThrow(OptionError);
    expect(() => inspector.trace({ capacity: 0 })).toThrow(OptionError);
  });
});
