// `context: "sender"`: each message is handled in the asynchronous context of its sender, however it came.

import { AsyncLocalStorage } from "node:async_hooks";
import { test as given } from "@fast-check/vitest";
import fc from "fast-check";
import {
  type Body,
  ConsumerGroup,
  type Context,
  consumer,
  custom,
  defineServer,
  type Pid,
  type ReplyTo,
  System,
  type SystemOptions,
  supervisor,
  task,
  taskStream,
  taskSupervisor,
} from "signalbox";
import { explore, testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { ask, busy } from "../support/callees.js";
import { macrotask } from "../support/host.js";
import { sleep } from "../support/puppet.js";

const store = new AsyncLocalStorage<string>();
const here = (): string => store.getStore() ?? "none";
const SENDERS = ["ann", "bob", "cyd"];

const made = (options: SystemOptions = {}): System =>
  store.run("home", () => new System({ report: false, context: "sender", ...options }));

/** Runs `act` in the name of each sender, all at once, and gives what was noted under their names. */
async function asEach(
  system: System,
  act: (sender: string, note: () => void) => unknown,
  least = 1,
): Promise<Record<string, string[]>> {
  const seen: Record<string, string[]> = {};
  for (const sender of SENDERS) seen[sender] = [];
  const acts = SENDERS.map((sender) =>
    store.run(sender, () => act(sender, () => void seen[sender]?.push(here()))),
  );
  await Promise.all(acts);
  while (Object.values(seen).some((notes) => notes.length < least)) await macrotask();
  await system.idle();
  return seen;
}

/** Each sender's notes are all of its own context. */
const own = (notes: Record<string, string[]>): boolean =>
  Object.entries(notes).every(([sender, all]) => all.length > 0 && all.every((one) => one === sender));

type Note = () => void;

describe('with `context: "sender"`, the sender\'s context is where', () => {
  const ways: Record<string, (system: System) => (sender: string, note: Note) => unknown> = {
    "a message is handled, also after awaits": (system) => {
      const pid = system.spawn<Note>({
        handle: async (_ctx, note) => {
          note();
          await null;
          note();
          await macrotask();
          note();
        },
      });
      return (_sender, note) => system.send(pid, note);
    },
    "a message by name is handled": (system) => {
      system.spawn<Note>({ handle: (_ctx, note) => note() }, { name: "named" });
      return (_sender, note) => system.send("named", note);
    },
    "what is passed on is handled": (system) => {
      const last = system.spawn<Note>({ handle: (_ctx, note) => note() });
      const first = system.spawn<Note>({
        handle: (ctx, note) => macrotask().then(() => ctx.send(last, note)),
      });
      return (_sender, note) => system.send(first, note);
    },
    "a call is handled, and its caller goes on": (system) => {
      const pid = system.spawn<{ note: Note; to: ReplyTo<number> }>({
        handle: (ctx, { note, to }) => {
          note();
          ctx.reply(to, 1);
        },
      });
      return async (_sender, note) => {
        await system.call(pid, (to: ReplyTo<number>) => ({ note, to }));
        note();
      };
    },
    "calls and casts of a server are handled": (system) => {
      const kept: Note[] = [];
      const Server = defineServer({
        init: () => 0,
        calls: { ask: (_state, note: Note) => macrotask().then(note) },
        casts: {
          tell: (_state, note: Note) => {
            kept.push(note);
            note();
          },
        },
      });
      return async (_sender, note) => {
        const ref = await system.start(Server);
        ref.cast.tell(note);
        await ref.call.ask(note);
      };
    },
    "the reply of an `ask` is handled, whoever answers": (system) => {
      const waiting: [Context<ReplyTo<number>>, ReplyTo<number>][] = [];
      const echo = system.spawn<ReplyTo<number>>({
        handle: (ctx, to) => {
          waiting.push([ctx, to]);
          // The last who asks has all of them answered.
          if (waiting.length === SENDERS.length) for (const [by, asker] of waiting) by.reply(asker, 1);
        },
      });
      const asker = system.spawn<Note>({
        handle: (ctx, note) => ctx.ask(echo, (to: ReplyTo<number>) => to, note),
      });
      return (_sender, note) => system.send(asker, note);
    },
    "timers that were set there go off": (system) => {
      const target = system.spawn<Note>({ handle: (_ctx, note) => note() });
      const setter = system.spawn<Note>({
        handle: (ctx, note) => {
          ctx.sendAfter(target, note, 1);
          ctx.runAfter(1, note);
          const beat = ctx.sendInterval(target, note, 1);
          ctx.runAfter(5, () => ctx.cancel(beat));
        },
      });
      return (_sender, note) => {
        system.send(setter, note);
        system.sendAfter(target, note, 1);
      };
    },
    "a function of a body's timer runs, when the body set it there": (system) => {
      const body = system.spawn<Note>(async (ctx) => {
        for (;;) {
          const note = await ctx.receive();
          ctx.senderContext()(() => ctx.runAfter(1, note));
        }
      });
      return (_sender, note) => system.send(body, note);
    },
    "a function runs that was wrapped there": (system) => {
      const pid = system.spawn<Note>({ handle: (ctx, note) => void setImmediate(ctx.wrap(note)) });
      return (_sender, note) => system.send(pid, note);
    },
  };

  it.each(Object.entries(ways))("%s [X3]", async (_name, way) => {
    await using system = made();
    expect(await asEach(system, way(system))).toSatisfy(own);
  });

  it("a dispatch is routed, worked on, re-routed after a crash and compensated [X5]", async () => {
    await using system = made();
    const group = new ConsumerGroup<{ note: Note; tries: number }>({
      patienceMs: 1_000,
      maxAttempts: 5,
      route: (envelope, [first]) => {
        envelope.payload.note();
        return first;
      },
    });
    const work = async (job: { note: Note; tries: number }): Promise<string> => {
      job.note();
      await macrotask();
      job.note();
      if (job.tries++ < 2) throw new Error("dropped");
      return here();
    };
    const picker = consumer(work, { group });
    await system.start(supervisor({ intensity: 100, children: [{ id: "picker", start: picker }] }));
    const replies: Record<string, unknown> = {};
    const seen = await asEach(system, async (sender, note) => {
      const outcome = await system.dispatch(group, { note, tries: 0 });
      expect(outcome.reroutedFrom.length).toBeGreaterThanOrEqual(2);
      replies[sender] = outcome.reply;
      note();
    });
    expect(seen).toSatisfy(own);
    expect(replies).toEqual({ ann: "ann", bob: "bob", cyd: "cyd" });

    const compensated: string[] = [];
    const careful = new ConsumerGroup<string>({
      onCrash: "compensate",
      compensate: async () => {
        await null;
        compensated.push(here());
      },
    });
    system.spawn(
      consumer<string>(
        () => {
          throw new Error("broken");
        },
        { group: careful },
      ),
    );
    await system.idle();
    await store.run("ann", () => system.dispatch(careful, "work").catch(() => undefined));
    expect(compensated).toEqual(["ann"]);
  });
});

describe('with `context: "sender"`, the system\'s context is where', () => {
  it("signals are handled and children restarted: a restart is not part of the request that crashed [X4]", async () => {
    await using system = made();
    const seen: string[] = [];
    const note = (): void => void seen.push(here());
    const Child = defineServer({ init: note, casts: { fail: () => Promise.reject(new Error("boom")) } });
    await store.run("ann", () =>
      system.start(supervisor({ children: [{ id: "child", name: "child", start: Child }] })),
    );
    const watcher = (ctx: Context<never>): void => void ctx.monitor("child");
    store.run("bob", () => system.spawn<never>({ init: watcher, handle: note, signal: note }));
    await system.idle();
    store.run("cyd", () => Child.at(system, "child").cast.fail());
    await macrotask();
    await system.idle();
    // The start is part of what "ann" asked for; the signal and the restart are nobody's.
    expect(seen).toEqual(["ann", "home", "home"]);
  });

  it("a body continues after a receive; it can act in the context of the received message, at once and later [X4]", async () => {
    await using system = made();
    const seen: unknown[] = [];
    const body: Body<string | number | undefined> = async (ctx) => {
      ctx.senderContext()(() => seen.push(["before", here()]));
      const runners = [];
      for (let n = 0; n < 4; n++) {
        const message = await ctx.receive();
        seen.push([message, here(), ctx.senderContext()(here)]);
        runners.push(ctx.senderContext());
      }
      ctx.trapExit(true);
      await ctx.receiveSignal();
      seen.push(["signal", here(), ctx.senderContext()(here)]);
      seen.push(runners.map((run) => run(here)));
      seen.push(await runners[0]?.(() => macrotask().then(here)));
    };
    const pid = store.run("eve", () => system.spawn(body));
    for (const [n, sender] of ["ann", "bob", "cyd"].entries()) {
      await macrotask();
      store.run(sender, () => system.send(pid, n === 2 ? undefined : n === 1 ? 7 : "text"));
    }
    system.send(pid, "nobody's");
    await system.idle();
    store.run("bob", () => system.exit(pid, custom("a signal")));
    await system.exited(pid);
    expect(seen).toEqual([
      ["before", "home"],
      ["text", "eve", "ann"],
      [7, "eve", "bob"],
      [undefined, "eve", "cyd"],
      ["nobody's", "eve", "none"],
      ["signal", "eve", "home"],
      ["ann", "bob", "cyd", "none"],
      "ann",
    ]);
  });
});

describe("a process begins in the context of the code that spawned it", () => {
  it("as a body, by its init, and as a process that one of them spawns [X9]", async () => {
    await using system = made();
    const seen = await asEach(
      system,
      async (_sender, note) => {
        const body = system.spawn(async (ctx) => {
          note();
          await macrotask();
          note();
          ctx.spawn(note);
        });
        await system.exited(body);
        await system.start(defineServer({ init: note }));
      },
      4,
    );
    for (const sender of SENDERS) expect(seen[sender]).toEqual(Array(4).fill(sender));
  });

  it("as a task, and as each task of a stream [X9]", async () => {
    await using system = made();
    const tasks = await system.start(taskSupervisor());
    const seen = await asEach(system, async (_sender, note) => {
      const twice = async (): Promise<void> => {
        note();
        await macrotask();
        note();
      };
      await task(system, twice).value();
      await tasks.nolink(system, twice).value();
      for await (const _ of taskStream(system, [1, 2, 3, 4], twice, { concurrency: 2 })) note();
    });
    for (const sender of SENDERS) expect(seen[sender]).toEqual(Array(16).fill(sender));
  });

  it("and keeps none of it for its next messages [X9]", async () => {
    await using system = made();
    const seen: string[] = [];
    const note = (): void => void seen.push(here());
    const pid = store.run("ann", () => system.spawn<string>({ init: note, handle: note }));
    await system.idle();
    store.run("bob", () => system.send(pid, "hello"));
    await system.idle();
    expect(seen).toEqual(["ann", "bob"]);
  });
});

describe("a message that carries a context", () => {
  it("appears as the plain message in dead letters, crash reports, bounded mailboxes and selective receives", async () => {
    await using system = made();
    const letters: unknown[] = [];
    const crashes: unknown[] = [];
    system.events.on("deadLetter", ({ message, reason }) => letters.push([message, reason]));
    system.events.on("crash", ({ lastMessage }) => crashes.push(lastMessage));
    const small = system.spawn<number>(sleepOnce, { mailbox: { capacity: 1, overflow: "drop-oldest" } });
    for (const n of [1, 2, 3]) system.send(small, n);
    system.exit(small, "kill");
    const broken = system.spawn<string>({
      handle: () => {
        throw new Error("boom");
      },
    });
    system.send(broken, "the last");
    const body = system.spawn<number>(async (ctx) => {
      expect(await ctx.receive((n) => n > 1)).toBe(2);
      expect(await ctx.receive()).toBe(1);
      throw new Error("done");
    });
    system.send(body, 1);
    system.send(body, 2);
    await system.idle();
    expect(letters).toEqual([
      [1, "mailbox-full"],
      [2, "mailbox-full"],
      [3, "exited"],
    ]);
    expect(crashes).toEqual([undefined, "the last", 1]);
  });

  it("is withdrawn like any other message: the callee never sees a call that timed out", async () => {
    const clock = testClock();
    await using system = made({ environment: clock.environment });
    const callee = busy(system);
    const call = ask(system, callee.pid, 1, { timeoutMs: 10 });
    expect(await clock.until(call)).toBe("ERR_CALL_TIMEOUT");
    expect(system.info(callee.pid)?.mailboxDepth).toBe(0);
    callee.free();
    await clock.settle();
    expect(callee.asked).toEqual([]);
  });

  it("arrives at the same process in the same order, for every schedule and delay [X6]", async () => {
    await explore(
      async (sim) => {
        const system = store.run("home", () => sim.system({ context: "sender" }));
        const seen: string[] = [];
        const target = system.spawn<string>({
          handle: async (_ctx, text) => {
            seen.push(`${text} in ${here()}`);
            await null;
            seen.push(`${text} in ${here()}`);
          },
        });
        const echo = system.spawn<{ text: string; to: ReplyTo<string> }>({
          handle: (ctx, { text, to }) => {
            ctx.send(target, text);
            ctx.reply(to, here());
          },
        });
        await Promise.all(
          SENDERS.map((sender) =>
            store.run(sender, async () => {
              system.send(target, sender);
              expect(await system.call(echo, (to: ReplyTo<string>) => ({ text: sender, to }))).toBe(sender);
              expect(here()).toBe(sender);
              system.sendAfter(target, sender, 5);
            }),
          ),
        );
        await sim.sleep(10);
        await system.idle();
        expect(seen.sort()).toEqual(SENDERS.flatMap((sender) => new Array(6).fill(`${sender} in ${sender}`)));
      },
      { schedules: 300, seed: 9, faults: { delay: { of: /./, atMost: 3 } } },
    );
  });

  interface Hop {
    readonly origin: string;
    readonly left: number;
  }

  given.prop(
    [fc.array(fc.array(fc.nat(4), { minLength: 1, maxLength: 6 }), { minLength: 1, maxLength: 6 })],
    {
      numRuns: 100,
    },
  )("keeps it along any path through callbacks, bodies, timers and calls", async (paths) => {
    const clock = testClock();
    const system = made({ environment: clock.environment });
    const wrong: string[] = [];
    let arrived = 0;
    const check = ({ origin }: Hop): void => {
      arrived++;
      if (here() !== origin) wrong.push(`${origin} in ${here()}`);
    };
    const plans = new Map(paths.map((path, n) => [`sender ${n}`, path]));
    const pids: Pid<Hop>[] = [];
    const onward = (ctx: Context<Hop>, hop: Hop): unknown => {
      check(hop);
      if (hop.left === 0) return undefined;
      const way = plans.get(hop.origin)?.[hop.left - 1] ?? 0;
      const next = { ...hop, left: hop.left - 1 };
      const to = pids[(hop.left + way) % pids.length] as Pid<Hop>;
      if (way === 0) return ctx.sendAfter(to, next, hop.left);
      if (way === 1) return void ctx.runAfter(hop.left, () => ctx.send(to, next));
      if (way === 2) return macrotask().then(() => ctx.send(to, next));
      if (way === 3) return void setImmediate(ctx.wrap(() => ctx.send(to, next)));
      return ctx.send(to, next);
    };
    pids.push(system.spawn<Hop>({ handle: (ctx, hop) => void onward(ctx, hop) }));
    pids.push(
      system.spawn<Hop>(async (ctx) => {
        for (;;) {
          const hop = await ctx.receive();
          await ctx.senderContext()(() => onward(ctx, hop));
        }
      }),
    );
    pids.push(system.spawn<Hop>({ handle: (ctx, hop) => void onward(ctx, hop) }, { trapExit: true }));
    for (const [origin, path] of plans)
      store.run(origin, () => system.send(pids[0] as Pid<Hop>, { origin, left: path.length }));
    for (let n = 0; n < 40; n++) await clock.advance(5);
    await clock.until(system.stop());
    expect(wrong).toEqual([]);
    expect(arrived).toBe([...plans.values()].reduce((sum, path) => sum + path.length + 1, 0));
  });
});

describe("the option `context`", () => {
  it("is one of two words", () => {
    expect(() => new System({ context: "mine" as never })).toThrow(
      /context must be one of "system", "sender"/,
    );
  });

  it('gives `senderContext` nothing to carry when it is "system": functions run in the context of the process', async () => {
    await using system = made({ context: "system" });
    const seen: string[] = [];
    const pid = system.spawn<string>(async (ctx) => {
      await ctx.receive();
      seen.push(ctx.senderContext()(here));
    });
    store.run("ann", () => system.send(pid, "go"));
    await system.exited(pid);
    expect(seen).toEqual(["home"]);
  });
});

async function sleepOnce(): Promise<void> {
  await sleep({ receive: () => new Promise(() => undefined) });
}
