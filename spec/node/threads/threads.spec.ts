// Threads as nodes, on real threads. Tests wait for exits, calls and signals, never for a time.

import { ConsumerGroup, consumer, type Pid, supervisor } from "signalbox";
import type { Threads } from "signalbox/nodes";
import { WorkerFileError } from "signalbox/service";
import { describe, expect, it, vi } from "vitest";
import { PortCarrier } from "../../../lib/node/threads/port-carrier.js";
import { macrotask } from "../../support/host.js";
import { seen, until } from "../../support/until.js";
import { Counter, ENDED, GATE, IS_SLOW, IS_WAITING, type Order } from "./programs/workshop.js";
import { workshop } from "./support.js";

const shop = workshop("threads");
const SENT = 10_000;
const sendFrame = PortCarrier.prototype.send;

/** A supervisor with one child in a thread, registered as `hand`. */
async function supervised(workers: Threads): Promise<void> {
  await shop.system.start(
    supervisor({ intensity: 5, children: [{ id: "hand", name: "hand", start: workers.on("hand") }] }),
  );
}

/** Has the supervised hand do something that ends its thread; resolves with the exit reason of the hand and its next thread. */
async function lost(order: Order): Promise<{ reason: unknown; before: number; after: number }> {
  const { system } = shop;
  const before = await shop.where("hand");
  const hand = system.whereis("hand") as Pid<unknown>;
  system.send(hand, order);
  const reason = await system.exited(hand);
  await until(() => system.whereis("hand") !== undefined);
  return { reason, before, after: await shop.where("hand") };
}

describe("processes of several threads", () => {
  it("are started, called, cast and monitored as within one [N1090]", async () => {
    const workers = await shop.open();
    const { system } = shop;
    const counter = Counter.at(system, await workers.start("counter", 5));
    expect([await counter.call.next(), await counter.call.next()]).toEqual([5, 6]);
    counter.cast.add(10);
    expect(await counter.call.next()).toBe(17);
    await expect(counter.call.fail()).rejects.toMatchObject({
      code: "ERR_CALLEE_EXITED",
      cause: { name: "RangeError", message: "no more numbers" },
    });
    await expect(workers.start("broken")).rejects.toThrow("it does not start");
    await expect(workers.start("nothing")).rejects.toMatchObject({ code: "ERR_UNKNOWN_PROGRAM" });
  });

  it("reach each other directly, whichever threads they are in [N1091]", async () => {
    const workers = await shop.open({ size: 3, placement: "turns" });
    const hands = [await workers.start("hand"), await workers.start("hand"), await workers.start("hand")];
    const places = await Promise.all(hands.map((hand) => shop.where(hand)));
    expect(new Set(places).size).toBe(3);
    const got = new Promise((resolve) => {
      const here = shop.system.spawn<unknown>({ handle: (_ctx, message) => resolve(message) });
      let order: unknown = "passed on";
      for (const to of [here, ...hands]) order = { type: "forward", to, message: order };
      shop.system.send(hands[0] as Pid<unknown>, order);
    });
    expect(await got).toBe("passed on");
  });

  it("of two calls of threads are joined as those of one are [N1217]", async () => {
    const [some, more] = [await shop.open({ size: 1 }), await shop.open({ size: 1 })];
    const hands = [await some.start("hand"), await more.start("hand")] as const;
    const { system } = shop;
    system.send(hands[0], { type: "link", to: hands[1] });
    await shop.where(hands[0]);
    const ended = system.exited(hands[1]);
    system.send(hands[0], { type: "exit", code: 1 });
    expect(await ended).toEqual({ type: "noconnection" });
    await some.stop();
    expect(await shop.where(await more.start("hand"))).toBeGreaterThan(0);
  });

  it("that are linked end each other, and their crash keeps its error [N1092]", async () => {
    const workers = await shop.open({ placement: "turns" });
    const [one, two] = [await workers.start("hand"), await workers.start("hand")];
    const { system } = shop;
    system.send(one, { type: "link", to: two });
    await shop.where(one);
    const ends = Promise.all([system.exited(one), system.exited(two)]);
    // The exit of the first may be faster than the monitor from here, unless that is known to be there.
    await shop.where(two);
    system.send(one, { type: "fail" });
    expect(await ends).toMatchObject(Array(2).fill({ type: "crash", error: { message: "the hand fails" } }));
  });
});

describe("a dispatch", () => {
  it("whose consumer works in a thread that ends is re-routed to one that works in another [N1103]", async () => {
    const workers = await shop.open({ placement: "turns" });
    const { system } = shop;
    const group = new ConsumerGroup<string, number>({ name: "hands" });
    const hands = ["one", "two"];
    const children = hands.map((name) => ({ id: name, name, start: workers.on("hand") }));
    await system.start(supervisor({ intensity: 5, children }));
    const places = await Promise.all(hands.map((name) => shop.where(name)));
    expect(new Set(places).size).toBe(2);
    for (const name of hands) {
      const work = async (breaks: string) => {
        if (breaks === name) system.send(name, { type: "exit", code: 1 });
        return shop.where(name);
      };
      await system.start(supervisor({ children: [{ id: name, start: consumer(work, { group }) }] }));
    }
    const { reply, reroutedFrom } = await system.dispatch(group, "one", { maxAttempts: 2 });
    expect([reply, reroutedFrom.length]).toEqual([places[1], 1]);
  });
});

