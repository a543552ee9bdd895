// A routing function in a thread of its own: what it does wrong, it does to its own dispatch only.

import {
  ConsumerGroup,
  consumer,
  type IsolatedOptions,
  type IsolatedRoute,
  isolated,
  System,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../lib/testing/kit/clock.js";
import { desk, doomed, type Fate, fate } from "./support.js";

let clock: TestClock;
let system: System;
let group: ConsumerGroup<string>;
let route: IsolatedRoute<string> | undefined;
beforeEach(() => {
  clock = testClock();
  system = new System({ environment: clock.environment, report: false });
  group = new ConsumerGroup({ deadlineMs: Number.POSITIVE_INFINITY, maxAttempts: 5 });
});
afterEach(async () => {
  await system.stop();
  await route?.close();
  route = undefined;
});

/** Routes by the code of a module. */
function by(code: string, options?: IsolatedOptions): IsolatedRoute<string> {
  route = isolated(`data:text/javascript,${encodeURIComponent(code)}`, options);
  group.route = route;
  return route;
}

const staff = (...ids: string[]): void => {
  for (const id of ids) group.join(system.spawn(consumer(() => undefined)), { id });
};

/** The fate of a dispatch that has asked the thread. */
async function asked(payload: string): Promise<Fate<unknown> & { readonly end: Promise<unknown> }> {
  const promise = system.dispatch(group, payload);
  const followed = fate(promise);
  await system.idle();
  return Object.assign(followed, { end: promise.catch((error) => error) });
}

const LOOP = `export default ({ payload }, [first]) => {
  if (payload === "poison") for (;;);
  return first;
};`;

describe("an isolated routing function", () => {
  it("chooses one of the consumers, or its id", async () => {
    staff("ann", "bob");
    by(`export default ({ payload }, consumers) => payload === "id" ? "ann" : consumers[1];`);
    expect((await system.dispatch(group, "id")).deliveredTo).toBe("ann");
    expect((await system.dispatch(group, "itself")).deliveredTo).toBe("bob");
  });

  it("may be any export of its module, and may be asynchronous", async () => {
    staff("ann", "bob");
    by(`export const last = async (_envelope, consumers) => consumers.at(-1);`, { export: "last" });
    expect((await system.dispatch(group, "one")).deliveredTo).toBe("bob");
  });

  it("gets the whole envelope, and the consumers without their pids", async () => {
    staff("ann");
    by(
      `export default (envelope, consumers) => { throw new Error(JSON.stringify([envelope, consumers[0]])); };`,
    );
    const fields = { id: "e", timestamp: 5, causal: { causedBy: "x" }, schema: "order/1", publisher: "shop" };
    const error = await system.dispatch(group, system.envelope("tea", fields)).catch((one) => one);
    const [envelope, first] = JSON.parse(error.cause.message);
    expect(envelope).toEqual({ ...fields, payload: "tea" });
    expect(Object.keys(first).sort()).toEqual([
      "bufferDepth",
      "delivered",
      "id",
      "inFlight",
      "maxBuffer",
      "maxInFlight",
      "pressure",
      "tags",
      "weight",
    ]);
  });

  it("is asked again after a crash", async () => {
    doomed(system, group, "ann", "shutdown");
    staff("bob");
    by(`export default (_envelope, [first]) => first;`);
    expect(await system.dispatch(group, "one")).toMatchObject({ deliveredTo: "bob", reroutedFrom: ["ann"] });
  });

  it("may choose none", async () => {
    staff("ann");
    by(`export default () => undefined;`);
    await expect(system.dispatch(group, "one", { patienceMs: 0 })).rejects.toMatchObject({
      code: "ERR_NO_CONSUMER",
      why: "none",
    });
  });

  it("is asked again when the consumer that it chose has left meanwhile", async () => {
    const ann = desk(system, group, { id: "ann" });
    staff("bob");
    by(`export default (_envelope, [first]) => first;`);
    const one = await asked("one");
    group.leave("ann");
    expect(await one.end).toMatchObject({ deliveredTo: "bob", attempts: 1 });
    expect(ann.deliveries).toEqual([]);
  });
});

describe("an isolated routing function that fails", () => {
  it.each([
    ["throws", `export default () => { throw new RangeError("too far"); };`, "too far"],
    ["does not load", `throw new Error("no module");`, "no module"],
    ["is not there", `export const other = 1;`, "the module has no function default"],
  ])("because it %s, fails that dispatch", async (_why, code, text) => {
    staff("ann");
    by(code);
    const error = await system.dispatch(group, "one").catch((one) => one);
    expect(error).toMatchObject({ code: "ERR_EVALUATION", cause: { code: "ERR_ISOLATED_ROUTE" } });
    expect(error.cause.message).toContain(text);
  });

  it("by an invalid choice, fails that dispatch", async () => {
    staff("ann");
    by(`export default () => 5;`);
    await expect(system.dispatch(group, "one")).rejects.toMatchObject({
      code: "ERR_UNKNOWN_CONSUMER",
      selected: "5",
    });
  });

  it("because the payload cannot be cloned, fails that dispatch", async () => {
    const functions = new ConsumerGroup<unknown>();
    by(`export default (_envelope, [first]) => first;`);
    functions.route = route as IsolatedRoute;
    functions.join(system.spawn(consumer(() => undefined)), { id: "ann" });
    await expect(system.dispatch(functions, () => undefined)).rejects.toMatchObject({
      code: "ERR_EVALUATION",
    });
    expect((await system.dispatch(functions, "text")).deliveredTo).toBe("ann");
  });

  it("by ending its thread, fails that dispatch; the next choice gets a new thread", async () => {
    staff("ann");
    by(`export default ({ payload }, [first]) => payload === "end" ? process.exit() : first;`);
    await expect(system.dispatch(group, "end")).rejects.toMatchObject({
      cause: { code: "ERR_ISOLATED_ROUTE" },
    });
    expect((await system.dispatch(group, "one")).deliveredTo).toBe("ann");
  });

  it("by ending its thread, fails its own choice alone, however many others wait [D41]", async () => {
    staff("ann");
    by(`export default ({ payload }, [first]) => payload === "end" ? process.exit() : first;`);
    const payloads = ["one", "end", "two", "end", "three"];
    const fates = await Promise.all(payloads.map(asked));
    const ends = await Promise.all(fates.map((one) => one.end));
    expect(ends).toMatchObject([
      { deliveredTo: "ann" },
      { cause: { code: "ERR_ISOLATED_ROUTE" } },
      { deliveredTo: "ann" },
      { cause: { code: "ERR_ISOLATED_ROUTE" } },
      { deliveredTo: "ann" },
    ]);
  });

  it("by ending its thread later, fails its own choice alone, even beside slow ones [D41]", async () => {
    staff("ann");
    by(`export default async ({ payload }, [first]) => {
      await new Promise((done) => setTimeout(done, payload === "throw" ? 5 : 50));
      if (payload === "throw") setTimeout(() => { throw new Error("a stray error"); }).ref();
      if (payload === "throw") await new Promise(() => undefined);
      return first;
    };`);
    const fates = await Promise.all(["one", "throw", "two"].map(asked));
    const ends = await Promise.all(fates.map((one) => one.end));
    expect(ends).toMatchObject([
      { deliveredTo: "ann" },
      { cause: { message: "a stray error" } },
      { deliveredTo: "ann" },
    ]);
  });

  it("while its module is loaded, fails each choice, one by one", async () => {
    staff("ann");
    by("process.exit();");
    const fates = await Promise.all(["one", "two", "three"].map(asked));
    const ends = await Promise.all(fates.map((one) => one.end));
    expect(ends).toMatchObject(ends.map(() => ({ cause: { code: "ERR_ISOLATED_ROUTE" } })));
  });

  it("by an endless loop, times out alone: the choices behind it are made again", async () => {
    staff("ann");
    by(LOOP);
    const poison = await asked("poison");
    const behind = await asked("behind");
    await clock.advance(4_999);
    expect(poison.done).toBe(false);
    await clock.advance(1);
    expect(poison.error).toMatchObject({ code: "ERR_EVALUATION", cause: { code: "ERR_ROUTE_TIMEOUT" } });
    expect(await behind.end).toMatchObject({ deliveredTo: "ann" });
    expect((await system.dispatch(group, "next")).deliveredTo).toBe("ann");
  });

  it("by an endless loop whose dispatch was withdrawn, delays no other choice", async () => {
    staff("ann");
    by(LOOP, { timeoutMs: Number.POSITIVE_INFINITY });
    const controller = new AbortController();
    const poison = fate(system.dispatch(group, "poison", { signal: controller.signal }));
    await system.idle();
    controller.abort("enough");
    await system.idle();
    expect(poison.error).toBe("enough");
    expect((await system.dispatch(group, "next")).deliveredTo).toBe("ann");
  });
});

describe("a choice whose dispatch was withdrawn", () => {
  const loopFirst = async (timeout?: number): Promise<[AbortController, Fate<unknown>]> => {
    staff("ann");
    by(LOOP, timeout === undefined ? {} : { timeoutMs: timeout });
    const controller = new AbortController();
    void system.dispatch(group, "poison", { signal: controller.signal }).catch(() => undefined);
    await system.idle();
    const behind = await asked("behind");
    controller.abort("enough");
    await system.idle();
    return [controller, behind];
  };

  it("and that loops, times out instead of the choices behind it [D41]", async () => {
    const [, behind] = await loopFirst();
    await clock.advance(5_000);
    await (behind as Fate<unknown> & { readonly end: Promise<unknown> }).end;
    expect(behind.value).toMatchObject({ deliveredTo: "ann" });
  });

  it("and that loops without a time limit, delays no choice behind it [D41]", async () => {
    const [, behind] = await loopFirst(Number.POSITIVE_INFINITY);
    await (behind as Fate<unknown> & { readonly end: Promise<unknown> }).end;
    expect(behind.value).toMatchObject({ deliveredTo: "ann" });
  });
});

describe("closing an isolated routing function", () => {
  it("fails the open choices, and it may be used again", async () => {
    staff("ann");
    const closed = by(LOOP);
    const poison = await asked("poison");
    await closed.close();
    await system.idle();
    expect(poison.error).toMatchObject({ cause: { code: "ERR_ISOLATED_ROUTE" } });
    expect((await system.dispatch(group, "next")).deliveredTo).toBe("ann");
  });

  it("happens at the end of `await using`", async () => {
    staff("ann");
    const poison = await (async () => {
      await using _closed = by(LOOP);
      return await asked("poison");
    })();
    await system.idle();
    expect(poison.error).toMatchObject({ code: "ERR_EVALUATION" });
  });
});
