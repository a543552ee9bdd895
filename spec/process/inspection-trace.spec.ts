// Traces of one process.

import {
  type Context,
  defineServer,
  inspect,
  type ReplyTo,
  System,
  stop,
  type Trace,
  type TraceEvent,
} from "signalbox";
import { describe, expect, test, vi } from "vitest";

const Stock = defineServer({
  init: (_ctx, left: number) => ({ left }),
  calls: {
    take: (state, n: number) => {
      state.left -= n;
      return state.left;
    },
    look: (state) => state.left,
    slow: async (state, gate: Promise<void>) => {
      await gate;
      return state.left;
    },
  },
  casts: {
    restock: (state, n: number) => {
      state.left += n;
    },
    close: () => stop("shutdown"),
  },
});

/** An event without its time. */
function bare(event: TraceEvent): object {
  return Object.fromEntries(Object.entries(event).filter(([key]) => key !== "atMs"));
}

async function all(trace: Trace): Promise<object[]> {
  const events: object[] = [];
  for await (const event of trace) events.push(bare(event));
  return events;
}

describe("a trace", () => {
  test("shows calls with their replies, casts, changes of the state and the exit, in order [I10]", async () => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    const trace = inspect(system, stock.pid).trace();
    await stock.call.take(3);
    await stock.call.look();
    stock.cast.restock(1);
    stock.cast.close();
    expect(await all(trace)).toEqual([
      { type: "call", call: 1, method: "take", args: [3] },
      { type: "reply", call: 1, ok: true, value: 7 },
      { type: "state", state: { left: 7 } },
      { type: "call", call: 2, method: "look", args: [] },
      { type: "reply", call: 2, ok: true, value: 7 },
      { type: "cast", method: "restock", args: [1] },
      { type: "state", state: { left: 8 } },
      { type: "cast", method: "close", args: [] },
      { type: "exit", reason: { type: "shutdown" } },
    ]);
  });

  test("shows messages, calls and signals of plain callbacks and of bodies [I10]", async () => {
    await using system = new System({ report: false });
    type Ask = { readonly replyTo: ReplyTo<number> } | "note";
    const callbacks = {
      handle: (ctx: Context<Ask>, message: Ask) => {
        if (message !== "note") ctx.reply(message.replyTo, 1);
      },
      signal: () => undefined,
    };
    const body = async (ctx: Context<Ask>) => {
      for (;;) {
        const item = await (ctx as unknown as { receiveAny(): Promise<Ask> }).receiveAny();
        if (typeof item === "object" && "replyTo" in item) ctx.reply(item.replyTo, 1);
      }
    };
    for (const behaviour of [callbacks, body]) {
      const pid = system.spawn<Ask>(behaviour as typeof callbacks);
      await system.idle();
      const trace = inspect(system, pid).trace();
      system.send(pid, "note");
      let asked: unknown;
      await system.call(pid, (replyTo: ReplyTo<number>) => {
        asked = { replyTo };
        return { replyTo };
      });
      system.exit(pid, "kill");
      expect(await all(trace)).toEqual([
        { type: "message", message: "note" },
        { type: "call", call: 1, method: undefined, args: [asked] },
        { type: "reply", call: 1, ok: true, value: 1 },
        { type: "exit", reason: { type: "killed" } },
      ]);
    }
  });

  test("shows signals, and the ends of calls without an answer [I10]", async () => {
    await using system = new System({ report: false });
    const pid = system.spawn<{ readonly replyTo: ReplyTo<number> }>({
      init: (ctx) => void ctx.monitorGroup("clerks"),
      handle: () => undefined,
      signal: () => undefined,
    });
    await system.idle();
    const trace = inspect(system, pid).trace();
    const clerk = system.spawn((ctx) => {
      ctx.join("clerks");
    });
    await system.exited(clerk);
    const call = system.call(pid, (replyTo: ReplyTo<number>) => ({ replyTo }), { timeoutMs: 0 });
    await expect(call).rejects.toMatchObject({ code: "ERR_CALL_TIMEOUT" });
    system.exit(pid, "kill");
    expect(await all(trace)).toMatchObject([
      { type: "signal", signal: { type: "group", change: "join" } },
      { type: "signal", signal: { type: "group", change: "leave" } },
      { type: "call", call: 1 },
      { type: "reply", call: 1, ok: false, value: { code: "ERR_CALL_TIMEOUT" } },
      { type: "exit" },
    ]);
  });

  test("that begins within a call shows its reply, and the state after an asynchronous handler [I10]", async () => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    let open: () => void = () => undefined;
    const slow = stock.call.slow(
      new Promise<void>((resolve) => {
        open = resolve;
      }),
    );
    await system.idle();
    const seen: object[] = [];
    await using _ = inspect(system, stock.pid).trace((event) => void seen.push(bare(event)));
    open();
    await slow;
    await stock.call.take(1);
    expect(seen).toEqual([
      { type: "reply", call: 1, ok: true, value: 10 },
      { type: "call", call: 2, method: "take", args: [1] },
      { type: "reply", call: 2, ok: true, value: 9 },
      { type: "state", state: { left: 9 } },
    ]);
  });

  test("shows states as the definition formats them, and goes on when it cannot [I10]", async () => {
    await using system = new System();
    const Safe = defineServer({
      init: () => ({ user: "ada", password: "hidden" }),
      casts: {
        rename: (state, user: string) => {
          state.user = user;
        },
      },
      format: ({ user }) => {
        if (user === "") throw new TypeError("no user");
        return { user };
      },
    });
    const safe = await system.start(Safe);
    const seen: object[] = [];
    await using _ = inspect(system, safe.pid).trace((event) => void seen.push(bare(event)));
    for (const name of ["bob", "", "cid"]) safe.cast.rename(name);
    await system.idle();
    expect(seen).toMatchObject([
      { type: "cast" },
      { type: "state", state: { user: "bob" } },
      { type: "cast" },
      { type: "format", error: { code: "ERR_FORMAT" } },
      { type: "cast" },
      { type: "state", state: { user: "cid" } },
    ]);
    expect(JSON.stringify(seen)).not.toContain("hidden");
  });

  test("shows the state after a swap, and the handlers of the new definition [I10]", async () => {
    await using system = new System();
    const stock = await system.start(Stock, 10);
    const seen: object[] = [];
    const inspector = inspect(system, stock.pid);
    await using _ = inspector.trace((event) => void seen.push(bare(event)));
    await inspector.swap(Stock, ({ left }) => ({ left: left + 1 }), { from: Stock });
    stock.cast.restock(1);
    await system.idle();
    expect(seen).toEqual([
      { type: "state", state: { left: 11 } },
      { type: "cast", method: "restock", args: [1] },
      { type: "state", state: { left: 12 } },
    ]);
  });

  test("without states copies none", async () => {
    await using system = new System();
    const format = vi.fn((state: { n: number }) => state);
    const Server = defineServer({
      init: () => ({ n: 0 }),
      casts: {
        add: (state) => {
          state.n++;
        },
      },
      format,
    });
    const server = await system.start(Server);
    const seen: object[] = [];
    await using _ = inspect(system, server.pid).trace((event) => void seen.push(bare(event)), {
      state: false,
    });
    server.cast.add();
    await system.idle();
    expect(seen).toEqual([{ type: "cast", method: "add", args: [] }]);
    expect(format).not.toHaveBeenCalled();
  });
});

