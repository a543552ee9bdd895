// Calls between two systems: whatever happens to the other node, each ends once, and nothing is kept of it.

import {
  CalleeExitedError,
  CallTimeoutError,
  custom,
  type DiscardedReply,
  DoubleReplyError,
  defineServer,
  LateReplyError,
  MailboxFullError,
  NOCONNECTION,
  NOPROC,
  type Pid,
  type ReplyTo,
  remoteNodes,
  System,
  SystemStoppedError,
} from "signalbox";
import { beforeEach, describe, expect, test } from "vitest";
import type { Remote } from "../../lib/process/remote.js";
import { type Order, type Puppet, puppet } from "../support/puppet.js";
import { Wire } from "../support/wire.js";

const boom = custom("boom");
const FOREVER = { timeoutMs: Number.POSITIVE_INFINITY };

interface Question {
  readonly n: number;
  readonly replyTo: ReplyTo<number>;
}

const ask = (n: number) => (replyTo: ReplyTo<number>) => ({ n, replyTo });

/** The open calls of a system: those that it made to other nodes, and those of other nodes. */
function tablesOf(system: System): [open: number, answering: number] {
  const { calls } = system.kernel.remote as Remote;
  return [calls.open, calls.answering];
}

let wire: Wire;
let here: System;
let there: System;

function connect(copies: boolean): void {
  wire = new Wire({ copies });
  here = wire.join("here");
  there = wire.join("there");
}

async function disconnect(): Promise<void> {
  await wire.settle();
  expect([tablesOf(here), tablesOf(there)]).toEqual([
    [0, 0],
    [0, 0],
  ]);
  await here.stop();
  await there.stop();
}

const known = <M>(pid: Pid<M>): Pid<M> => here.pidAt(there.address(pid)) as Pid<M>;

