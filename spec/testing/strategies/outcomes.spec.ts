// An exhaustive search skips orders of independent steps. Each test has steps that share one kind of state of the kernel, in an
// order that matters, and compares the search with one that skips nothing.

import { type Context, type Pid, type ReplyTo, type System, stop, type TimerRef } from "signalbox";
import { describe, test } from "vitest";
import { expectAllOutcomes } from "../support/outcomes.js";

/** A body that does one thing, and stays. */
function does(system: System, what: () => void): Pid<unknown> {
  return system.spawn<unknown>((ctx) => {
    what();
    return ctx.receive();
  });
}

/** A process that handles messages and counts them. */
function counter(system: System, seen: Record<string, unknown>, as = "handled"): Pid<unknown> {
  let count = 0;
  seen[as] = 0;
  return system.spawn<unknown>({
    handle: () => {
      seen[as] = ++count;
    },
  });
}

describe("a search with reduction sees the outcomes of one without:", () => {
  test("two processes register one name [T11]", () =>
    expectAllOutcomes(
      (sim, seen) => {
        const system = sim.system();
        for (const who of ["a", "b"])
          system.spawn((ctx) => {
            try {
              ctx.register("the name");
              seen[who] = "registered";
            } catch {
              seen[who] = "refused";
            }
            return ctx.receive();
          });
      },
      ["a: refused; b: registered", "a: registered; b: refused"],
    ));

  test("a name is given to a process that ends, and taken from it", () =>
    expectAllOutcomes(
      (sim, seen) => {
        const system = sim.system();
        const named: Pid<unknown> = system.spawn({ handle: () => stop() });
        does(system, () => {
          seen.taken = system.unregister("the name");
        });
        system.register("the name", named);
        system.send(named, "end");
      },
      ["taken: false", "taken: true"],
    ));

  test("a name is registered for a process that takes one itself", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const one = system.spawn((ctx) => {
        try {
          ctx.register("its own");
          seen.one = "took";
        } catch {
          seen.one = "has one";
        }
        return ctx.receive();
      });
      does(system, () => {
        try {
          system.register("given", one);
          seen.other = "gave";
        } catch {
          seen.other = "refused";
        }
      });
    }));

  test("a name is looked up, and freed", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      system.spawn((ctx) => ctx.receive(), { name: "clerk" });
      does(system, () => {
        seen.found = system.whereis("clerk") !== undefined;
      });
      does(system, () => void system.unregister("clerk"));
    }));

  test("a call is withdrawn by the death of its caller", () =>
    expectAllOutcomes(
      (sim, seen) => {
        const system = sim.system();
        const clerk = counter(system, seen);
        const caller = system.spawn((ctx) => ctx.call(clerk, (replyTo: ReplyTo<number>) => replyTo));
        does(system, () => system.exit(caller, "kill"));
      },
      ["handled: 0", "handled: 1"],
    ));

  test("a call is withdrawn by an AbortSignal", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const controller = new AbortController();
      const clerk = system.spawn<ReplyTo<string>>({
        handle: (ctx, replyTo) => {
          seen.clerk = "served";
          ctx.reply(replyTo, "done");
        },
      });
      system.spawn(async (ctx) => {
        const { signal } = controller;
        seen.caller = await ctx
          .call(clerk, (replyTo: ReplyTo<string>) => replyTo, { signal })
          .catch(() => "aborted");
      });
      does(system, () => controller.abort());
    }));

  test("a call is aborted before it begins", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const controller = new AbortController();
      const clerk = counter(system, seen);
      system.spawn(async (ctx) => {
        await ctx
          .call(clerk, (replyTo: ReplyTo<string>) => replyTo, { signal: controller.signal, timeoutMs: 10 })
          .catch((error: Error) => {
            seen.caller = error.name;
          });
      });
      does(system, () => controller.abort());
    }));

  for (const overflow of ["reject", "drop-newest", "drop-oldest", "exit"] as const)
    test(`a full mailbox: ${overflow}`, () =>
      expectAllOutcomes((sim, seen) => {
        const system = sim.system();
        const took: string[] = [];
        const clerk = system.spawn<string>(
          {
            handle: (_ctx, what) => {
              took.push(what);
              seen.took = took.join("");
            },
          },
          { mailbox: { capacity: 1, overflow } },
        );
        system.send(clerk, "0");
        for (const who of ["a", "b"])
          does(system, () => {
            try {
              system.send(clerk, who);
              seen[who] = "sent";
            } catch {
              seen[who] = "refused";
            }
          });
      }));

  test("code asks whether a process is alive", () =>
    expectAllOutcomes(
      (sim, seen) => {
        const system = sim.system();
        const clerk = system.spawn({ handle: () => stop() });
        does(system, () => system.send(clerk as Pid<unknown>, "end"));
        does(system, () => {
          seen.alive = system.isAlive(clerk);
        });
      },
      ["alive: false", "alive: true"],
    ));

  test("code looks at a process", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const clerk = counter(system, seen, "clerk");
      does(system, () => system.send(clerk, "work"));
      does(system, () => {
        const info = system.info(clerk);
        seen.info = `${info?.status} ${info?.mailboxDepth} ${info?.handled}`;
      });
    }));

  test("code looks at the links and monitors of a process", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const clerk = counter(system, seen, "clerk");
      system.spawn((ctx) => {
        ctx.link(clerk);
        return ctx.receive();
      });
      system.spawn((ctx) => {
        ctx.monitor(clerk);
        return ctx.receive();
      });
      does(system, () => {
        const info = system.info(clerk);
        seen.info = `${info?.links.length} ${info?.monitoredBy.length}`;
      });
    }));

  test("code counts the processes", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const clerk = system.spawn({ handle: () => stop() });
      system.send(clerk as Pid<unknown>, "end");
      does(system, () => {
        seen.population = system.population;
      });
    }));

  test("code lists the processes", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      system.spawn((ctx) => {
        ctx.spawn((child) => child.receive(), { label: "child" });
        return ctx.receive();
      });
      does(system, () => {
        seen.processes = system.processes().map(({ label }) => label);
      });
    }));

  test("code sees the order in which others have spawned", () =>
    expectAllOutcomes(
      async (sim, seen) => {
        const system = sim.system();
        for (const label of ["a", "b"])
          system.spawn((ctx) => {
            ctx.spawn((child) => child.receive(), { label });
            return ctx.receive();
          });
        await sim.quiet();
        seen.order = system
          .processes()
          .map(({ label }) => label)
          .filter((label) => label !== undefined);
      },
      ["order: a,b", "order: b,a"],
    ));

  test("code asks for the members of a group", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      for (const label of ["a", "b"])
        system.spawn(
          (ctx) => {
            ctx.join("clerks");
            return ctx.receive();
          },
          { label },
        );
      does(system, () => {
        seen.members = system.members("clerks").map(({ label }) => label);
      });
    }));

  test("a process spawns when the system stops", () =>
    expectAllOutcomes(async (sim, seen) => {
      const system = sim.system();
      does(system, () => {
        try {
          system.spawn(() => undefined);
          seen.spawn = "spawned";
        } catch {
          seen.spawn = "refused";
        }
      });
      does(system, () => void system.stop({ timeoutMs: 0 }));
    }));

  test("a system stops its processes, the youngest first", () =>
    expectAllOutcomes(async (sim, seen) => {
      const system = sim.system();
      const ended: string[] = [];
      const other = sim.system({ name: "other" });
      for (const label of ["a", "b"])
        does(other, () => {
          system.spawn((ctx) => ctx.receive(), { label });
        });
      system.events.on("exit", ({ pid }) => {
        ended.push(pid.label ?? "?");
        seen.ended = ended.join("");
      });
      await sim.quiet();
      await system.stop();
    }));

  test("code looks whether the system has stopped", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      does(system, () => {
        seen.stopped = system.stopped;
      });
      does(system, () => void system.stop({ timeoutMs: 0 }));
    }));

  test("a mailbox is deep", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system({ limits: { highWater: 2 } });
      seen.high = "never";
      system.events.on("highWater", ({ depth }) => {
        seen.high = depth;
      });
      const clerk = counter(system, {});
      system.send(clerk, "first");
      does(system, () => system.send(clerk, "second"));
    }));

  test("a listener hears of exits", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const order: (string | undefined)[] = [];
      system.events.on("exit", ({ pid }) => {
        order.push(pid.label);
        seen.order = order.join("");
      });
      for (const label of ["a", "b"]) system.spawn(() => undefined, { label });
    }));

  test("a listener hears of spawns and of links", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const order: string[] = [];
      const clerk = counter(system, {});
      const note = (what: string) => (): void => {
        order.push(what);
        seen.order = order.join(" ");
      };
      does(system, () => system.events.on("link", note("link")).on("spawn", note("spawn")));
      system.spawn((ctx) => {
        ctx.link(clerk);
        return ctx.receive();
      });
      does(system, () => void system.spawn(() => undefined));
    }));

  test("a sink gets reports of crashes", () =>
    expectAllOutcomes((sim, seen) => {
      const order: string[] = [];
      const system = sim.system({
        report: (_text, { pid }) => {
          order.push(pid?.label ?? "?");
          seen.order = order.join("");
        },
      });
      for (const label of ["a", "b"])
        system.spawn(
          () => {
            throw new Error(label);
          },
          { label },
        );
    }));

  test("code counts the dead letters", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      does(system, () => system.send("nobody", "?"));
      does(system, () => {
        seen.lost = system.deadLetters;
      });
    }));

  test("an exit signal comes when its receiver begins to trap", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const clerk = system.spawn(async (ctx) => {
        seen.clerk = "dies";
        ctx.trapExit(true);
        await ctx.receiveSignal();
        seen.clerk = "lives";
      });
      does(system, () => system.exit(clerk, { type: "shutdown" }));
    }));

  test("a process is linked and monitored while it ends", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const clerk = system.spawn<unknown>({ handle: () => stop({ type: "shutdown", detail: "done" }) });
      does(system, () => system.send(clerk, "end"));
      system.spawn(async (ctx) => {
        ctx.trapExit(true);
        ctx.link(clerk);
        const signal = await ctx.receiveSignal();
        seen.linked = signal.type === "exit" ? signal.reason.type : signal.type;
      });
      system.spawn(async (ctx) => {
        ctx.monitor(clerk);
        const signal = await ctx.receiveSignal();
        seen.watcher = signal.type === "down" ? signal.reason.type : signal.type;
      });
    }));

  test("a function of one process is called by another", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const calls: (() => void)[] = [];
      const order: string[] = [];
      const clerk = system.spawn<string>({
        init: (ctx) => {
          calls.push(ctx.wrap(() => void order.push("called")));
        },
        handle: (_ctx, what) => {
          order.push(what);
          seen.order = order.join(" ");
        },
      });
      system.send(clerk, "message");
      does(system, () => {
        for (const call of calls) call();
      });
    }));

  test("numbers of processes, random numbers and ids are drawn by several", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      for (const who of ["a", "b"])
        system.spawn((ctx) => {
          ctx.spawn((child) => {
            seen[who] = `${child.self} ${child.random()}`;
          });
        });
      seen.c = sim.choose(2);
    }));

  test("two processes wait for the system to be idle", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const order: string[] = [];
      for (const who of ["a", "b"])
        system.spawn(async () => {
          await system.idle();
          order.push(who);
          seen.order = order.join("");
        });
    }));

  test("timers of two processes are due together", () =>
    expectAllOutcomes(
      (sim, seen) => {
        const system = sim.system();
        const order: string[] = [];
        const clerk = system.spawn<string>({
          handle: (_ctx, what) => {
            order.push(what);
            seen.order = order.join("");
          },
        });
        for (const who of ["a", "b"])
          system.spawn((ctx) => {
            ctx.sendAfter(clerk, who, 10);
            return ctx.receive();
          });
      },
      ["order: ab", "order: ba"],
    ));

  test("a callee looks whether the call is still open", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const clerk = system.spawn<ReplyTo<string>>({
        handle: (ctx, replyTo) => {
          ctx.runAfter(5, () => {
            seen.open = replyTo.open;
          });
        },
      });
      const caller = system.spawn((ctx) => ctx.call(clerk, (replyTo: ReplyTo<string>) => replyTo));
      system.spawn((ctx) => {
        ctx.runAfter(5, () => ctx.exit(caller, "kill"));
        return ctx.receive();
      });
    }));

  test("a call times out when its reply comes", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const clerk = system.spawn<ReplyTo<string>>({
        handle: (ctx, replyTo) => void ctx.runAfter(10, () => ctx.reply(replyTo, "done")),
      });
      system.spawn(async (ctx) => {
        seen.caller = await ctx
          .call(clerk, (replyTo: ReplyTo<string>) => replyTo, { timeoutMs: 10 })
          .catch(() => "timed out");
      });
    }));

  test.each<[string, (ctx: Context<unknown>, timer: TimerRef) => boolean]>([
    ["cancels", (ctx, timer) => ctx.cancel(timer)],
    ["asks whether there is still", (_ctx, timer) => timer.pending],
  ])("a process %s the timer of another", (_does, look) =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const clerk = counter(system, seen);
      const timers: TimerRef[] = [];
      system.spawn((ctx) => {
        timers.push(ctx.sendAfter(clerk, "late", 10));
        return ctx.receive();
      });
      system.spawn((ctx) => {
        ctx.runAfter(10, () => {
          seen.looked = timers.map((timer) => look(ctx, timer));
        });
        return ctx.receive();
      });
    }),
  );

  test("a timer is cancelled by the death of its owner", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const clerk = counter(system, seen);
      const owner = system.spawn((ctx) => {
        ctx.sendAfter(clerk, "late", 10);
        return ctx.receive();
      });
      system.spawn((ctx) => {
        ctx.runAfter(10, () => ctx.exit(owner, "kill"));
        return ctx.receive();
      });
    }));

  test("a receive ends when a message comes", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const clerk = system.spawn<string>(async (ctx) => {
        seen.clerk = await ctx.receive({ timeoutMs: 10 }).catch(() => "nothing");
      });
      system.sendAfter(clerk, "a message", 10);
    }));

  test("a call times out when its callee dies", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const clerk = system.spawn<ReplyTo<string>>({ handle: () => undefined });
      system.spawn(async (ctx) => {
        await ctx
          .call(clerk, (replyTo: ReplyTo<string>) => replyTo, { timeoutMs: 10 })
          .catch((error: Error) => {
            seen.caller = error.name;
          });
      });
      does(system, () => void system.sendAfter(killer, "now", 10));
      const killer = system.spawn<unknown>({ handle: () => system.exit(clerk, "kill") });
    }));

  test("a reply comes when the call is aborted", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const controller = new AbortController();
      const clerk = system.spawn<ReplyTo<string>>({ handle: (ctx, replyTo) => ctx.reply(replyTo, "done") });
      system.spawn(async (ctx) => {
        const { signal } = controller;
        seen.caller = await ctx
          .call(clerk, (replyTo: ReplyTo<string>) => replyTo, { signal })
          .catch(() => "aborted");
      });
      system.spawn((ctx) => {
        ctx.runAfter(10, () => controller.abort());
        return ctx.receive();
      });
      does(system, () => controller.abort());
    }));

  test("a process that watches another is killed when that one ends", () =>
    expectAllOutcomes(
      (sim, seen) => {
        const system = sim.system();
        const clerk = system.spawn((ctx) => ctx.receive());
        const watcher = system.spawn({
          init: (ctx) => void ctx.monitor(clerk),
          handle: () => undefined,
          signal: () => {
            seen.watcher = "heard of the end";
          },
        });
        system.spawn((ctx) => {
          ctx.runAfter(10, () => ctx.exit(watcher, "kill"));
          return ctx.receive();
        });
        system.spawn((ctx) => {
          ctx.runAfter(10, () => ctx.exit(clerk, "kill"));
          return ctx.receive();
        });
      },
      ["", "watcher: heard of the end"],
    ));

  test("a name is freed when its holder ends", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const clerk = system.spawn((ctx) => ctx.receive(), { name: "clerk" });
      does(system, () => {
        seen.freed = system.unregister("clerk");
      });
      does(system, () => system.exit(clerk, "kill"));
    }));

  test("code waits for the end of a process until it is aborted", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const controller = new AbortController();
      const clerk = system.spawn((ctx) => ctx.receive());
      system.exited(clerk, { signal: controller.signal }).then(
        () => {
          seen.wait = "it ended";
        },
        () => {
          seen.wait = "aborted";
        },
      );
      does(system, () => controller.abort());
      does(system, () => system.exit(clerk, "kill"));
    }));

  test("a receive is aborted when a message comes", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const controller = new AbortController();
      const clerk = system.spawn<string>(async (ctx) => {
        seen.clerk = await ctx.receive({ signal: controller.signal }).catch(() => "aborted");
      });
      does(system, () => system.send(clerk, "a message"));
      does(system, () => controller.abort());
    }));

  test("an exit signal comes when callbacks begin to trap", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const clerk = system.spawn<unknown>({
        handle: (ctx) => void ctx.trapExit(true),
        signal: () => {
          seen.clerk = "lives";
        },
        parentExit: () => {
          seen.clerk = "lives";
        },
      });
      system.send(clerk, "trap");
      system.spawn((ctx) => {
        ctx.exit(clerk, { type: "shutdown" });
        return ctx.receive();
      });
    }));

  test("a call without a limit is aborted when its callee looks at it", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      const controller = new AbortController();
      const held: ReplyTo<string>[] = [];
      const clerk = system.spawn<ReplyTo<string>>({ handle: (_ctx, replyTo) => void held.push(replyTo) });
      const options = { signal: controller.signal, timeoutMs: Number.POSITIVE_INFINITY };
      system.call(clerk, (replyTo: ReplyTo<string>) => replyTo, options).catch(() => undefined);
      const looker = system.spawn<unknown>({
        handle: () => {
          seen.open = held.map(({ open }) => open);
        },
      });
      system.sendAfter(looker, "look", 10);
      system.spawn((ctx) => {
        ctx.runAfter(10, () => controller.abort());
        return ctx.receive();
      });
    }));

  test("a listener comes when a process crashes", () =>
    expectAllOutcomes((sim, seen) => {
      const system = sim.system();
      system.spawn(() => {
        throw new Error("a crash");
      });
      does(system, () => {
        system.events.on("crash", ({ reason }) => {
          seen.crash = reason.type;
        });
      });
    }));
});