describe("the buffer of a trace", () => {
  test("drops the oldest events when it is full, and says how many [I11]", async () => {
    await using system = new System();
    const pid = system.spawn<number>({ handle: () => undefined });
    await using trace = inspect(system, pid).trace({ capacity: 2 });
    for (let n = 1; n <= 5; n++) system.send(pid, n);
    await system.idle();
    const read = async (): Promise<unknown> => bare((await trace.next()).value as TraceEvent);
    expect([await read(), await read(), await read()]).toEqual([
      { type: "dropped", count: 3 },
      { type: "message", message: 4 },
      { type: "message", message: 5 },
    ]);
    const next = read();
    system.send(pid, 6);
    expect(await next).toEqual({ type: "message", message: 6 });
  });
});

describe("the end of a trace", () => {
  test("comes by its signal, its disposal, or leaving the loop, and the process is as before [I12]", async () => {
    await using system = new System();
    const pid = system.spawn<number>({ handle: () => undefined });
    const { process } = pid;
    const before = [process?.handle, process?.behaviour];
    const controller = new AbortController();
    const aborted = inspect(system, pid).trace({ signal: controller.signal });
    const waiting = aborted.next();
    const disposed = inspect(system, pid).trace();
    expect(process?.handle).not.toBe(before[0]);
    controller.abort();
    expect(await waiting).toEqual({ done: true, value: undefined });
    await disposed[Symbol.asyncDispose]();
    expect([process?.handle, process?.behaviour]).toEqual(before);
    const left = inspect(system, pid).trace();
    system.send(pid, 1);
    for await (const event of left) {
      expect(bare(event)).toEqual({ type: "message", message: 1 });
      break;
    }
    expect([process?.handle, process?.behaviour]).toEqual(before);
    expect(await left.next()).toEqual({ done: true, value: undefined });
    const never = inspect(system, pid).trace({ signal: AbortSignal.abort() });
    expect(await never.next()).toEqual({ done: true, value: undefined });
    expect([process?.handle, process?.behaviour]).toEqual(before);
  });

  test("of one of two traces leaves the other [I12]", async () => {
    await using system = new System();
    const pid = system.spawn<number>({ handle: () => undefined });
    const [one, two] = [[] as object[], [] as object[]];
    const first = inspect(system, pid).trace((event) => void one.push(bare(event)));
    await using _ = inspect(system, pid).trace((event) => void two.push(bare(event)));
    system.send(pid, 1);
    await system.idle();
    await first[Symbol.asyncDispose]();
    system.send(pid, 2);
    await system.idle();
    expect([one.length, two.length]).toEqual([1, 2]);
  });

  test("does not come by a listener that throws: its error is reported once [I12]", async () => {
    const errors: unknown[] = [];
    await using system = new System({ report: (_text, { error }) => void errors.push(error) });
    const pid = system.spawn<number>({ handle: () => undefined });
    const bad = new Error("listener");
    await using _ = inspect(system, pid).trace(() => {
      throw bad;
    });
    system.send(pid, 1);
    system.send(pid, 2);
    await system.idle();
    expect(errors).toEqual([bad]);
    expect(system.isAlive(pid)).toBe(true);
  });

  test("of the process is still a crash that is reported", async () => {
    const reports: string[] = [];
    await using system = new System({ report: (text) => void reports.push(text) });
    const pid = system.spawn<number>({
      handle: () => {
        throw new Error("down");
      },
    });
    const trace = inspect(system, pid).trace();
    system.send(pid, 1);
    expect(await all(trace)).toMatchObject([
      { type: "message" },
      { type: "exit", reason: { type: "crash" } },
    ]);
    expect(reports).toHaveLength(1);
  });
});
