// How a server ends: by a crash, by being told to, by its own will; who hears of it, and what runs at the end.

import {
  type CalleeExitedError,
  custom,
  defer,
  defineServer,
  type ExitReason,
  OptionError,
  type Signal,
  System,
  stop,
  supervisor,
} from "signalbox";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type TestClock, testClock } from "../../../lib/testing/kit/clock.js";
import { gate } from "../../support/gate.js";
import { puppet } from "../../support/puppet.js";

let clock: TestClock;
let system: System;
let reports: string[];
beforeEach(() => {
  clock = testClock();
  reports = [];
  system = new System({ name: "shop", environment: clock.environment, report: (text) => reports.push(text) });
});
afterEach(() => system.stop());

const Shaky = defineServer({
  init: () => ({ served: 0 }),
  calls: {
    served: (state) => ++state.served,
    wait: () => defer<number>(() => undefined),
    crash: () => {
      throw new Error("no paper");
    },
    crashLater: async (_state, door: Promise<void>) => {
      await door;
      throw new Error("no ink");
    },
    badDefer: () =>
      defer<number>(() => {
        throw new Error("no deferral");
      }),
  },
  casts: {
    crash: () => {
      throw new Error("no pen");
    },
    crashLater: async () => {
      throw new Error("no desk");
    },
  },
});

const failure = (error: CalleeExitedError): unknown => [error.code, (error.cause as Error).message];

describe("a handler that throws", () => {
  const start = () => system.start(Shaky);

  it("ends the server: each caller that waits for a reply is notified at once, with the error as cause [B3]", async () => {
    const shaky = await system.start(Shaky);
    const calls = [
      shaky.call.wait().catch(failure),
      shaky.call.crash().catch(failure),
      shaky.call.served().catch(failure),
    ];
    const told = ["ERR_CALLEE_EXITED", "no paper"];
    expect(await Promise.all(calls)).toEqual([told, told, told]);
    expect(system.isAlive(shaky.pid)).toBe(false);
    expect(reports).toHaveLength(1);
    expect(reports[0]).toContain("no paper");
  });

  it.each<[string, (shaky: Awaited<ReturnType<typeof start>>) => void, string]>([
    [
      "a call, later",
      (shaky) => void shaky.call.crashLater(Promise.resolve()).catch(() => undefined),
      "no ink",
    ],
    [
      "the beginning of a deferral",
      (shaky) => void shaky.call.badDefer().catch(() => undefined),
      "no deferral",
    ],
    ["a cast", (shaky) => shaky.cast.crash(), "no pen"],
    ["a cast, later", (shaky) => shaky.cast.crashLater(), "no desk"],
  ])("may do so in %s: it is the server's crash", async (_name, crash, message) => {
    const shaky = await start();
    const end = system.exited(shaky.pid);
    crash(shaky);
    expect(await end).toMatchObject({ type: "crash", error: { message } });
  });

  it("under a supervisor leads to a restart, and a handle by name continues with the new server [B6]", async () => {
    await system.start(
      supervisor({ children: [{ id: "shaky", start: Shaky, name: "shaky" }], label: "root" }),
    );
    const shaky = Shaky.at(system, "shaky");
    const before = shaky.pid;
    expect(await shaky.call.served()).toBe(1);
    expect(await shaky.call.served()).toBe(2);
    expect(await shaky.call.crash().catch(failure)).toEqual(["ERR_CALLEE_EXITED", "no paper"]);
    await system.idle();
    expect(await shaky.call.served()).toBe(1);
    expect(shaky.pid).not.toBe(before);
    expect(reports).toEqual([expect.stringContaining("> restarts child ")]);
  });

  it("in the middle of its work does not pass the queued messages to the next server", async () => {
    await system.start(supervisor({ children: [{ id: "shaky", start: Shaky, name: "shaky" }] }));
    const shaky = Shaky.at(system, "shaky");
    const door = gate();
    const calls = [shaky.call.crashLater(door.promise).catch(failure), shaky.call.served().catch(failure)];
    await system.idle();
    door.open();
    const told = ["ERR_CALLEE_EXITED", "no ink"];
    expect(await Promise.all(calls)).toEqual([told, told]);
  });
});

describe("terminate", () => {
  const ends: string[] = [];
  beforeEach(() => {
    ends.length = 0;
  });
  const tidy = (trapExit: boolean, end?: () => unknown) =>
    defineServer({
      init: (_ctx, broken = false) => (broken ? stop("shutdown") : { open: 3 }),
      calls: {
        crash: () => {
          throw new Error("no paper");
        },
      },
      casts: { leave: () => stop(custom("left")) },
      terminate: async (state, reason) => {
        ends.push(`${state.open} ${reason.type}`);
        await end?.();
      },
      trapExit,
    });

  it("runs with the state and the reason when the server stops itself", async () => {
    const server = await system.start(tidy(false));
    server.cast.leave();
    expect(await system.exited(server.pid)).toEqual(custom("left"));
    expect(ends).toEqual(["3 custom"]);
  });

  it("runs when a handler throws; the server's reason stays the handler's crash", async () => {
    const server = await system.start(tidy(false));
    await server.call.crash().catch(() => undefined);
    expect(ends).toEqual(["3 crash"]);
  });

  it("runs when the server traps exits and its parent stops it", async () => {
    const server = await system.start(tidy(true));
    system.exit(server.pid, "shutdown");
    expect(await system.exited(server.pid)).toEqual({ type: "shutdown" });
    expect(ends).toEqual(["3 shutdown"]);
  });

  it("does not run when the server does not trap exits and is told to end, nor when it is killed", async () => {
    const plain = await system.start(tidy(false));
    system.exit(plain.pid, "shutdown");
    const trapping = await system.start(tidy(true));
    system.exit(trapping.pid, "kill");
    await system.idle();
    expect(system.population).toBe(0);
    expect(ends).toEqual([]);
  });

  it("does not run when init did not make a state", async () => {
    await expect(system.start(tidy(true), true)).rejects.toMatchObject({ reason: { type: "shutdown" } });
    expect(ends).toEqual([]);
  });

  it("that throws makes its error the reason", async () => {
    const server = await system.start(
      tidy(false, () => {
        throw new Error("no broom");
      }),
    );
    const end = system.exited(server.pid);
    server.cast.leave();
    expect(await end).toMatchObject({ type: "crash", error: { message: "no broom" } });
  });
});

