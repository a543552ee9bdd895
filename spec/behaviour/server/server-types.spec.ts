// The types of a server are inferred end to end: held by the compiler, which reads this file in `npm run types`.

import {
  CalleeExitedError,
  type Caller,
  type Context,
  defer,
  defineServer,
  ignore,
  noReply,
  ready,
  refuse,
  reply,
  replyAndStop,
  type ServerRef,
  System,
  stop,
} from "signalbox";
import { describe, expect, expectTypeOf, it } from "vitest";

const Stock = defineServer({
  init: (_ctx, start: number, _label?: string) => ({ left: start, log: [] as string[] }),
  calls: {
    take: (state, n: number) => {
      state.left -= n;
      return state.left;
    },
    later: async (state, text: string) => {
      state.log.push(text);
      return text.length;
    },
    deferred: (_state) => defer<boolean>((caller) => caller.reply(true)),
    picky: (state, n: number) => (n > state.left ? refuse(new RangeError("too many")) : state.left),
    last: (state) => replyAndStop(state.left),
    end: (_state) => stop(),
  },
  casts: {
    restock: (state, n: number) => {
      state.left += n;
    },
  },
});

const Slow = defineServer({
  init: async (_ctx, wanted: boolean) => (wanted ? { ready: Boolean(wanted) } : ignore),
  calls: { isReady: (state) => state.ready },
});

describe("the types of a server", () => {
  it("come from its definition: arguments, replies and the arguments of start [B1]", async () => {
    await using system = new System({ report: false });
    const stock = await system.start(Stock, 100);
    expectTypeOf(stock.call.take).toEqualTypeOf<(n: number) => Promise<number>>();
    expectTypeOf(stock.call.later).toEqualTypeOf<(text: string) => Promise<number>>();
    expectTypeOf(stock.call.deferred).toEqualTypeOf<() => Promise<boolean>>();
    expectTypeOf(stock.call.picky).toEqualTypeOf<(n: number) => Promise<number>>();
    expectTypeOf(stock.call.last).toEqualTypeOf<() => Promise<number>>();
    expectTypeOf(stock.call.end).toEqualTypeOf<() => Promise<never>>();
    expectTypeOf(stock.cast.restock).toEqualTypeOf<(n: number) => void>();
    expectTypeOf(stock.with({ timeoutMs: 5 }).call).toEqualTypeOf(stock.call);
    const slow = await system.start(Slow, true);
    expectTypeOf(slow.call.isReady).toEqualTypeOf<() => Promise<boolean>>();
    expectTypeOf(Stock.at(system, "stock")).toEqualTypeOf<typeof stock>();
    expectTypeOf<typeof stock>().toExtend<ServerRef<unknown, unknown>>();

    expect(await stock.call.take(3)).toBe(97);
    expect(await stock.call.deferred()).toBe(true);
    expect(await slow.call.isReady()).toBe(true);
    await expect(stock.call.picky(1_000)).rejects.toThrow("too many");
    await expect(stock.call.end()).rejects.toBeInstanceOf(CalleeExitedError);
  });

  it("let a server send messages to itself, which its `info` takes [B1]", async () => {
    const Clock = defineServer({
      init: (ctx) => {
        ctx.send(ctx.self, "at once");
        ctx.sendAfter(ctx.self, { type: "soon" }, 0);
        ctx.sendInterval(ctx.self, 7, 60_000);
        return { ctx, heard: [] as unknown[] };
      },
      calls: {
        heard: (state) => state.heard,
        again: (state) => {
          state.ctx.send(state.ctx.self, "again");
          return state.ctx.self.label;
        },
      },
      info: (state, message) => {
        expectTypeOf(message).toBeUnknown();
        state.heard.push(message);
      },
    });
    await using system = new System({ report: false });
    const clock = await system.start(Clock);
    expect(await clock.call.again()).toBe("server");
    await system.idle();
    expect(await clock.call.heard()).toEqual(expect.arrayContaining(["at once", "again"]));
  });

  it("come through results that say more, and `this` has the caller and the context [B1]", async () => {
    const Desk = defineServer({
      init: (_ctx, size: number) => (size > 0 ? ready({ size }, { idleMs: size }) : stop()),
      calls: {
        grow: (state, n: number) => {
          state.size += n;
          return reply(state.size, { continue: () => undefined });
        },
        queue(state, _name: string) {
          expectTypeOf(state).toEqualTypeOf<{ size: number }>();
          expectTypeOf(this.caller).toEqualTypeOf<Caller<unknown>>();
          expectTypeOf(this.ctx).toEqualTypeOf<Context<unknown>>();
          this.caller.reply("soon");
          return noReply<string>();
        },
        maybe: (state) => (state.size > 1 ? reply("big", { idleMs: 1 }) : state.size),
      },
      casts: {
        shrink(state, n: number) {
          expectTypeOf(this.ctx).toEqualTypeOf<Context<unknown>>();
          // @ts-expect-error nobody waits for a cast
          expect(this.caller).toBeUndefined();
          state.size -= n;
        },
      },
      info(state) {
        expectTypeOf(state).toEqualTypeOf<{ size: number }>();
        expectTypeOf(this.ctx).toEqualTypeOf<Context<unknown>>();
      },
      idle: (state) => {
        expectTypeOf(state).toEqualTypeOf<{ size: number }>();
      },
    });
    await using system = new System({ report: false });
    const desk = await system.start(Desk, 5);
    expectTypeOf(desk.call.grow).toEqualTypeOf<(n: number) => Promise<number>>();
    expectTypeOf(desk.call.queue).toEqualTypeOf<(_name: string) => Promise<string>>();
    expectTypeOf(desk.call.maybe).toEqualTypeOf<() => Promise<string | number>>();
    expectTypeOf(desk.cast.shrink).toEqualTypeOf<(n: number) => void>();
    desk.cast.shrink(3);
    expect(await desk.call.grow(1)).toBe(3);
    expect(await desk.call.queue("Ada")).toBe("soon");
    expect(await desk.call.maybe()).toBe("big");
  });

  it("are errors where they do not fit", () => {
    const misuse = async (system: System): Promise<void> => {
      // @ts-expect-error the argument of init is a number
      const stock = await system.start(Stock, "100");
      // @ts-expect-error take wants a number
      await stock.call.take("3");
      // @ts-expect-error there is no such call
      await stock.call.give(3);
      // @ts-expect-error there is no such cast
      stock.cast.take(3);
      defineServer({
        init: () => ({ left: 1 }),
        // @ts-expect-error the state has no such field
        calls: { wrong: (state) => state.right },
      });
    };
    expect(misuse).toBeTypeOf("function");
  });
});
