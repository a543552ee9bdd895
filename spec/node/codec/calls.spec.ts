// Calls between two nodes as text: reply addresses, the calls of servers and state machines, and replies that no wire can carry.

import {
  type Call,
  CalleeExitedError,
  custom,
  defineServer,
  defineStateMachine,
  type Pid,
  type ReplyTo,
  type System,
  startIn,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Wire } from "../../support/wire.js";

interface Question {
  readonly n: number;
  readonly replyTo: ReplyTo<unknown>;
  readonly also?: unknown;
}

let wire: Wire;
let here: System;
let there: System;

beforeEach(() => {
  wire = new Wire({ copies: true });
  here = wire.join("here");
  there = wire.join("there");
});

afterEach(() => Promise.all([here.stop(), there.stop()]));

const known = <M>(pid: Pid<M>): Pid<M> => here.pidAt(there.address(pid)) as Pid<M>;

const errorOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => {
      throw new Error("the call was answered");
    },
    (error) => error,
  );

test("a reply address within the message of a call is that of the call, wherever it stands [N977]", async () => {
  const seen: boolean[] = [];
  const callee = there.spawn<Question>({
    handle: (ctx, { replyTo, also }) => {
      const map = also as Map<unknown, { readonly replyTo: unknown }>;
      seen.push(replyTo.open, map.get("deep")?.replyTo === replyTo);
      ctx.reply(replyTo, new Map([[1n, new Date(5)]]));
      seen.push(replyTo.open);
    },
  });
  const reply = await here.call(known(callee), (replyTo: ReplyTo<unknown>) => ({
    n: 1,
    replyTo,
    also: new Map([["deep", { replyTo }]]),
  }));
  expect(reply).toEqual(new Map([[1n, new Date(5)]]));
  expect(seen).toEqual([true, true, false]);
});

describe("a call of a server or a state machine", () => {
  const Stock = defineServer({
    init: () => ({ left: 10, notes: [] as unknown[] }),
    calls: {
      take: (state, n: number) => {
        state.left -= n;
        return { left: state.left, at: new Date(n) };
      },
      fail: () => {
        throw new RangeError("no stock");
      },
      give: () => () => 1,
    },
    casts: { note: (state, note: unknown) => void state.notes.push(note) },
  });

  test("has its arguments and its reply as they were, and a refusal its class [N977]", async () => {
    const server = await there.start(Stock);
    const stock = Stock.at(here, known(server.pid as Pid<unknown>));
    expect(await stock.call.take(3)).toEqual({ left: 7, at: new Date(3) });
    const error = (await errorOf(stock.call.fail())) as CalleeExitedError;
    expect(error).toBeInstanceOf(CalleeExitedError);
    expect(error.reason).toMatchObject({ type: "crash", error: expect.any(RangeError) });
  });

  test("that cannot be sent throws at the caller with its path, and the server goes on [N981]", async () => {
    const server = await there.start(Stock);
    const stock = Stock.at(here, known(server.pid as Pid<unknown>));
    const error = await errorOf(stock.call.take((() => 1) as never));
    expect(error).toMatchObject({ code: "ERR_NODE_UNSENDABLE", path: "args[0]" });
    expect(() => stock.cast.note({ by: Symbol("s") })).toThrow("args[0].by is Symbol(s)");
    expect(await server.call.take(1)).toMatchObject({ left: 9 });
  });

  test("whose reply cannot be sent ends with that error, at once, and the server goes on [N978]", async () => {
    const server = await there.start(Stock);
    const stock = Stock.at(here, known(server.pid as Pid<unknown>));
    expect(await errorOf(stock.call.give())).toMatchObject({ code: "ERR_NODE_UNSENDABLE", path: "reply" });
    expect(await stock.call.take(1)).toMatchObject({ left: 9 });
  });

  test("may be an event of a state machine, with pids in it [N977]", async () => {
    type Open = { readonly name: "open"; readonly guests: readonly Pid[] };
    type Visit = Call<{ readonly type: "knock"; readonly by: Pid }, Pid>;
    const Door = defineStateMachine<Open, Visit>({
      init: startIn("open", () => ({ name: "open", guests: [] })),
      states: {
        open: {
          on: {
            knock: ({ guests }, { by }, m) => m.next({ name: "open", guests: [...guests, by] }, m.reply(by)),
          },
        },
      },
    });
    const running = await there.start(Door);
    const guest = here.spawn({ handle: () => undefined }, { label: "guest" });
    expect(await Door.at(here, known(running.pid as Pid<unknown>)).call.knock({ by: guest })).toBe(guest);
  });
});

describe("a reply address that is passed on", () => {
  test("is answered by the node that it came to last [N977]", async () => {
    const third = wire.join("third");
    const clerk = third.spawn<ReplyTo<unknown>>({
      handle: (ctx, replyTo) => ctx.reply(replyTo, "from the third"),
    });
    const office = there.spawn<Question>({
      handle: (ctx, { replyTo }) => ctx.send(there.pidAt(third.address(clerk)), replyTo),
    });
    expect(await here.call(known(office), (replyTo: ReplyTo<unknown>) => ({ n: 1, replyTo }))).toBe(
      "from the third",
    );
    await third.stop();
  });

  test("takes the call of a server with it, also back to the node of its caller [N977]", async () => {
    const Echo = defineServer({ init: () => 0, calls: { echo: (_state, text: string) => `echo ${text}` } });
    const server = await here.start(Echo);
    const forwarder = there.spawn<unknown>({
      handle: (ctx, message) => ctx.send(there.pidAt(here.address(server.pid as Pid<unknown>)), message),
    });
    expect(await Echo.at(here, known(forwarder)).call.echo("hello")).toBe("echo hello");
  });
});

test("the exit of a callee reaches its caller with the reason, whatever it holds [N982]", async () => {
  const ends = [custom(() => 1), custom({ at: new Date(1) })];
  for (const reason of ends) {
    const callee = there.spawn<Question>({ handle: (ctx) => ctx.exit(reason) });
    const error = await errorOf(here.call(known(callee), (replyTo: ReplyTo<unknown>) => ({ n: 1, replyTo })));
    expect(error).toBeInstanceOf(CalleeExitedError);
    expect((error as CalleeExitedError).reason.type).toBe("custom");
  }
});
