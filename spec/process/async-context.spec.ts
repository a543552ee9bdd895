// Where code of a process finds itself: in the asynchronous context in which its system was made, whoever set it going.

import { AsyncLocalStorage } from "node:async_hooks";
import {
  ConsumerGroup,
  type Context,
  consumer,
  defineServer,
  type Environment,
  type ReplyTo,
  System,
  supervisor,
} from "signalbox";
import { simulate, testClock } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { macrotask } from "../support/host.js";

const store = new AsyncLocalStorage<string>();
const here = (): string => store.getStore() ?? "none";

/** Runs `work` with a system that was made where the store is `home`. */
async function athome(work: (system: System) => Promise<unknown>, environment?: Environment): Promise<void> {
  const system = store.run("home", () => new System({ ...(environment && { environment }), report: false }));
  try {
    await work(system);
  } finally {
    await system.stop();
  }
}

describe("of many requests at once", () => {
  it("each is handled in the context of the system, not in its own or another request's context [X1]", async () => {
    await athome(async (system) => {
      const seen: string[] = [];
      const note = async (): Promise<string> => {
        seen.push(here());
        await null;
        seen.push(here());
        return here();
      };
      const server = await system.start(defineServer({ init: () => 0, calls: { ask: note } }));
      const body = system.spawn<ReplyTo<string>>(async (ctx) => {
        for (;;) ctx.reply(await ctx.receive(), await note());
      });
      const callbacks = system.spawn<ReplyTo<string>>({
        handle: async (ctx, to) => ctx.reply(to, await note()),
      });
      const answers = Array.from({ length: 200 }, (_, n) =>
        store.run(`request ${n}`, async () => {
          const to = (replyTo: ReplyTo<string>): ReplyTo<string> => replyTo;
          if (n % 7 === 0) await macrotask();
          const all = [
            await server.call.ask(),
            await system.call(body, to),
            await system.call(callbacks, to),
          ];
          return [...all, here()];
        }),
      );
      expect(await Promise.all(answers)).toEqual(
        answers.map((_, n) => ["home", "home", "home", `request ${n}`]),
      );
      expect(new Set(seen)).toEqual(new Set(["home"]));
    });
  });
});

type Note = () => void;

/** Code that runs for a system, and how a stranger sets it going. Each notes where it is at least once. */
const ways: Record<string, (system: System, note: Note) => unknown> = {
  "a handler": (system, note) => system.send(system.spawn<string>({ handle: note }), "go"),
  "an `init`": (system, note) => void system.spawn({ init: note, handle: note }),
  "an asynchronous `init`": (system, note) =>
    void system.spawn({ init: () => macrotask().then(note), handle: note }),
  "a body from its first line on": (system, note) =>
    void system.spawn(async (ctx) => {
      note();
      await null;
      note();
      await macrotask();
      note();
      await ctx.receive({ timeoutMs: 0 }).catch(note);
      note();
    }),
  "a body after a receive": (system, note) => {
    const pid = system.spawn<string>(async (ctx) => {
      for (;;) {
        await ctx.receive();
        note();
      }
    });
    system.send(pid, "one");
    setImmediate(() => system.send(pid, "two"));
  },
  "a filter of a receive": (system, note) => {
    const pid = system.spawn<string>(async (ctx) => {
      await ctx.receive(() => {
        note();
        return true;
      });
    });
    setImmediate(() => system.send(pid, "go"));
  },
  "the handler of a message from a timer": (system, note) =>
    void system.sendAfter(system.spawn<string>({ handle: note }), "go", 1),
  "a timer of a process": (system, note) =>
    void system.spawn(async (ctx) => {
      ctx.runAfter(1, note);
      await ctx.receive();
    }),
  "a timer of a body that goes off after a stranger's": async (system, note) => {
    store.run("home", () =>
      system.spawn(async (ctx) => {
        ctx.runAfter(2, note);
        await ctx.receive();
      }),
    );
    await system.idle();
    system.sendAfter("nobody", "go", 1);
  },
  "a timer of a process made from callbacks": (system, note) =>
    void system.spawn({ init: (ctx) => void ctx.runAfter(1, note), handle: note }),
  "a function wrapped by a process, called by the stranger": (system, note) =>
    new Promise<void>((done) => {
      system.spawn(async (ctx) => {
        const wrapped = ctx.wrap(note);
        store.run("inner stranger", wrapped);
        done();
        await ctx.receive();
      });
    }),
  "a signal": async (system, note) => {
    const other = system.spawn({ handle: note });
    system.spawn({ init: (ctx) => void ctx.monitor(other), handle: note, signal: note });
    await system.idle();
    system.exit(other, "kill");
  },
  "`terminate` after a shutdown": async (system, note) => {
    const pid = system.spawn({ handle: note, terminate: note }, { trapExit: true });
    await system.idle();
    system.exit(pid, "shutdown");
  },
  "`terminate` after a throw in what a host's callback runs": async (system, note) => {
    let fail: Note | undefined;
    const init = (ctx: Context<never>): void => {
      fail = ctx.wrap(() => {
        throw new Error("boom");
      });
    };
    system.spawn<never>({ init, handle: note, terminate: note });
    await system.idle();
    fail?.();
  },
  "`terminate` after a rejection that nobody awaited": (system, note) =>
    void system.spawn({
      init: () => void store.run("inner", () => Promise.reject(new Error("boom"))),
      handle: note,
      terminate: note,
    }),
  "a listener on `ctx.signal`": async (system, note) => {
    const pid = system.spawn({ init: (ctx) => ctx.signal.addEventListener("abort", note), handle: note });
    await system.idle();
    system.exit(pid, "kill");
  },
  "a listener of an event": (system, note) => {
    system.events.on("deadLetter", note);
    system.send("nobody", "go");
  },
  "what handles the reply of an `ask`": (system, note) => {
    const echo = system.spawn<ReplyTo<string>>({ handle: (ctx, to) => ctx.reply(to, "yes") });
    const asker = system.spawn<string>({
      handle: (ctx) => ctx.ask(echo, (to: ReplyTo<string>) => to, note),
    });
    system.send(asker, "go");
  },
  "a child that is restarted because a stranger's message ended it": async (system, note) => {
    const child = defineServer({ init: note, casts: { fail: () => Promise.reject(new Error("boom")) } });
    await system.start(supervisor({ children: [{ id: "child", name: "child", start: child }] }));
    child.at(system, "child").cast.fail();
    await macrotask();
  },
  "routing and work of a dispatch": async (system, note) => {
    const group = new ConsumerGroup<string>({
      patienceMs: 1_000,
      route: (_envelope, [first]) => {
        note();
        return first;
      },
    });
    system.spawn(consumer<string>(note, { group }));
    await system.dispatch(group, "work");
  },
};