describe("stop of a handle", () => {
  it("ends the server in order, by default with shutdown, after its earlier requests", async () => {
    const ends: string[] = [];
    const Polite = defineServer({
      init: () => ({ served: 0 }),
      calls: { serve: (state) => ++state.served },
      terminate: (state, reason) => ends.push(`${state.served} ${reason.type}`),
    });
    const polite = await system.start(Polite);
    const politeEnd = system.exited(polite.pid);
    const served = polite.call.serve();
    polite.stop();
    expect(await served).toBe(1);
    expect(await politeEnd).toEqual({ type: "shutdown" });
    const other = await system.start(Polite);
    const end = system.exited(other.pid);
    other.stop(custom("sold out"));
    expect(await end).toEqual(custom("sold out"));
    expect(ends).toEqual(["1 shutdown", "0 custom"]);
  });

  it("ends a server that traps exits and has another parent than the caller", async () => {
    const Trapping = defineServer({ init: () => ({}), trapExit: true, signals: { exit: () => undefined } });
    await system.start(
      supervisor({ children: [{ id: "t", start: Trapping, name: "t", restart: "transient" }] }),
    );
    const trapping = Trapping.at(system, "t");
    const end = system.exited(trapping.pid);
    trapping.stop();
    expect(await end).toEqual({ type: "shutdown" });
    expect(system.whereis("t")).toBe(undefined);
  });

  it("of a server that has ended, or of a name without a holder, does nothing", async () => {
    const shaky = await system.start(Shaky);
    system.exit(shaky.pid, "kill");
    shaky.stop();
    Shaky.at(system, "nobody").stop();
    expect(system.deadLetters).toBe(0);
  });

  it("refuses an invalid reason, at the caller", async () => {
    const shaky = await system.start(Shaky);
    expect(() => shaky.stop("because" as never)).toThrow(OptionError);
    expect(system.isAlive(shaky.pid)).toBe(true);
  });
});

describe("signals", () => {
  const Watcher = (trapExit: boolean, seen: Signal[]) =>
    defineServer({
      init: (ctx) => {
        ctx.monitorGroup("staff");
        return { ctx };
      },
      calls: {
        monitor: (state, name: string) => String(state.ctx.monitor(name).target),
        link: (state, name: string) => {
          const pid = state.ctx.whereis(name);
          if (pid !== undefined) state.ctx.link(pid);
        },
      },
      signals: {
        exit: (_state, signal) => void seen.push(signal),
        down: (_state, signal) => {
          seen.push(signal);
          return signal.reason.type === "killed" ? stop(signal.reason) : undefined;
        },
        group: (_state, signal) => void seen.push(signal),
      },
      trapExit,
    });

  it("DOWN, EXIT and group changes reach their handlers, in the order in which they arrived", async () => {
    const seen: Signal[] = [];
    const watcher = await system.start(Watcher(true, seen));
    const clerk = puppet(system, { name: "clerk" });
    await watcher.call.monitor("clerk");
    await watcher.call.link("clerk");
    await clerk.do((ctx) => ctx.join("staff"));
    system.exit(clerk.pid, "shutdown");
    await system.idle();
    expect(seen.map((signal) => signal.type).sort()).toEqual(["down", "exit", "group", "group"]);
    expect(seen[0]).toMatchObject({ type: "group", change: "join" });
    expect(seen.find(({ type }) => type === "exit")).toMatchObject({ reason: { type: "shutdown" } });
    expect(system.isAlive(watcher.pid)).toBe(true);
  });

  it("may stop the server", async () => {
    const watcher = await system.start(Watcher(true, []));
    const clerk = puppet(system, { name: "clerk" });
    await watcher.call.monitor("clerk");
    const end = system.exited(watcher.pid);
    system.exit(clerk.pid, "kill");
    expect(await end).toEqual({ type: "killed" });
  });

  it("a server that does not trap exits gets no EXIT, and ends with the linked process", async () => {
    const seen: Signal[] = [];
    const watcher = await system.start(Watcher(false, seen));
    const clerk = puppet(system, { name: "clerk" });
    await watcher.call.link("clerk");
    const end = system.exited(watcher.pid);
    const reason: ExitReason = custom("fire");
    system.exit(clerk.pid, reason);
    expect(await end).toBe(reason);
    expect(seen).toEqual([]);
  });

  it("without a handler are dead letters", async () => {
    const Deaf = defineServer({
      init: (ctx) => ({ ctx }),
      calls: { monitor: (state, name: string) => void state.ctx.monitor(name) },
    });
    const deaf = await system.start(Deaf);
    await deaf.call.monitor("nobody");
    await system.idle();
    expect(system.deadLetters).toBe(1);
  });
});
