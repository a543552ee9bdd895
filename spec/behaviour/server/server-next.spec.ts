// What a server does after a handler and before its next message: work that it continues with, and idle timeouts.

import { defineServer, noReply, ready, refuse, reply, type ServerDefinition, System, stop } from "signalbox";
import { testClock } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const clock = testClock();
let system: System;
let log: string[];

beforeEach(() => {
  system = new System({ environment: clock.environment, report: false });
  log = [];
});

afterEach(() => clock.until(system.stop()));

const note = (text: string): void => void log.push(text);

interface Casts {
  readonly say: (state: never, text: string) => void;
}
interface Calls {
  readonly buy: (state: never) => number;
  readonly beg: (state: never) => never;
}

function define(
  options: { idleMs?: number; after?: () => unknown } = {},
): ServerDefinition<[], Calls, Casts> {
  const { idleMs, after = () => undefined } = options;
  const inferred = defineServer({
    init: (ctx) => ({ ctx }),
    calls: {
      buy: () => reply(1, { continue: () => note("continued") }),
      beg: () => refuse(new Error("no"), { continue: () => note("continued") }),
    },
    casts: {
      say: (_state, text: string) => {
        note(text);
        return after();
      },
    },
    info: (_state, message) => note(`info ${String(message)}`),
    idle: () => note(`idle at ${clock.now}`),
    ...(idleMs === undefined ? {} : { idleMs }),
  });
  return inferred;
}

describe("continue", () => {
  it("runs before messages that wait already, and after the reply [B10]", async () => {
    const server = await clock.until(system.start(define()));
    const bought = server.call.buy().then((value) => note(`reply ${value}`));
    server.cast.say("next");
    const begged = server.call.beg().catch((error: Error) => note(`refused ${error.message}`));
    await clock.settle();
    await Promise.all([bought, begged]);
    expect(log.filter((line) => !line.startsWith("re"))).toEqual(["continued", "next", "continued"]);
    expect(log).toContain("reply 1");
    expect(log).toContain("refused no");
  });

  it("leads to another continue, one after the other, asynchronous ones too [B10]", async () => {
    const step = (n: number): unknown =>
      noReply({
        continue: async () => {
          await Promise.resolve();
          note(`step ${n}`);
          return n < 3 ? step(n + 1) : undefined;
        },
      });
    let first = true;
    const after = (): unknown => {
      const result = first ? step(1) : undefined;
      first = false;
      return result;
    };
    const server = await clock.until(system.start(define({ after })));
    server.cast.say("a");
    server.cast.say("b");
    await clock.settle();
    expect(log).toEqual(["a", "step 1", "step 2", "step 3", "b"]);
  });

  it("of an init runs after the start has been reported and before any message [B10]", async () => {
    const Slow = defineServer({
      init: async (_ctx, opened: Promise<void>) => {
        await opened;
        return ready({ words: [] as string[] }, { continue: () => note("loaded") });
      },
      casts: { say: (_state, text: string) => note(text) },
    });
    let open = (): void => undefined;
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    const starting = system.startWith({ name: "slow" }, Slow, opened);
    await clock.settle();
    Slow.at(system, "slow").cast.say("early");
    open();
    await clock.until(starting);
    await clock.settle();
    expect(log).toEqual(["loaded", "early"]);
  });

  it("counts as code of the server: what it throws crashes the server, and a stop stops it [B10]", async () => {
    const results = [
      () => stop("shutdown"),
      () => {
        throw new Error("boom");
      },
    ];
    const reasons: unknown[] = [];
    for (const work of results) {
      const server = await clock.until(system.start(define({ after: () => noReply({ continue: work }) })));
      const exited = system.exited(server.pid);
      server.cast.say("go");
      server.cast.say("never");
      reasons.push(await clock.until(exited));
    }
    expect(reasons).toEqual([{ type: "shutdown" }, { type: "crash", error: new Error("boom") }]);
    expect(log).toEqual(["go", "go"]);
  });

  it("is over with the server: a handler or an init that ends after a kill goes on with nothing [B10]", async () => {
    const late: unknown[] = [];
    system.events.on("lateError", ({ error }) => late.push(error));
    system.events.on("discardedReply", ({ error }) => late.push(error));
    let open = (): void => undefined;
    const door = new Promise<void>((resolve) => {
      open = resolve;
    });
    const work = { continue: () => note("continued") };
    const Slow = defineServer({
      init: async (_ctx, begun: Promise<void>) => {
        await begun;
        return ready({}, work);
      },
      calls: { ask: () => door.then(() => reply(1, work)) },
      casts: { tell: () => door.then(() => noReply({ idleMs: 5 })) },
      info: () => door.then(() => noReply(work)),
      idle: () => note("idle"),
      idleMs: 10,
    });
    for (const kind of ["init", "ask", "tell", "info"]) {
      const begun = kind === "init" ? door : Promise.resolve();
      const starting = system.startWith({ name: kind }, Slow, begun).catch(() => undefined);
      await clock.settle();
      if (kind === "ask")
        Slow.at(system, kind)
          .call.ask()
          .catch(() => undefined);
      if (kind === "tell") Slow.at(system, kind).cast.tell();
      if (kind === "info") system.send(kind, "message");
      await clock.settle();
      system.exit(kind, "kill");
      await clock.until(starting);
    }
    expect(log.splice(0)).toEqual(["continued", "continued", "continued"]);
    open();
    await clock.advance(100);
    expect(log).toEqual([]);
    expect(late).toEqual([]);
    expect(clock.pendingTimers).toBe(0);
  });

  it("leaves other processes their turns, however long its chain [B10]", async () => {
    let steps = 0;
    const again = (): unknown => {
      steps++;
      return noReply({ continue: again });
    };
    const production = new System({ report: false });
    const server = await production.start(define({ after: again }));
    server.cast.say("go");
    const other = await production.start(define());
    expect(await other.call.buy()).toBe(1);
    production.exit(server.pid, "kill");
    await production.stop();
    expect(steps).toBeGreaterThan(0);
  });
});