describe.each([
  ["by reference", false],
  ["as copies", true],
])("a call to another node, with signals that arrive %s", (_, copies) => {
  let double: Pid<Question>;

  beforeEach(() => {
    connect(copies);
    const pid = there.spawn<Question>({
      handle: (ctx, { n, replyTo }) => {
        if (n === 0) ctx.exit(boom);
        if (n > 0) ctx.reply(replyTo, n * 2);
      },
    });
    double = known(pid);
    return disconnect;
  });

  test("brings the reply, and starts no process for it [N951]", async () => {
    const near = puppet(here);
    await here.idle();
    let spawned = 0;
    for (const system of [here, there]) system.events.on("spawn", () => void spawned++);
    expect(await here.call(double, ask(21))).toBe(42);
    expect(await near.do((ctx) => ctx.call(double, ask(4)))).toBe(8);
    const replies: unknown[] = [];
    await near.do((ctx) => ctx.ask(double, ask(5), (reply) => void replies.push(reply)));
    await wire.settle();
    expect(replies).toEqual([{ ok: true, value: 10 }]);
    expect(spawned).toBe(0);
  });

  test("ends with the callee's reason when the request crashes the callee [N951]", async () => {
    const error = await here.call(double, ask(0)).catch((caught) => caught);
    expect(error).toBeInstanceOf(CalleeExitedError);
    expect(error).toMatchObject({ reason: boom, request: "taken" });
  });

  test("ends with `noproc` when the process does not exist [N951]", async () => {
    await here.call(double, ask(0)).catch(() => undefined);
    const error = await here.call(double, ask(1)).catch((caught) => caught);
    expect(error).toBeInstanceOf(CalleeExitedError);
    expect(error).toMatchObject({ reason: NOPROC, request: "withdrawn" });
  });

  test("ends with `noconnection` when the node is out of reach, or goes out of reach [N951]", async () => {
    const waiting = here.call(double, ask(-1), FOREVER).catch((error) => error);
    await wire.settle();
    wire.cut = true;
    here.nodeDown(there.node.id);
    expect(await waiting).toMatchObject({ reason: NOCONNECTION, request: "kept" });
    await expect(here.call(double, ask(1))).rejects.toMatchObject({ reason: NOCONNECTION });
    expect(here.deadLetters).toBe(1);
    // The other node hears of the loss, too.
    expect(tablesOf(there)).toEqual([0, 1]);
    there.nodeDown(here.node.id);
  });

  test("ends when the caller's system stops [N951]", async () => {
    const waiting = here.call(double, ask(-1), FOREVER).catch((error) => error);
    await wire.settle();
    await here.stop();
    expect(await waiting).toBeInstanceOf(SystemStoppedError);
  });

  test("ends when the callee's system stops [N951]", async () => {
    const waiting = here.call(double, ask(-1), FOREVER).catch((error) => error);
    await wire.settle();
    await there.stop();
    expect(await waiting).toMatchObject({ reason: { type: "shutdown" }, request: "taken" });
  });

  test("ends with the callee that is killed, and says whether it had taken the request [N951]", async () => {
    const busy = there.spawn<Question>({ handle: () => new Promise(() => undefined) });
    const calls = [1, 2].map((n) => here.call(known(busy), ask(n), FOREVER).catch((error) => error));
    await wire.settle();
    expect(tablesOf(there)).toEqual([0, 2]);
    there.exit(busy, "kill");
    const [taken, queued] = await Promise.all(calls);
    expect(taken).toMatchObject({ reason: { type: "killed" }, request: "taken" });
    expect(queued).toMatchObject({ reason: { type: "killed" }, request: "withdrawn" });
  });

  test("ends at once with MailboxFullError when the mailbox has no room [N951]", async () => {
    const busy = { init: () => new Promise(() => undefined), handle: () => undefined };
    for (const overflow of ["reject", "drop-newest", "drop-oldest"] as const) {
      const full = there.spawn<Question>(busy, { mailbox: { capacity: 1, overflow } });
      const [first, second] = [1, 2].map((n) => here.call(known(full), ask(n), FOREVER));
      const kept = overflow === "drop-oldest" ? second : first;
      await expect(overflow === "drop-oldest" ? first : second).rejects.toBeInstanceOf(MailboxFullError);
      const ended = expect(kept).rejects.toBeInstanceOf(CalleeExitedError);
      there.exit(full, "kill");
      await ended;
    }
  });

  test("ends by its timeout, and the request that waits is withdrawn [N952]", async () => {
    const busy = there.spawn<Question>({ handle: () => new Promise(() => undefined) });
    const first = here.call(known(busy), ask(1), FOREVER).catch(() => undefined);
    await wire.settle();
    await expect(here.call(known(busy), ask(2), { timeoutMs: 1 })).rejects.toBeInstanceOf(CallTimeoutError);
    await wire.settle();
    expect(there.info(busy)?.mailboxDepth).toBe(0);
    expect([wire.count("cancel"), tablesOf(there)]).toEqual([1, [0, 1]]);
    there.exit(busy, "kill");
    await first;
  });

  test("is withdrawn by an AbortSignal, and by the exit of the caller [N952]", async () => {
    const busy = there.spawn<Question>({ handle: () => new Promise(() => undefined) });
    const near = puppet(here);
    const abort = new AbortController();
    const first = here.call(known(busy), ask(1), FOREVER).catch(() => undefined);
    const aborted = here
      .call(known(busy), ask(2), { ...FOREVER, signal: abort.signal })
      .catch((error) => error);
    void near.do((ctx) => void ctx.call(known(busy), ask(3), FOREVER).catch(() => undefined));
    await wire.settle();
    expect(there.info(busy)?.mailboxDepth).toBe(2);
    abort.abort(new RangeError("enough"));
    here.exit(near.pid, "kill");
    expect(await aborted).toEqual(new RangeError("enough"));
    await wire.settle();
    expect(there.info(busy)?.mailboxDepth).toBe(0);
    expect(tablesOf(there)).toEqual([0, 1]);
    there.exit(busy, "kill");
    await first;
  });

  test("with `withdraw: false` is handled although its wait has ended [N952]", async () => {
    let handled = 0;
    let letIn: () => void = () => undefined;
    const slow = there.spawn<Question>({
      init: () =>
        new Promise<void>((resolve) => {
          letIn = resolve;
        }),
      handle: (ctx, { n, replyTo }) => {
        handled++;
        ctx.reply(replyTo, n);
      },
    });
    const call = here.call(known(slow), ask(1), { timeoutMs: 1, withdraw: false });
    await expect(call).rejects.toMatchObject({ request: "kept" });
    letIn();
    await wire.settle();
    expect([handled, wire.count("cancel")]).toEqual([1, 0]);
    expect(here.events.discardedReplies).toBe(1);
  });

  test("of a server shows the caller's pid, and is answered once [N951]", async () => {
    const callers: (Pid | undefined)[] = [];
    const Stock = defineServer({
      init: () => ({ left: 10 }),
      calls: {
        take(state, n: number): number {
          callers.push(this.caller.pid);
          state.left -= n;
          return state.left;
        },
      },
    });
    const server = await there.start(Stock);
    const near = puppet(here);
    const stock = Stock.at(here, known(server.pid as Pid<unknown>));
    expect(await near.do((ctx) => stock.with({ from: ctx }).call.take(3))).toBe(7);
    expect(await stock.call.take(1)).toBe(6);
    const nearThere = there.pidAt(here.address(near.pid));
    expect(callers.map((pid) => copies && pid)).toEqual(copies ? [nearThere, undefined] : [false, false]);
  });
});