describe("the context of its system is where", () => {
  it.each(Object.entries(ways))("%s runs [X2]", async (_name, way) => {
    await athome(async (system) => {
      const seen: string[] = [];
      await store.run("stranger", () => way(system, () => void seen.push(here())));
      for (let n = 0; n < 5 || seen.length === 0; n++) await macrotask();
      expect(new Set(seen)).toEqual(new Set(["home"]));
    });
  });

  it("a report is printed", async () => {
    const seen: string[] = [];
    const report = (): void => void seen.push(here());
    const system = store.run("home", () => new System({ report }));
    const pid = system.spawn({ handle: () => undefined });
    store.run("stranger", () => system.exit(pid, "kill"));
    await system.stop();
    expect(seen).toEqual(["home"]);
  });

  it("code runs on a test clock", async () => {
    const clock = testClock();
    await athome(async (system) => {
      const seen: string[] = [];
      const note = (): void => void seen.push(here());
      await store.run("stranger", async () => {
        const pid = system.spawn<string>({ handle: note });
        system.send(pid, "now");
        system.sendAfter(pid, "later", 1_000);
        await clock.advance(1_000);
      });
      expect(seen).toEqual(["home", "home"]);
    }, clock.environment);
  });

  it("code runs under the simulator", async () => {
    const seen: string[] = [];
    const note = (): void => void seen.push(here());
    await simulate(async (sim) => {
      const system = store.run("home", () => sim.system());
      const pid = system.spawn<string>(async (ctx) => {
        await ctx.receive();
        note();
      });
      store.run("stranger", () => {
        system.spawn({ init: note, handle: note });
        system.send(pid, "go");
        system.sendAfter(system.spawn<string>({ handle: note }), "later", 1_000);
      });
      await system.idle();
      await sim.sleep?.(1_000);
    });
    expect(seen.length).toBeGreaterThan(1);
    expect(new Set(seen)).toEqual(new Set(["home"]));
  });
});

describe("a store that a process sets for itself", () => {
  it("is available in the code that a body awaits within it, and not after it", async () => {
    await athome(async (system) => {
      const seen: string[] = [];
      const pid = system.spawn<string>(async (ctx) => {
        await store.run("own", async () => {
          await ctx.receive();
          seen.push(here());
        });
        seen.push(here());
      });
      store.run("stranger", () => system.send(pid, "go"));
      await system.exited(pid);
      expect(seen).toEqual(["own", "home"]);
    });
  });

  it("with `enterWith`, lasts until the end of the turn at most", async () => {
    await athome(async (system) => {
      const seen: string[] = [];
      const note = (): void => void seen.push(here());
      const leaky = system.spawn<string>({ handle: () => store.enterWith("left behind") });
      const other = system.spawn<string>({ handle: note, signal: note }, { trapExit: true });
      system.events.on("deadLetter", () => store.enterWith("left behind"));
      for (let n = 0; n < 3; n++) {
        system.send(leaky, "go");
        await system.idle();
        system.send("nobody", "lost");
        system.send(other, "go");
        system.sendAfter(other, "go", 1);
        while (seen.length < 2 * n + 2) await macrotask();
      }
      system.events.on("exit", note);
      system.exit(leaky, "kill");
      expect(seen).toEqual(new Array(7).fill("home"));
    });
  });
});
