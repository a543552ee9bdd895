// Results that do not fit, requests that a server does not know, and what handlers learn of their caller.

import {
  BadReturnError,
  CalleeExitedError,
  type Caller,
  type DiscardedReply,
  defer,
  defineServer,
  ignore,
  noReply,
  OptionError,
  ready,
  refuse,
  reply,
  replyAndStop,
  StartError,
  System,
  stop,
  UnknownRequestError,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const clock = testClock();
let system: System;

beforeEach(() => {
  system = new System({ environment: clock.environment, report: false });
});

afterEach(() => clock.until(system.stop()));

/** Does what it is asked to, in each of its handlers. */
const Puppet = defineServer({
  init: (_ctx, act: () => unknown = () => ({})) => act(),
  calls: { call: (_state, act: () => unknown) => act() },
  casts: { cast: (_state, act: () => unknown) => act() },
  info: (_state, act) => (act as () => unknown)(),
  idle: () => undefined,
  label: "puppet",
});

const never = { idleMs: Number.POSITIVE_INFINITY };
const replies = {
  reply: () => reply(1, never),
  defer: () => defer(() => undefined),
  refuse: () => refuse(new Error("no")),
  replyAndStop: () => replyAndStop(1),
  ready: () => ready({}, never),
  ignore: () => ignore,
};

describe("a result that its handler may not return", () => {
  it.each(Object.entries(replies))(
    "%s of a cast or a message crashes the server [B12]",
    async (_name, act) => {
      for (const asynchronously of [false, true]) {
        for (const how of ["cast", "info"] as const) {
          const server = await clock.until(system.start(Puppet));
          const exited = system.exited(server.pid);
          const result = asynchronously ? async () => act() : act;
          if (how === "cast") server.cast.cast(result);
          else system.send(server.pid as never, result as never);
          const reason = await clock.until(exited);
          expect(reason).toMatchObject({ type: "crash", error: { code: "ERR_BAD_RETURN" } });
          const { error } = reason as unknown as { error: BadReturnError };
          expect(error).toBeInstanceOf(BadReturnError);
          expect(error.handler).toBe(how === "cast" ? "casts.cast" : "info");
        }
      }
    },
  );

  it.each(["ready", "ignore"] as const)(
    "%s of a call crashes the server, and its caller hears why [B12]",
    async (name) => {
      for (const act of [replies[name], async () => replies[name]()]) {
        const server = await clock.until(system.start(Puppet));
        const error = await clock.until(server.call.call(act).catch((thrown: unknown) => thrown));
        expect(error).toBeInstanceOf(CalleeExitedError);
        expect((error as CalleeExitedError).cause).toMatchObject({
          code: "ERR_BAD_RETURN",
          handler: "calls.call",
        });
      }
    },
  );

  it.each(["reply", "defer", "refuse", "replyAndStop"] as const)(
    "%s of an init fails the start [B12]",
    async (name) => {
      const error = await clock.until(system.start(Puppet, replies[name]).catch((thrown: unknown) => thrown));
      expect(error).toBeInstanceOf(StartError);
      expect((error as StartError).cause).toMatchObject({ code: "ERR_BAD_RETURN", handler: "init" });
    },
  );

  it("is an idle timeout without a handler for it [B12]", async () => {
    const Restless = defineServer({ init: () => ({}), casts: { wait: () => noReply({ idleMs: 5 }) } });
    const server = await clock.until(system.start(Restless));
    const exited = system.exited(server.pid);
    server.cast.wait();
    expect(await clock.until(exited)).toMatchObject({ type: "crash", error: { handler: "casts.wait" } });
  });

  it("is refused where it is made, when what comes next is not what it has to be [B12]", () => {
    for (const next of [
      { idleMs: -1 },
      { idleMs: "5" },
      { continue: 5 },
      { idle: 5 },
      5,
      { continue: () => 1, idleMs: 5 },
    ]) {
      expect(() => noReply(next as never)).toThrow(OptionError);
      expect(() => reply(1, next as never)).toThrow(OptionError);
      expect(() => ready({}, next as never)).toThrow(OptionError);
      expect(() => defer(() => undefined, next as never)).toThrow(OptionError);
      expect(() => refuse(new Error("no"), next as never)).toThrow(OptionError);
    }
    expect(() => noReply({ idleMS: 5 } as never)).toThrow(/did you mean idleMs/);
  });
});

describe("a result that is thrown", () => {
  it("counts as returned, from init too [B13]", async () => {
    const thrower = (result: unknown) => (): never => {
      throw result;
    };
    const server = await clock.until(system.start(Puppet, thrower(ready({}, never))));
    expect(await clock.until(server.call.call(thrower(reply(3, never))))).toBe(3);
    expect(await clock.until(server.call.call(async () => thrower(reply(4, never))()))).toBe(4);
    await clock.until(
      expect(server.call.call(thrower(refuse(new RangeError("no"))))).rejects.toThrow(RangeError),
    );
    const exited = system.exited(server.pid);
    server.cast.cast(thrower(stop("shutdown")));
    expect(await clock.until(exited)).toEqual({ type: "shutdown" });
    const error = await clock.until(system.start(Puppet, thrower(ignore)).catch((thrown: unknown) => thrown));
    expect(error).toMatchObject({ code: "ERR_START", ignored: true });
  });
});

describe("a request that the server does not have", () => {
  const Other = defineServer({
    init: () => ({}),
    calls: { other: () => 1 },
    casts: { other: () => undefined },
  });

  it("rejects a call, and makes a dead letter of a cast, both with an UnknownRequestError [B14]", async () => {
    const letters: unknown[] = [];
    system.events.on("deadLetter", ({ reason, error }) => letters.push([reason, error]));
    const { pid } = await clock.until(system.start(Puppet));
    const wrong = Other.at(system, pid);
    await clock.until(expect(wrong.call.other()).rejects.toBeInstanceOf(UnknownRequestError));
    wrong.cast.other();
    await clock.settle();
    expect(letters).toEqual([["unhandled", expect.any(UnknownRequestError)]]);
    expect((letters as [[string, Error]])[0][1].message).toMatch('no cast "other"; it has cast');
    expect(system.isAlive(pid)).toBe(true);
  });
});

describe("`this` in a handler", () => {
  const Desk = defineServer({
    init: () => ({ waiting: [] as Caller<unknown>[] }),
    calls: {
      who() {
        return this.caller.pid;
      },
      early(_state, first: number, second: number) {
        this.caller.reply(first);
        return second;
      },
      async patient() {
        const { caller } = this;
        await Promise.resolve();
        return [caller.open, this.ctx.self] as const;
      },
      queue(state) {
        state.waiting.push(this.caller);
        return noReply<string>();
      },
    },
    casts: {
      serve(state, word: string) {
        for (const caller of state.waiting.splice(0)) caller.reply(`${word} from ${this.ctx.self.label}`);
      },
    },
    label: "desk",
  });

  it("has the caller: its pid, or none from outside [B15]", async () => {
    const desk = await clock.until(system.start(Desk));
    expect(await clock.until(desk.call.who())).toBeUndefined();
    let asked: unknown;
    const asker = system.spawn<never>(async (ctx) => {
      asked = await desk.with({ from: ctx }).call.who();
    });
    await clock.settle();
    expect(asked).toBe(asker);
  });

  it("has the context, in calls and casts, after an await too [B15]", async () => {
    const desk = await clock.until(system.start(Desk));
    expect(await clock.until(desk.call.patient())).toEqual([true, desk.pid]);
    const queued = desk.call.queue();
    desk.cast.serve("soup");
    expect(await clock.until(queued)).toBe("soup from desk");
  });

  it("answers before the handler has ended; a value returned later is a second reply [B15]", async () => {
    const discarded: DiscardedReply[] = [];
    system.events.on("discardedReply", (event) => discarded.push(event));
    const desk = await clock.until(system.start(Desk));
    expect(await clock.until(desk.call.early(1, 2))).toBe(1);
    expect(discarded).toMatchObject([{ reply: { ok: true, value: 2 }, error: { code: "ERR_DOUBLE_REPLY" } }]);
  });
});

describe("replyAndStop", () => {
  it("sends its reply when terminate has run, even when that throws [B16]", async () => {
    const log: string[] = [];
    const Till = defineServer({
      init: (_ctx, end: () => unknown) => ({ end }),
      calls: { close: () => replyAndStop("closed") },
      terminate: ({ end }) => {
        log.push("terminate");
        return end();
      },
    });
    const crash = (): never => {
      throw new Error("boom");
    };
    for (const [crashes, waits] of [
      [false, false],
      [true, false],
      [false, true],
      [true, true],
    ] as const) {
      let finish = (): void => undefined;
      const closing = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const last = crashes ? crash : () => undefined;
      const till = await clock.until(system.start(Till, waits ? () => closing.then(last) : last));
      const exited = system.exited(till.pid);
      const closed = till.call.close().then((word) => log.push(word));
      await clock.settle();
      expect(log).toEqual(waits ? ["terminate"] : ["terminate", "closed"]);
      finish();
      await clock.until(Promise.all([closed, exited]));
      expect(log.splice(0)).toEqual(["terminate", "closed"]);
      expect((await exited).type).toBe(crashes ? "crash" : "normal");
    }
  });
});