describe("an idle timeout", () => {
  it("of a result begins with that result, and fires once [B11]", async () => {
    const server = await clock.until(system.start(define({ after: () => noReply({ idleMs: 40 }) })));
    await clock.advance(100);
    const began = clock.now;
    server.cast.say("a");
    await clock.advance(39);
    expect(log).toEqual(["a"]);
    await clock.advance(1);
    expect(log).toEqual(["a", `idle at ${began + 40}`]);
    await clock.advance(1_000);
    expect(log).toHaveLength(2);
  });

  it("ends with any message, also one without a handler and one of its own [B11]", async () => {
    const Plain = defineServer({
      init: (ctx) => {
        ctx.sendAfter(ctx.self, "own", 20);
        return ready({}, { idleMs: 40 });
      },
      casts: { rest: () => noReply({ idleMs: 40 }) },
      idle: () => note("idle"),
    });
    const server = await clock.until(system.start(Plain));
    await clock.advance(200);
    expect(log).toEqual([]);
    server.cast.rest();
    await clock.advance(20);
    (Plain.at(system, server.pid).cast as unknown as { rest(): void }).rest();
    await clock.advance(39);
    expect(log).toEqual([]);
    await clock.advance(1);
    expect(log).toEqual(["idle"]);
  });

  it("of 0 comes at once, but loses to a message that waits already [B11]", async () => {
    let idleMs = 0;
    const after = (): unknown => noReply({ idleMs });
    const server = await clock.until(system.start(define({ after })));
    server.cast.say("a");
    await clock.settle();
    expect(log.splice(0)).toEqual(["a", expect.stringMatching(/^idle/)]);
    server.cast.say("b");
    server.cast.say("c");
    idleMs = Number.POSITIVE_INFINITY;
    await clock.settle();
    expect(log).toEqual(["b", "c"]);
  });

  it("of the definition follows each handler that says nothing else, idle itself included [B11]", async () => {
    let next: unknown;
    const server = await clock.until(system.start(define({ idleMs: 100, after: () => next })));
    const began = clock.now;
    await clock.advance(250);
    expect(log.splice(0)).toEqual([`idle at ${began + 100}`, `idle at ${began + 200}`]);
    server.cast.say("a");
    await clock.advance(99);
    expect(log.splice(0)).toEqual(["a"]);
    next = noReply({ idleMs: Number.POSITIVE_INFINITY });
    server.cast.say("b");
    await clock.advance(1_000);
    expect(log.splice(0)).toEqual(["b"]);
    next = undefined;
    server.cast.say("c");
    await clock.advance(100);
    expect(log).toEqual(["c", expect.stringMatching(/^idle/)]);
  });

  it("ends with the server, and leaves no timer behind [B11]", async () => {
    const server = await clock.until(system.start(define({ idleMs: 100 })));
    expect(clock.pendingTimers).toBe(1);
    for (let i = 0; i < 10; i++) server.cast.say("a");
    await clock.settle();
    expect(clock.pendingTimers).toBe(1);
    system.exit(server.pid, "kill");
    await clock.settle();
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(1_000);
    expect(log).toEqual(new Array(10).fill("a"));
  });
});