describe("a thread", () => {
  it("that hangs is ended, and its children start in another one [N1093]", async () => {
    await supervised(await shop.open({ hungMs: 200 }));
    const { reason, before, after } = await lost({ type: "loop" });
    expect(reason).toEqual({ type: "noconnection" });
    expect(after).not.toBe(before);
    expect(shop.ends).toMatchObject([{ type: "crash", error: { code: "ERR_THREAD_HUNG" } }]);
  });

  it.each([
    ["exits", { type: "exit", code: 3 }, { code: "ERR_WORKER_EXITED", exitCode: 3 }],
    ["leaves an error uncaught", { type: "uncaught" }, { cause: { message: "nobody catches it" } }],
  ] as const)("that %s gives noconnection once, and is started again [N1094]", async (_how, order, error) => {
    const workers = await shop.open();
    await supervised(workers);
    const { reason } = await lost(order);
    expect(reason).toEqual({ type: "noconnection" });
    await until(() => workers.nodes().length === 2);
    expect(shop.ends).toMatchObject([{ type: "crash", error }]);
  });

  it("39: has no more in its port than its credit while it does not read, and what is refused is counted [N1102]", async () => {
    const board = new Int32Array(new SharedArrayBuffer(16));
    const limits = { windowSize: 100_000, queueBytes: 1_000_000 };
    const workers = await shop.open({
      size: 1,
      hungMs: Number.POSITIVE_INFINITY,
      data: board,
      sessions: limits,
    });
    const { system } = shop;
    const counter = Counter.at(system, await workers.start("counter", 0));
    system.send(await workers.start("hand"), { type: "gate" });
    await until(() => Atomics.load(board, IS_WAITING) === 1);
    let size = 0;
    const send = vi.spyOn(PortCarrier.prototype, "send").mockImplementation(function (
      this: PortCarrier,
      to,
      frame,
    ) {
      size += frame.length;
      return sendFrame.call(this, to, frame);
    });
    const before = system.deadLetters;
    for (let i = 0; i < SENT; i++) {
      counter.cast.note("x".repeat(1_000));
      if (i % 100 === 0) await macrotask();
    }
    expect(size).toBeGreaterThan(0);
    expect(size).toBeLessThan(2 * limits.windowSize);
    expect(system.deadLetters).toBeGreaterThan(before);
    send.mockRestore();
    const refused = system.deadLetters - before;
    Atomics.store(board, GATE, 1);
    Atomics.notify(board, GATE);
    // A call is refused, too, until there is room again.
    expect(await seen(() => counter.call.notes().catch(() => undefined))).toBe(SENT - refused);
  });

  it("that fails too often ends all threads [N1095]", async () => {
    const workers = await shop.open({ intensity: 0 });
    const { system } = shop;
    const hand = await workers.start("hand");
    system.send(hand, { type: "exit", code: 1 });
    expect(await system.exited(workers.pid)).toMatchObject({ type: "shutdown" });
    await expect(workers.start("hand")).rejects.toMatchObject({ code: "ERR_NO_NODE" });
  });

  it("that does not start fails the start, and says why [N1096]", async () => {
    const code = (text: string) => `data:text/javascript,${encodeURIComponent(text)}`;
    const failure = async (options: object) => {
      const error = await shop.open({ size: 1, ...options }).catch((error: unknown) => error);
      expect(error).toBeInstanceOf(WorkerFileError);
      return (error as Error).message;
    };
    expect(await failure({ program: code("throw new Error('it throws')") })).toContain("it throws");
    expect(await failure({ program: code("export default 1") })).toContain("threadProgram");
    expect(await failure({ program: "file:///nowhere.js" })).toContain("nowhere.js");
    expect(await failure({ data: "refuse" })).toContain("the data is refused");
    expect(await failure({ program: code("for (;;);"), startTimeoutMs: 20 })).toContain("within 20 ms");
    // A failed start leaves the system as it was.
    const workers = await shop.open();
    expect(workers.nodes()).toHaveLength(2);
  });
});

describe("the stop", () => {
  it("ends what runs in the threads in order [N1097]", async () => {
    const board = new Int32Array(new SharedArrayBuffer(8));
    const workers = await shop.open({ data: board });
    for (let i = 0; i < 4; i++) await workers.start("tidy");
    await shop.system.stop();
    expect(board[ENDED]).toBe(4);
    expect(shop.ends).toEqual(Array(2).fill({ type: "shutdown" }));
  });

  it("ends a thread that does not stop in time [N1097]", async () => {
    const board = new Int32Array(new SharedArrayBuffer(8));
    const workers = await shop.open({ data: board, stopTimeoutMs: 50 });
    await workers.start("tidy");
    board[IS_SLOW] = 1;
    await workers.stop();
    expect(board[ENDED]).toBe(0);
    expect(workers.nodes()).toEqual([]);
  });
});