describe("a call to another node, with signals that arrive as copies,", () => {
  let callee: Puppet;
  let asked: ReplyTo<number>[];
  let server: Pid<Question | Order>;

  beforeEach(() => {
    connect(true);
    asked = [];
    callee = puppet(there);
    const own = there.spawn<Question | Order>({
      handle: (ctx, message) =>
        typeof message === "function" ? message(ctx as never) : void asked.push(message.replyTo),
    });
    server = known(own);
    return async () => {
      there.exit(own, "kill");
      await disconnect();
    };
  });

  const run = async (order: Order): Promise<void> => {
    await callee.do(order);
    await wire.settle();
  };

  test("is refused with the error of the callee [N951]", async () => {
    const call = here.call(server, ask(1)).catch((error) => error);
    await wire.settle();
    await run((ctx) => ctx.refuse(asked[0] as ReplyTo<never>, new RangeError("no")));
    expect(await call).toEqual(new RangeError("no"));
    expect(wire.count("cancel")).toBe(0);
  });

  test("counts a second reply at the callee's node, and a late one where it is known to be late [N953]", async () => {
    const discarded: [string, DiscardedReply][] = [];
    for (const system of [here, there])
      system.events.on("discardedReply", (event) => discarded.push([system.name, event]));
    const call = here.call(server, ask(1));
    await wire.settle();
    await run((ctx) => ctx.reply(asked[0] as ReplyTo<number>, 1));
    expect(await call).toBe(1);
    await run((ctx) => ctx.reply(asked[0] as ReplyTo<number>, 2));
    expect(discarded).toMatchObject([
      ["there", { reply: { ok: true, value: 2 }, error: expect.any(DoubleReplyError) }],
    ]);
    // The reply and the end of the wait cross.
    const abort = new AbortController();
    const crossed = here.call(server, ask(2), { signal: abort.signal }).catch(() => undefined);
    await wire.settle();
    wire.held = true;
    await callee.do((ctx) => ctx.reply(asked[1] as ReplyTo<number>, 3));
    abort.abort(new Error("enough"));
    await crossed;
    wire.release();
    await wire.settle();
    expect(discarded[1]).toMatchObject([
      "here",
      { reply: { ok: true, value: 3 }, error: expect.any(LateReplyError) },
    ]);
    // The callee's node knows that the caller gave up.
    const left = new AbortController();
    const given = here.call(server, ask(3), { signal: left.signal }).catch(() => undefined);
    await wire.settle();
    left.abort(new Error("enough"));
    await given;
    await wire.settle();
    expect((asked[2] as ReplyTo<number>).open).toBe(false);
    await run((ctx) => ctx.reply(asked[2] as ReplyTo<number>, 4));
    expect(discarded[2]).toMatchObject(["there", { error: expect.any(LateReplyError) }]);
    expect(discarded).toHaveLength(3);
  });

  test("is answered at a third node, to which the callee passed the reply address [N954]", async () => {
    const third = wire.join("third");
    const helper = third.spawn<Question>({ handle: (ctx, { n, replyTo }) => ctx.reply(replyTo, n * 100) });
    const helperThere = there.pidAt(third.address(helper)) as Pid<Question>;
    const call = here.call(server, ask(1), FOREVER);
    await wire.settle();
    await run((ctx) => ctx.send(helperThere, { n: 7, replyTo: asked[0] as ReplyTo<number> }));
    expect(await call).toBe(700);
    await wire.settle();
    // The callee's node learns that the call is over.
    expect((asked[0] as ReplyTo<number>).open).toBe(false);
    await third.stop();
  });

  test("is withdrawn when a process of that node answers to which the caller sent the reply address ahead [N954]", async () => {
    const busy = there.spawn<Question>({ handle: () => undefined, init: () => new Promise(() => undefined) });
    const build = (replyTo: ReplyTo<number>): Question => {
      here.send(server, { n: 1, replyTo });
      return { n: 2, replyTo };
    };
    const call = here.call(known(busy), build, FOREVER);
    await wire.settle();
    expect([there.info(busy)?.mailboxDepth, tablesOf(there)]).toEqual([1, [0, 1]]);
    await run((ctx) => ctx.reply(asked[0] as ReplyTo<number>, 5));
    expect(await call).toBe(5);
    await wire.settle();
    expect([there.info(busy)?.mailboxDepth, tablesOf(there)]).toEqual([0, [0, 0]]);
    there.exit(busy, "kill");
  });

  test("may be answered at another node when it was made to a process of its own [N954]", async () => {
    let replyTo: ReplyTo<number> | undefined;
    const own = here.spawn<Question>({
      handle: (_ctx, question) => {
        replyTo = question.replyTo;
      },
    });
    const call = here.call(own, ask(1), FOREVER);
    await here.idle();
    here.send(server, { n: 1, replyTo: replyTo as ReplyTo<number> });
    await wire.settle();
    expect(tablesOf(here)).toEqual([1, 0]);
    await run((ctx) => ctx.reply(asked[0] as ReplyTo<number>, 5));
    expect(await call).toBe(5);
    // It came back to its node in a message, and is the call itself there.
    const address = here.replyAddress(replyTo as ReplyTo<number>);
    expect(there.replyAddress(asked[0] as ReplyTo<number>)).toEqual(address);
    expect(here.replyAt(address).open).toBe(false);
    here.exit(own, "kill");
  });

  test("whose reply cannot be sent is refused with that error, and the callee goes on [N951]", async () => {
    const clone = new System({
      report: false,
      transport: remoteNodes({
        send: (_node, signal) => {
          if (signal.type === "reply" && "ok" in signal.outcome && signal.outcome.ok) structuredClone(signal);
          wire.log.push(signal);
          return true;
        },
      }),
    });
    const echo = clone.spawn<{ replyTo: ReplyTo<unknown> }>({
      handle: (ctx, { replyTo }) => ctx.reply(replyTo, () => undefined),
    });
    const replyTo = clone.replyAt({ node: here.node, ref: 1 });
    clone.deliver({ type: "call", from: undefined, to: clone.address(echo), replyTo, message: { replyTo } });
    await clone.idle();
    expect(wire.log).toMatchObject([
      { type: "reply", to: { ref: 1 }, outcome: { ok: false, error: { name: "DataCloneError" } } },
    ]);
    expect(clone.isAlive(echo)).toBe(true);
    await clone.stop();
  });

  test("whose request cannot be sent rejects with that error, and leaves nothing behind [N951]", async () => {
    const strict = new System({
      report: false,
      transport: remoteNodes({ send: (_node, signal) => structuredClone(signal) !== undefined }),
    });
    const far = strict.pidAt(there.address(callee.pid)) as Pid<unknown>;
    const error = await strict.call(far, () => () => undefined).catch((caught) => caught);
    expect(error).toMatchObject({ name: "DataCloneError" });
    expect(tablesOf(strict)).toEqual([0, 0]);
    await strict.stop();
  });
});
