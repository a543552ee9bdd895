// Messages that are set aside and put back: their order, the bound, calls that end meanwhile, the end of the process.

import fc from "fast-check";
import {
  CalleeExitedError,
  type Context,
  defineServer,
  type ExitReason,
  NotCallbacksError,
  OptionError,
  type ReplyTo,
  Stash,
  StashFullError,
  type StashOptions,
  System,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from "vitest";
import { sized } from "../support/proof.js";

const clock = testClock();
let system: System;
let dead: unknown[];
let ends: ExitReason[];
beforeEach(() => {
  system = new System({ name: "s", report: false, environment: clock.environment });
  dead = [];
  ends = [];
  system.events.on("deadLetter", ({ message, reason }) => dead.push([message, reason]));
  system.events.on("exit", ({ reason }) => ends.push(reason));
});
afterEach(() => clock.until(system.stop()));

/** Sets every word aside until it is told to go on: `!` puts all back, `!2` two. Sends itself a word at `>word`. */
function keeper(options: StashOptions, isAsync = false) {
  const handled: string[] = [];
  const sizes: number[] = [];
  let stash: Stash;
  let open = false;
  const pid = system.spawn<string>(
    {
      init: (ctx) => {
        stash = new Stash(ctx, options);
      },
      handle: (ctx: Context<string>, word) => {
        sizes.push(stash.size);
        if (word.startsWith(">")) ctx.send(ctx.self, word.slice(1));
        else if (word.startsWith("!")) {
          open = true;
          stash.unstash(word === "!" ? undefined : Number(word.slice(1)));
        } else if (word === "close") open = false;
        else if (!open) return isAsync ? Promise.resolve().then(() => stash.setAside()) : stash.setAside();
        else handled.push(word);
        return undefined;
      },
    },
    { label: "keeper" },
  );
  return { pid, handled, sizes, stash: () => stash };
}

async function tell(
  to: { readonly pid: import("signalbox").Pid<string> },
  ...words: string[]
): Promise<void> {
  for (const word of words) system.send(to.pid, word);
  await clock.settle();
}

describe("what is set aside", () => {
  it.each([false, true])("comes back in order, before what is newer (asynchronous: %s)", async (isAsync) => {
    const one = keeper({ capacity: 10 }, isAsync);
    await tell(one, "a", "b", "c");
    expect(one.handled).toEqual([]);
    await tell(one, "!", "d");
    expect(one.handled).toEqual(["a", "b", "c", "d"]);
    expect(one.sizes.slice(0, 4)).toEqual([0, 1, 2, 3]);
  });

  it("comes back in part, the oldest first", async () => {
    const one = keeper({ capacity: 10 });
    await tell(one, "a", "b", "c", "!2", "d");
    expect(one.handled).toEqual(["a", "b", "d"]);
    expect(one.stash().size).toBe(1);
    await tell(one, "!0", "e", "!1", "f");
    expect(one.handled).toEqual(["a", "b", "d", "e", "c", "f"]);
  });

  it("can be set aside again, and comes back from code outside of a turn, too", async () => {
    const one = keeper({ capacity: 10 });
    await tell(one, "a", "b");
    expect(one.stash().unstash()).toBe(2);
    await clock.settle();
    expect([one.handled, one.stash().size]).toEqual([[], 2]);
  });

  const words = fc.array(fc.constantFrom("a", "b", "c", "!", "!1", "!2", "close", ">x"), { maxLength: 40 });

  it("comes back as a model of two lists says [G12]", async () => {
    await fc.assert(
      fc.asyncProperty(words, fc.boolean(), async (all, inOneGo) => {
        const one = keeper({ capacity: 100 });
        let [open, aside] = [false, [] as string[]];
        const expected: string[] = [];
        const mailbox: string[] = [];
        const run = (): void => {
          for (let word = mailbox.shift(); word !== undefined; word = mailbox.shift()) {
            if (word.startsWith(">")) mailbox.push(word.slice(1));
            else if (word.startsWith("!")) {
              open = true;
              mailbox.unshift(...aside.splice(0, word === "!" ? aside.length : Number(word.slice(1))));
            } else if (word === "close") open = false;
            else if (open) expected.push(word);
            else aside.push(word);
          }
        };
        for (const word of all) {
          mailbox.push(word);
          system.send(one.pid, word);
          if (inOneGo) continue;
          await clock.settle();
          run();
        }
        await clock.settle();
        run();
        expect(one.handled).toEqual(expected);
        expect(one.stash().size).toBe(aside.length);
      }),
      { numRuns: sized(60) },
    );
  });

  it("does not count toward the bound of the mailbox, and is not bounded by it", async () => {
    let stash: Stash | undefined;
    const handled: string[] = [];
    const pid = system.spawn<string>(
      {
        init: (ctx) => {
          stash = new Stash(ctx, { capacity: 10 });
        },
        handle: (_ctx, word) => {
          if (word === "!") stash?.unstash();
          else if (word === word.toUpperCase()) handled.push(word);
          else if (handled.length === 0) return stash?.setAside();
          else handled.push(word);
          return undefined;
        },
      },
      { mailbox: { capacity: 2, overflow: "drop-newest" } },
    );
    for (const word of ["a", "b", "c", "d", "A", "!"]) {
      system.send(pid, word);
      await clock.settle();
    }
    expect(handled).toEqual(["A", "a", "b", "c", "d"]);
    expect(dead).toEqual([]);
  });
});

describe("a full stash", () => {
  it("ends its process, unless told otherwise [G13]", async () => {
    const one = keeper({ capacity: 2 });
    await tell(one, "a", "b", "c", "d");
    expect(ends).toMatchObject([{ type: "crash", error: { code: "ERR_STASH_FULL", capacity: 2 } }]);
    expect(dead).toEqual([
      ["d", "exited"],
      ["a", "exited"],
      ["b", "exited"],
    ]);
  });

  it("ends its process also after an asynchronous callback", async () => {
    await tell(keeper({ capacity: 1 }, true), "a", "b");
    expect(ends).toMatchObject([{ type: "crash", error: { code: "ERR_STASH_FULL" } }]);
  });

  it("drops the newest or the oldest message", async () => {
    const [newest, oldest] = [
      keeper({ capacity: 2, overflow: "drop-newest" }),
      keeper({ capacity: 2, overflow: "drop-oldest" }),
    ];
    await tell(newest, "a", "b", "c", "!");
    await tell(oldest, "a", "b", "c", "!");
    expect([newest.handled, oldest.handled]).toEqual([
      ["a", "b"],
      ["b", "c"],
    ]);
    expect(dead).toEqual([
      ["c", "stash-full"],
      ["a", "stash-full"],
    ]);
  });
});

const Store = defineServer({
  init: (ctx, options: StashOptions) => ({
    lines: undefined as string[] | undefined,
    early: new Stash(ctx, options),
  }),
  calls: {
    add: (state, line: string) => {
      if (state.lines === undefined) return state.early.setAside();
      return state.lines.push(line);
    },
    size: (state) => state.early.size,
  },
  casts: {
    note: async (state, line: string) => {
      if (state.lines === undefined) return state.early.setAside();
      state.lines.push(line);
      return undefined;
    },
    opened: (state, lines: string[]) => {
      state.lines = lines;
      state.early.unstash();
    },
  },
});

describe("a server", () => {
  it("sets calls and casts aside, and answers them later", async () => {
    const store = await clock.until(system.start(Store, { capacity: 10 }));
    expectTypeOf(store.call.add).toEqualTypeOf<(line: string) => Promise<number>>();
    const replies = [store.call.add("a"), store.call.add("c")];
    store.cast.note("d");
    await clock.settle();
    const lines: string[] = ["first"];
    store.cast.opened(lines);
    expect(await clock.until(Promise.all(replies))).toEqual([2, 3]);
    await clock.settle();
    expect(lines).toEqual(["first", "a", "c", "d"]);
  });

  it("forgets calls that end meanwhile: they take no place and are not handled", async () => {
    const store = await clock.until(system.start(Store, { capacity: 2, overflow: "drop-newest" }));
    const impatient = store.with({ timeoutMs: 10 }).call.add("a");
    const ended = expect(impatient).rejects.toMatchObject({ code: "ERR_CALL_TIMEOUT" });
    const patient = store.call.add("b");
    await clock.settle();
    expect(await clock.until(store.call.size())).toBe(2);
    await clock.advance(10);
    await ended;
    expect(await clock.until(store.call.size())).toBe(1);
    const third = store.call.add("c");
    const lines: string[] = [];
    store.cast.opened(lines);
    expect(await clock.until(Promise.all([patient, third]))).toEqual([1, 2]);
    expect(lines).toEqual(["b", "c"]);
  });

  it("refuses calls for which its stash has no room", async () => {
    const store = await clock.until(system.start(Store, { capacity: 1, overflow: "drop-oldest" }));
    const first = store.call.add("a");
    const refused = expect(first).rejects.toBeInstanceOf(StashFullError);
    const second = store.call.add("b");
    await clock.settle();
    await refused;
    store.cast.opened([]);
    expect(await clock.until(second)).toBe(1);
  });

  it("that exits ends the calls that are set aside", async () => {
    const store = await clock.until(system.start(Store, { capacity: 10 }));
    const ended = expect(store.call.add("a")).rejects.toBeInstanceOf(CalleeExitedError);
    await clock.settle();
    system.exit(store.pid, "kill");
    await clock.settle();
    await ended;
  });
});

describe("a stash", () => {
  it("keeps the reply of a call, and its caller handles the reply again", async () => {
    const replies: unknown[] = [];
    let stash: Stash | undefined;
    const callee = system.spawn<ReplyTo<number>>({ handle: (ctx, replyTo) => ctx.reply(replyTo, 7) });
    const caller = system.spawn<"go" | "on">({
      init: (ctx) => {
        stash = new Stash(ctx, { capacity: 1 });
      },
      handle: (ctx, word) => {
        if (word === "on") stash?.unstash();
        else
          ctx.ask(
            callee,
            (replyTo: ReplyTo<number>) => replyTo,
            (reply) => (replies.push(reply) === 1 ? stash?.setAside() : undefined),
          );
      },
    });
    system.send(caller, "go");
    await clock.settle();
    expect([stash?.size, replies]).toEqual([1, [{ ok: true, value: 7 }]]);
    system.send(caller, "on");
    await clock.settle();
    expect([stash?.size, replies]).toEqual([0, Array(2).fill({ ok: true, value: 7 })]);
  });

  it("is for processes of callbacks that live, and has a bound", async () => {
    const errors: unknown[] = [];
    let old: Context<string> | undefined;
    system.spawn<string>((ctx) => {
      try {
        new Stash(ctx, { capacity: 1 });
      } catch (error) {
        errors.push(error);
      }
    });
    const pid = system.spawn<string>({
      handle: (ctx) => {
        old = ctx;
        const refused = [
          {},
          { capacity: 0 },
          { capacity: 1.5 },
          { capacity: 1, overflow: "reject" },
          { size: 1 },
        ];
        for (const options of refused) expect(() => new Stash(ctx, options as never)).toThrow(OptionError);
        const stash = new Stash(ctx, { capacity: 1 });
        expect(() => stash.unstash(-1)).toThrow(OptionError);
        errors.push(stash);
        ctx.exit();
      },
    });
    system.send(pid, "go");
    await clock.settle();
    expect(errors[0]).toBeInstanceOf(NotCallbacksError);
    expect(() => (errors[1] as Stash).unstash()).toThrow("has exited");
    expect(() => new Stash(old as Context<string>, { capacity: 1 })).toThrow("has exited");
    expect(ends).toMatchObject([{ type: "normal" }, { type: "normal" }]);
  });
});
