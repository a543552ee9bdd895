// Promise hooks are taken away while no process's code runs or waits for the host, and nobody can tell.

import { ownerOf, Pid, type ReplyTo, System } from "signalbox";
import { afterEach, expect, test, vi } from "vitest";
import { origin } from "../../lib/process/origin.js";
import { macrotask } from "../support/host.js";

/** Whether the promise hooks are there: they mark a promise that is made in somebody's name. */
function marks(): boolean {
  const { current } = origin;
  origin.current = new Pid({ name: "shop", id: "1" }, 1, undefined, undefined);
  const promise = Promise.resolve();
  origin.current = current;
  return ownerOf(promise) !== undefined;
}

const atRest = (): Promise<void> => vi.waitFor(() => expect(marks()).toBe(false), { timeout: 30_000 });

/** A system looks for rest after a turn. */
const turnAndRest = (system: System): Promise<void> => {
  system.spawn(() => undefined);
  return atRest();
};

const LONG_MS = 200;
const long = (): Promise<void> => new Promise((done) => setTimeout(done, LONG_MS));

afterEach(() => {
  expect(marks()).toBe(false);
});

test("an idle system leaves the host's promises alone, and marks promises again when a process runs", async () => {
  await using system = new System({ report: false });
  const made: Promise<unknown>[] = [];
  const pid = system.spawn<string>({ handle: () => void made.push(Promise.resolve()) });
  await turnAndRest(system);
  system.send(pid, "go");
  await vi.waitFor(() => expect(made).toHaveLength(1));
  expect(made.map(ownerOf)).toEqual([pid]);
  await atRest();
});

test("a rejection that no code awaited crashes the process that created it, also after an idle time", async () => {
  await using system = new System({ report: false });
  const pid = system.spawn<string>({
    handle: () => {
      const float = async (): Promise<void> => {
        await null;
        void Promise.reject(new Error("floated"));
      };
      void float();
    },
  });
  await turnAndRest(system);
  const gone = system.exited(pid);
  system.send(pid, "go");
  expect(await gone).toMatchObject({ type: "crash", error: { message: "floated" } });
});

test("a body that waits in a receive lets the hooks be removed, and owns the promises that it creates afterwards", async () => {
  await using system = new System({ report: false });
  const made: Promise<unknown>[] = [];
  const make = (): void => void made.push(Promise.resolve());
  const pid = system.spawn<string>(async (ctx) => {
    for (let i = 0; i < 2; i++) {
      await ctx.receive();
      make();
      await null;
      make();
      await macrotask();
      make();
    }
  });
  for (let i = 0; i < 2; i++) {
    await atRest();
    system.send(pid, "go");
    await vi.waitFor(() => expect(made).toHaveLength(3 * (i + 1)));
  }
  expect(made.map(ownerOf)).toEqual(new Array(6).fill(pid));
});

test("a body whose call or receive times out meanwhile lets the hooks be removed too", async () => {
  await using system = new System({ report: false });
  const made: Promise<unknown>[] = [];
  const make = (): void => void made.push(Promise.resolve());
  const silent = system.spawn<ReplyTo<string>>({ handle: () => undefined });
  const pid = system.spawn<string>(async (ctx) => {
    try {
      await ctx.call(silent, (replyTo: ReplyTo<string>) => replyTo, { timeoutMs: 2 * LONG_MS });
    } catch {
      make();
    }
    try {
      await ctx.receive({ timeoutMs: 2 * LONG_MS });
    } catch {
      make();
    }
  });
  await atRest();
  expect(made).toHaveLength(0);
  await system.exited(pid);
  expect(made.map(ownerOf)).toEqual([pid, pid]);
  await atRest();
});

test("an asynchronous handler that waits for a call lets the hooks be removed", async () => {
  await using system = new System({ report: false });
  const made: Promise<unknown>[] = [];
  let answer: () => void = () => undefined;
  const slow = system.spawn<ReplyTo<string>>({
    handle: (ctx, replyTo) => {
      answer = ctx.wrap(() => ctx.reply(replyTo, "yes"));
    },
  });
  const pid = system.spawn<string>({
    handle: async (ctx) => {
      await ctx.call(slow, (replyTo: ReplyTo<string>) => replyTo);
      made.push(Promise.resolve());
    },
  });
  system.send(pid, "go");
  await atRest();
  answer();
  await vi.waitFor(() => expect(made).toHaveLength(1));
  expect(made.map(ownerOf)).toEqual([pid]);
  await atRest();
});

test("a process that waits for the host keeps the hooks, and owns the promises that it creates when the host is done", async () => {
  await using system = new System({ report: false });
  const made: Promise<unknown>[] = [];
  const opens: (() => void)[] = [];
  const gate = (): Promise<void> => new Promise((open) => opens.push(open));
  const deep = async (): Promise<void> => {
    await gate();
    made.push(Promise.resolve());
  };
  const waits = [
    () => gate().then(() => void made.push(Promise.resolve())),
    () => deep(),
    async () => await Promise.all([gate(), deep()]),
    async () => {
      await 1;
      await deep();
    },
  ];
  for (const wait of waits) {
    const pid = system.spawn<string>({ handle: () => void wait() });
    system.send(pid, "go");
    await long();
    expect(marks()).toBe(true);
    made.length = 0;
    for (const open of opens.splice(0)) open();
    await vi.waitFor(() => expect(made).toHaveLength(1));
    expect(made.map(ownerOf)).toEqual([pid]);
    await atRest();
  }
});

test("a wrapped function that the host calls in an idle time creates promises of its process", async () => {
  await using system = new System({ report: false });
  const made: Promise<unknown>[] = [];
  let call: () => void = () => undefined;
  const pid = system.spawn<string>({
    init: (ctx) => {
      call = ctx.wrap(() => void made.push(Promise.resolve()));
    },
    handle: () => undefined,
  });
  await turnAndRest(system);
  call();
  expect(made.map(ownerOf)).toEqual([pid]);
  system.send(pid, "the next turn looks for rest");
  await atRest();
});

test("two systems that run in turn each own their promises", async () => {
  await using first = new System({ report: false });
  await using second = new System({ report: false });
  const made: [Pid, Promise<unknown>][] = [];
  const [one, two] = [first, second].map((system) =>
    system.spawn<string>({ handle: (ctx) => void made.push([ctx.self, Promise.resolve()]) }),
  ) as [Pid<string>, Pid<string>];
  for (let i = 0; i < 10; i++) {
    first.send(one, "go");
    await new Promise((done) => setTimeout(done, 15 + i));
    second.send(two, "go");
    await new Promise((done) => setTimeout(done, 15 + 2 * i));
  }
  await vi.waitFor(() => expect(made).toHaveLength(20));
  for (const [whose, promise] of made) expect(ownerOf(promise)).toBe(whose);
  await atRest();
});
