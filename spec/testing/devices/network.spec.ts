// Systems of one simulation on a network that holds, drops, doubles and cuts.

import {
  type Call,
  CalleeExitedError,
  CallTimeoutError,
  defineServer,
  defineStateMachine,
  type Pid,
  type ReplyTo,
  remoteNodes,
  type Signal,
  System,
  startIn,
} from "signalbox";
import {
  type ExploreOptions,
  explore,
  type NetworkOptions,
  type Scenario,
  type SimulatedNetwork,
  type Simulation,
  simulate,
} from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { exhaustive } from "../../../lib/testing/strategies/exhaustive.js";
import { randomWalk } from "../../../lib/testing/strategies/random-walk.js";
import { proving } from "../../support/proof.js";
import { type Order, obedient, puppet } from "../../support/puppet.js";
import { causeOf, errorOf, failureOf } from "../support/found.js";

interface Pair {
  readonly network: SimulatedNetwork;
  readonly here: System;
  readonly there: System;
}

function pair(sim: Simulation, options: NetworkOptions = {}): Pair {
  const network = sim.network(options);
  const [here, there] = ["here", "there"].map((name) => network.join(sim.system({ name }))) as [
    System,
    System,
  ];
  return { network, here, there };
}

/** A process over there, as it is known here. */
function from<M>(here: System, pid: Pid<M>, there: System): Pid<M> {
  return here.pidAt(there.address(pid)) as Pid<M>;
}

/** What the scenario gives in each schedule. */
async function outcomes<T>(
  scenario: (sim: Simulation) => Promise<T>,
  options: ExploreOptions = {},
): Promise<Set<T>> {
  const seen = new Set<T>();
  await explore(async (sim) => void seen.add(await scenario(sim)), {
    schedules: proving ? 200 : 60,
    ...options,
  });
  return seen;
}

async function once<T>(scenario: (sim: Simulation) => Promise<T>): Promise<T> {
  const [result] = await outcomes(scenario, { schedules: 1 });
  return result as T;
}

interface Question {
  readonly n: number;
  readonly to: ReplyTo<number>;
}

/** Doubles what it is asked for, and counts how often it is asked. */
function doubler(system: System): { readonly pid: Pid<Question>; asked: number } {
  const self = {
    pid: system.spawn<Question>({
      handle: (ctx, { n, to }) => {
        self.asked++;
        ctx.reply(to, 2 * n);
      },
    }),
    asked: 0,
  };
  return self;
}

const double =
  (n: number) =>
  (to: ReplyTo<number>): Question => ({ n, to });

describe("a message", () => {
  test("arrives in the other system, in a step of its own", async () => {
    const error = await failureOf(
      async (sim) => {
        const { here, there } = pair(sim);
        const heard: string[] = [];
        const office = there.spawn<string>(
          { handle: (_ctx, text) => void heard.push(text) },
          { label: "office" },
        );
        here.spawn((ctx) => ctx.send(from(here, office, there), "hello"), { label: "clerk" });
        await sim.quiet();
        throw new Error(heard.join());
      },
      { schedules: 1 },
    );
    expect((error.cause as Error).message).toBe("hello");
    const steps = error.trace.steps.filter((step) => step.process !== "scenario");
    expect(steps.map((step) => [step.type, step.process])).toEqual([
      ["run", "here/clerk"],
      ["deliver", "there/office"],
      ["run", "there/office"],
    ]);
    const sent = { type: "send", from: "here/clerk", to: "there/office", message: '"hello"', held: true };
    expect(steps[0]?.effects).toContainEqual(expect.objectContaining(sent));
    expect(steps[1]).toMatchObject({ from: "here/clerk", message: '"hello"' });
  });

  test("is a copy: the sender does not see the receiver's changes", async () => {
    const here = await once(async (sim) => {
      const { here, there } = pair(sim);
      const cart = { items: [{ n: 1 }], tags: new Map([["a", new Set([1])]]) };
      const till = there.spawn<typeof cart>({
        handle: (_ctx, given) => {
          expect(given).toEqual(cart);
          given.items.push({ n: 2 });
          given.tags.get("a")?.add(2);
        },
      });
      const ended = there.exited(till);
      here.send(from(here, till, there), cart);
      await sim.quiet();
      sim.crash(till, "shutdown");
      expect(await ended).toEqual({ type: "shutdown" });
      return cart;
    });
    expect(here).toEqual({ items: [{ n: 1 }], tags: new Map([["a", new Set([1])]]) });
  });

  test("may hold itself, and pids: these are the receiver's own for the same processes", async () => {
    await once(async (sim) => {
      const { here, there } = pair(sim);
      interface Letter {
        readonly pids: Pid<string>[];
        self?: Letter;
      }
      const answers: string[] = [];
      const writer = here.spawn<string>({ handle: (_ctx, text) => void answers.push(text) });
      let letter: Letter | undefined;
      const office = there.spawn<Letter>({
        handle: (ctx, given) => {
          letter = given;
          ctx.send(given.pids[0] as Pid<string>, "thank you");
        },
      });
      const sent: Letter = { pids: [writer, from(here, office, there) as never] };
      sent.self = sent;
      here.send(from(here, office, there), sent);
      await sim.quiet();
      expect(letter?.self).toBe(letter);
      expect(letter?.pids[1]).toBe(office);
      expect(letter?.pids[0]).toBe(from(there, writer, here));
      expect(answers).toEqual(["thank you"]);
    });
  });

  test("keeps its place among those of the same two systems, and no other", async () => {
    const seen = await outcomes(async (sim) => {
      const network = sim.network();
      const [a, b, c] = ["a", "b", "c"].map((name) => network.join(sim.system({ name }))) as [
        System,
        System,
        System,
      ];
      let heard = "";
      const office = c.spawn<string>({
        handle: (_ctx, letter) => {
          heard += letter;
        },
      });
      for (const [system, letters] of [
        [a, "12"],
        [b, "x"],
      ] as const)
        system.spawn((ctx) => {
          for (const letter of letters) ctx.send(from(system, office, c), letter);
        });
      await sim.quiet();
      return heard;
    });
    expect([...seen].sort()).toEqual(["12x", "1x2", "x12"]);
  });

  test("is of the system that sent it, also when the scenario or a timer did", async () => {
    await once(async (sim) => {
      const network = sim.network();
      const [a, b, c] = ["a", "b", "c"].map((name) => network.join(sim.system({ name }))) as [
        System,
        System,
        System,
      ];
      let heard = "";
      const office = c.spawn<string>({
        handle: (_ctx, letter) => {
          heard += letter;
        },
      });
      network.cut(a, c);
      await sim.quiet();
      a.send(from(a, office, c), "a");
      b.send(from(b, office, c), "b");
      b.sendAfter(from(b, office, c), "later", 10);
      a.sendAfter(from(a, office, c), "never", 10);
      await sim.sleep(20);
      expect(heard).toBe("blater");
      expect(a.deadLetters).toBe(2);
    });
  });

  test("to a system that has not joined, or has stopped, is a dead letter", async () => {
    await once(async (sim) => {
      const { here, there } = pair(sim);
      const lonely = sim.system({ name: "lonely" });
      const office = lonely.spawn<string>({ handle: () => undefined });
      here.send(from(here, office, lonely), "hello?");
      expect(here.deadLetters).toBe(1);
      const other = there.spawn<string>({ handle: () => undefined });
      const known = from(here, other, there);
      await there.stop();
      here.send(known, "hello?");
      expect(here.deadLetters).toBe(2);
    });
  });
});

describe("a call", () => {
  test("is answered over the network", async () => {
    const answer = await once(async (sim) => {
      const { here, there } = pair(sim);
      const { pid } = doubler(there);
      const asking = here.spawn((ctx) => ctx.call(from(here, pid, there), double(1)));
      return Promise.all([
        here.call(from(here, pid, there), double(21)),
        here.exited(asking).then((reason) => reason.type),
      ]);
    });
    expect(answer).toEqual([42, "normal"]);
  });

  test("of a server's handle too, with pids in arguments and results", async () => {
    await once(async (sim) => {
      const { here, there } = pair(sim);
      const Registry = defineServer({
        init: () => ({ pids: [] as Pid[] }),
        calls: {
          add: (state, pid: Pid) => {
            state.pids.push(pid);
            return { last: pid, all: state.pids.length };
          },
        },
        casts: {
          forget: (state, pid: Pid) => {
            state.pids = state.pids.filter((one) => one !== pid);
          },
        },
      });
      const server = await there.start(Registry);
      const registry = Registry.at(here, from(here, server.pid as Pid<unknown>, there));
      const clerk = here.spawn({ handle: () => undefined });
      const first = await registry.call.add(clerk);
      expect(first.last).toBe(clerk);
      registry.cast.forget(clerk);
      expect((await registry.call.add(clerk)).all).toBe(1);
    });
  });

  test("of a state machine's handle too, with pids in its events", async () => {
    type Waiting = { readonly name: "waiting"; readonly guests: readonly Pid[] };
    type Visit =
      | Call<{ readonly type: "knock"; readonly by: Pid }, number>
      | { readonly type: "leave"; readonly who: Pid };
    await once(async (sim) => {
      const { here, there } = pair(sim);
      const Door = defineStateMachine<Waiting, Visit>({
        init: startIn("waiting", () => ({ name: "waiting", guests: [] })),
        states: {
          waiting: {
            on: {
              knock: ({ guests }, { by }, m) =>
                m.next({ name: "waiting", guests: [...guests, by] }, m.reply(guests.length + 1)),
              leave: ({ guests }, { who }, m) =>
                m.next({ name: "waiting", guests: guests.filter((one) => one !== who) }),
            },
          },
        },
      });
      const running = await there.start(Door);
      const door = Door.at(here, from(here, running.pid as Pid<unknown>, there));
      const guest = here.spawn({ handle: () => undefined });
      expect(await door.call.knock({ by: guest })).toBe(1);
      door.cast.leave({ who: guest });
      expect(await door.call.knock({ by: guest })).toBe(1);
    });
  });

  test("ends when the callee does", async () => {
    const error = await once(async (sim) => {
      const { here, there } = pair(sim);
      const silent = there.spawn<Question>({ handle: (ctx) => ctx.exit("shutdown") });
      return errorOf(here.call(from(here, silent, there), double(1)));
    });
    expect(error).toBeInstanceOf(CalleeExitedError);
    expect(error).toMatchObject({ reason: { type: "shutdown" } });
  });

  test("that is withdrawn while it waits is not handled, and the answer of one that was taken is late", async () => {
    const asked = await once(async (sim) => {
      const { here, there } = pair(sim);
      let asked = 0;
      const slow = there.spawn<Question>({
        handle: async (ctx, { n, to }) => {
          asked++;
          expect(to.open).toBe(true);
          await sim.sleep(50);
          expect(to.open).toBe(false);
          ctx.reply(to, n);
        },
      });
      const Slow = defineServer({
        init: () => ({ asked: 0 }),
        calls: {
          ask: async (state) => {
            state.asked++;
            await sim.sleep(50);
            return state.asked;
          },
        },
      });
      const server = await there.start(Slow);
      const { call } = Slow.at(here, from(here, server.pid as Pid<unknown>, there)).with({ timeoutMs: 10 });
      const ends = await Promise.all([
        ...[1, 2].map((n) => errorOf(here.call(from(here, slow, there), double(n), { timeoutMs: 10 }))),
        ...[1, 2].map(() => errorOf(call.ask())),
      ]);
      for (const error of ends) expect(error).toBeInstanceOf(CallTimeoutError);
      await sim.sleep(1_000);
      return [asked, await server.call.ask(), here.events.discardedReplies, there.events.discardedReplies];
    });
    expect(asked).toEqual([1, 2, 0, 2]);
  });

  test("is answered once, however often the callee answers, and whatever else is in its mailbox", async () => {
    const error = await failureOf(
      async (sim) => {
        const { here, there } = pair(sim);
        const eager = there.spawn<Question>({
          handle: (ctx, { n, to }) => {
            for (let i = 0; i < 3; i++) ctx.reply(to, n + i);
          },
        });
        expect(await here.call(from(here, eager, there), double(1))).toBe(1);
        const Busy = defineServer({
          init: (ctx, other: Pid) => ({ down: 0, watch: ctx.monitor(other) }),
          calls: { work: () => sim.sleep(10), down: (state) => state.down },
          signals: { down: (state) => void state.down++ },
        });
        const other = there.spawn({ handle: () => undefined });
        const busy = await there.start(Busy, other);
        void busy.call.work();
        sim.crash(other, "kill");
        const known = Busy.at(here, from(here, busy.pid as Pid<unknown>, there));
        // It comes to wait behind the DOWN.
        expect(await known.call.down()).toBe(1);
        throw new Error("the end");
      },
      { schedules: 1 },
    );
    const arrived = error.trace.steps.filter((step) => step.type === "deliver" && step.process === "here");
    const replies = arrived.map((step) => (step.type === "deliver" ? step.message : ""));
    expect(replies.filter((message) => message.startsWith("reply"))).toEqual(["reply (1)", "reply (1)"]);
  });

  test("that arrives twice is handled twice, and answered once", async () => {
    const seen = await outcomes(
      async (sim) => {
        const { here, there } = pair(sim, { duplicate: {} });
        const server = doubler(there);
        const answer = await here.call(from(here, server.pid, there), double(4));
        await sim.quiet();
        return `${answer}, asked ${server.asked}`;
      },
      { strategy: randomWalk({ rates: { duplicate: 0.5 } }) },
    );
    expect([...seen].sort()).toEqual(["8, asked 1", "8, asked 2"]);
  });

  test.each([
    [true, "ERR_CALLEE_EXITED"],
    [false, "ERR_CALL_TIMEOUT"],
  ])(
    "may lose its reply; the caller cannot know whether the call was handled (sessions: %s)",
    async (sessions, code) => {
      const seen = await outcomes(
        async (sim) => {
          const { here, there } = pair(sim, { drop: {}, sessions });
          const server = doubler(there);
          const answer = await here
            .call(from(here, server.pid, there), double(4))
            .catch((error) => error.code);
          return `${answer}, asked ${server.asked}`;
        },
        { strategy: randomWalk({ rates: { drop: 0.5 } }) },
      );
      expect([...seen].sort()).toEqual(["8, asked 1", `${code}, asked 0`, `${code}, asked 1`]);
    },
  );
});

describe("links and monitors", () => {
  test("work across systems: a crash gives an EXIT or DOWN with its reason in the other system", async () => {
    const signals = await once(async (sim) => {
      const { here, there } = pair(sim);
      const far = there.spawn<Order>(obedient());
      const near = puppet(here, { trapExit: true });
      const known = from(here, far, there);
      await near.do((ctx) => void [ctx.link(known), ctx.monitor(known)]);
      await sim.quiet();
      sim.crash(far);
      await sim.quiet();
      return near.signals.map((signal: Signal) =>
        signal.type === "group" ? "" : `${signal.type} ${signal.reason.type}`,
      );
    });
    expect(signals.sort()).toEqual(["down crash", "exit crash"]);
  });

  test("on a process that ends while the monitor is on its way give one DOWN in any order of steps", async () => {
    const seen = await outcomes(
      async (sim) => {
        const { here, there } = pair(sim);
        const far = there.spawn<Order>(obedient(), { label: "far" });
        const near = puppet(here);
        const known = from(here, far, there);
        there.spawn((ctx) => ctx.exit(far, "kill"), { label: "killer" });
        await near.do((ctx) => void ctx.monitor(known));
        await sim.quiet();
        return near.signals.map((signal) => (signal.type === "down" ? signal.reason.type : "?")).join();
      },
      { strategy: exhaustive(), schedules: 20_000, recheck: 0 },
    );
    expect([...seen].sort()).toEqual(["killed", "noproc"]);
  });

  test("an untrapped crash spreads along a link", async () => {
    const reason = await once(async (sim) => {
      const { here, there } = pair(sim);
      const far = there.spawn<Order>(obedient());
      const near = puppet(here);
      const ended = here.exited(near.pid);
      await near.do((ctx) => ctx.link(from(here, far, there)));
      await sim.quiet();
      sim.crash(far);
      return ended;
    });
    expect(reason.type).toBe("crash");
  });

  test("are never dropped nor doubled", async () => {
    const seen = await outcomes(
      async (sim) => {
        const { here, there } = pair(sim, { drop: { atMost: 9 }, duplicate: { atMost: 9 } });
        const far = there.spawn<Order>(obedient());
        const near = puppet(here, { trapExit: true });
        const known = from(here, far, there);
        await near.do((ctx) => void [ctx.link(known), ctx.monitor(known)]);
        await sim.quiet();
        sim.crash(far, "kill");
        await sim.quiet();
        return near.signals.length;
      },
      { strategy: randomWalk({ rates: { drop: 0.9, duplicate: 0.9 } }) },
    );
    expect([...seen]).toEqual([2]);
  });
});

describe("drops and duplicates", () => {
  const counting =
    (options: NetworkOptions, calm = false) =>
    async (sim: Simulation): Promise<number> => {
      const { here, there } = pair(sim, options);
      if (calm) sim.calm();
      let heard = 0;
      const office = there.spawn<string>({ handle: () => void heard++ });
      for (let i = 0; i < 5; i++) here.send(from(here, office, there), "letter");
      await sim.quiet();
      return heard;
    };
  const often = { strategy: randomWalk({ rates: { drop: 0.5, duplicate: 0.5 } }) };

  test("happen at most as often as given, and once unless it is", async () => {
    const numbers = async (options: NetworkOptions): Promise<number[]> =>
      [...(await outcomes(counting(options), often))].sort((a, b) => a - b);
    expect(await numbers({})).toEqual([5]);
    expect(await numbers({ drop: {}, sessions: false })).toEqual([4, 5]);
    expect(await numbers({ drop: { atMost: 3 }, sessions: false })).toEqual([2, 3, 4, 5]);
    // With sessions, nothing arrives behind a lost frame.
    expect(await numbers({ drop: {} })).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await numbers({ duplicate: { atMost: 2 } })).toEqual([5, 6, 7]);
    expect(await numbers({ drop: {}, duplicate: {} })).toEqual([4, 5, 6]);
  });

  test("do not while it is calm", async () => {
    expect([
      ...(await outcomes(counting({ drop: { atMost: 5 }, duplicate: { atMost: 5 } }, true), often)),
    ]).toEqual([5]);
  });

  test("are in the report", async () => {
    const scenario: Scenario = async (sim) => expect(await counting({ drop: {} })(sim)).toBe(5);
    const error = await failureOf(scenario, often);
    const notes = error.trace.steps
      .flatMap((step) => step.effects)
      .filter((effect) => effect.type === "note");
    expect(notes).toEqual([{ type: "note", text: "the network drops a message to there" }]);
  });
});

describe("a cut", () => {
  test("loses signals in transit, and both sides get `noconnection`", async () => {
    await once(async (sim) => {
      const { network, here, there } = pair(sim);
      const far = there.spawn<Order>(obedient());
      const [near, other] = [puppet(here, { trapExit: true }), puppet(there)];
      const known = from(here, far, there);
      await near.do((ctx) => void ctx.monitor(known));
      await other.do((ctx) => void ctx.monitor(from(there, near.pid, here)));
      await sim.quiet();
      let heard = 0;
      const office = there.spawn<string>({ handle: () => void heard++ });
      here.send(from(here, office, there), "lost");
      network.cut(here, there);
      here.send(from(here, office, there), "lost before the notice");
      expect(here.deadLetters).toBe(0);
      await sim.quiet();
      expect(here.deadLetters).toBe(2);
      here.send(from(here, office, there), "refused");
      await sim.quiet();
      expect(heard).toBe(0);
      expect(here.deadLetters).toBe(3);
      for (const one of [near, other])
        expect(one.signals).toMatchObject([{ type: "down", reason: { type: "noconnection" } }]);
    });
  });

  test("ends calls that are under way", async () => {
    await once(async (sim) => {
      const { network, here, there } = pair(sim);
      const silent = there.spawn<Question>({ handle: () => undefined });
      const asking = errorOf(here.call(from(here, silent, there), double(1)));
      await sim.quiet();
      network.cut(here, there);
      expect(await asking).toMatchObject({ code: "ERR_CALLEE_EXITED", reason: { type: "noconnection" } });
    });
  });

  test("holds until it is healed, and then all goes as before; a second cut is none", async () => {
    await once(async (sim) => {
      const { network, here, there } = pair(sim);
      const server = doubler(there);
      const known = from(here, server.pid, there);
      network.cut(here, there);
      network.cut(there, here);
      expect(await errorOf(here.call(known, double(1)))).toMatchObject({ reason: { type: "noconnection" } });
      network.heal(there, here);
      expect(await here.call(known, double(1))).toBe(2);
    });
  });

  test("is between two systems, not others", async () => {
    await once(async (sim) => {
      const network = sim.network();
      const [a, b, c] = ["a", "b", "c"].map((name) => network.join(sim.system({ name }))) as [
        System,
        System,
        System,
      ];
      const server = doubler(c);
      network.cut(a, b);
      network.cut(a, c);
      expect(await b.call(from(b, server.pid, c), double(5))).toBe(10);
      expect(await errorOf(a.call(from(a, server.pid, c), double(5)))).toBeInstanceOf(CalleeExitedError);
    });
  });

  test("does not reach the two systems' own processes", async () => {
    await once(async (sim) => {
      const { network, here, there } = pair(sim);
      const server = doubler(there);
      network.cut(here, there);
      expect(await there.call(server.pid, double(5))).toBe(10);
    });
  });
});

describe("the end of a connection", () => {
  test("is noticed by its two sides at different times, in any order [T25]", async () => {
    const seen = await outcomes(async (sim) => {
      const { network, here, there } = pair(sim);
      const heard: string[] = [];
      const watcher = (system: System, far: Pid): void =>
        void system.spawn({
          init: (ctx) => void ctx.monitor(far),
          handle: () => undefined,
          signal: () => void heard.push(system.name),
        });
      const office = (system: System): Pid<string> => system.spawn<string>({ handle: () => undefined });
      watcher(here, from(here, office(there), there));
      watcher(there, from(there, office(here), here));
      await sim.quiet();
      network.cut(here, there);
      await sim.quiet();
      return heard.join();
    });
    expect([...seen].sort()).toEqual(["here,there", "there,here"]);
  });

  test("is noticed after one of the times given", async () => {
    const seen = await outcomes(async (sim) => {
      const { network, here, there } = pair(sim, { noticeMs: [0, 50] });
      const silent = there.spawn<Question>({ handle: () => undefined });
      const asking = errorOf(here.call(from(here, silent, there), double(1)));
      await sim.quiet();
      network.cut(here, there);
      await asking;
      return sim.now;
    });
    expect([...seen].sort()).toEqual([0, 50]);
  });

  test("comes before whatever the next connection brings", async () => {
    const seen = await outcomes(async (sim) => {
      const { network, here, there } = pair(sim);
      const heard: string[] = [];
      const far = there.spawn<string>({ handle: () => undefined });
      const clerk = here.spawn<string>({
        init: (ctx) => void ctx.monitor(from(here, far, there)),
        handle: (_ctx, text) => void heard.push(text),
        signal: () => void heard.push("noconnection"),
      });
      await sim.quiet();
      const known = from(there, clerk, here);
      there.send(known, "in transit");
      network.cut(here, there);
      network.heal(here, there);
      await sim.quiet();
      there.send(known, "after");
      await sim.quiet();
      return heard.join();
    });
    expect([...seen]).toEqual(["noconnection,after"]);
  });
});

describe("a silent cut", () => {
  test("holds sent messages without notice; afterwards all arrive in their order [T27]", async () => {
    const seen = await outcomes(async (sim) => {
      const { network, here, there } = pair(sim);
      const server = doubler(there);
      const known = from(here, server.pid, there);
      network.cut(here, there, { silent: true });
      const asking = Promise.all([1, 2, 3].map((n) => here.call(known, double(n), { timeoutMs: 1_000 })));
      await sim.sleep(100);
      const before = server.asked;
      network.heal(here, there);
      return `${before}: ${(await asking).join()}`;
    });
    expect([...seen]).toEqual(["0: 2,4,6"]);
  });

  test("may be in one direction: then a call is handled, and its answer does not come [T27]", async () => {
    const seen = await outcomes(async (sim) => {
      const { network, here, there } = pair(sim);
      const server = doubler(there);
      const known = from(here, server.pid, there);
      network.cut(there, here, { silent: true, oneWay: true });
      const error = await errorOf(here.call(known, double(1), { timeoutMs: 1_000 }));
      return `${(error as Error).name}, asked ${server.asked}`;
    });
    expect([...seen]).toEqual(["CallTimeoutError, asked 1"]);
  });
});

describe("latencies", () => {
  /** The times at which messages arrive that are sent at once. */
  const arrivals = async (sim: Simulation, options: NetworkOptions, many = 1): Promise<string> => {
    const { here, there } = pair(sim, options);
    const heard: string[] = [];
    const office = there.spawn<number>({ handle: (_ctx, n) => void heard.push(`${n} at ${sim.now}`) });
    for (let n = 0; n < many; n++) here.send(from(here, office, there), n);
    await sim.sleep(1_000);
    return heard.join();
  };

  test("are one of those given, and keep the order of a pair [T27]", async () => {
    const seen = await outcomes((sim) => arrivals(sim, { latencyMs: [5, 30] }, 2));
    expect([...seen].sort()).toEqual(["0 at 30,1 at 30", "0 at 5,1 at 30", "0 at 5,1 at 5"]);
  });

  test("are those of the first link that fits", async () => {
    const links = [
      { from: "there", latencyMs: 1 },
      { from: "here", to: "t*", latencyMs: [7] },
    ];
    expect(await once((sim) => arrivals(sim, { latencyMs: 3, links }))).toBe("0 at 7");
    expect(await once((sim) => arrivals(sim, { latencyMs: 3, links: links.slice(0, 1) }))).toBe("0 at 3");
  });

  test("do not bring back what a cut has lost", async () => {
    const heard = await once(async (sim) => {
      const { network, here, there } = pair(sim, { latencyMs: 10 });
      let count = 0;
      const office = there.spawn<string>({ handle: () => void count++ });
      here.send(from(here, office, there), "lost");
      await sim.sleep(5);
      network.cut(here, there);
      network.heal(here, there);
      await sim.sleep(100);
      return count;
    });
    expect(heard).toBe(0);
  });
});

describe("messages out of order", () => {
  const order = (options: NetworkOptions) => async (sim: Simulation) => {
    const { here, there } = pair(sim, options);
    const heard: string[] = [];
    const office = there.spawn<string>({ handle: (_ctx, letter) => void heard.push(letter) });
    for (const letter of "abc") here.send(from(here, office, there), letter);
    await sim.sleep(100_000);
    return heard.join("");
  };
  const often: ExploreOptions = {
    strategy: randomWalk({ rates: { reorder: 0.3, duplicate: 0.3 } }),
    schedules: proving ? 400 : 200,
  };

  test("come by `reorder`, as often as it says [T27]", async () => {
    const seen = await outcomes(order({ reorder: {} }), often);
    expect([...seen].sort()).toEqual(["abc", "acb", "bac", "bca", "cab"]);
  });

  test("are copies that arrive at any later time, by `duplicate` [T27]", async () => {
    const seen = await outcomes(order({ duplicate: { afterMs: [0, 50] } }), often);
    expect([...seen].sort()).toEqual(["aabc", "abac", "abbc", "abc", "abca", "abcb", "abcc"]);
  });

  test("may arrive over a later connection of the same systems [T27]", async () => {
    const seen = await outcomes(async (sim) => {
      const { network, here, there } = pair(sim, { duplicate: { afterMs: [500] } });
      const heard: string[] = [];
      const office = there.spawn<string>({ handle: (_ctx, text) => void heard.push(text) });
      here.send(from(here, office, there), "old");
      await sim.quiet();
      network.cut(here, there);
      await sim.sleep(10);
      network.heal(here, there);
      here.send(from(here, office, there), "new");
      await sim.sleep(1_000);
      return heard.join();
    }, often);
    expect(seen).toContain("old,new,old");
  });
});

describe("partitions by fault", () => {
  test("are of the kinds that the options allow, and the report says which [T27]", async () => {
    const kinds = async (partition: NonNullable<NetworkOptions["partition"]>): Promise<string[]> => {
      const seen = new Set<string>();
      for (let seed = 1; seed <= (proving ? 40 : 20); seed++) {
        const error = await failureOf(
          async (sim) => {
            const { here, there } = pair(sim, { partition: { forMs: [5], ...partition } });
            const asking = here.call(from(here, doubler(there).pid, there), double(1));
            await Promise.all([asking, sim.sleep(1)]);
            if (sim.now > 1) throw new Error("late");
          },
          { seed, shrink: 0, strategy: randomWalk({ rates: { drop: 0.3 } }) },
        );
        for (const step of error.trace.steps)
          if (step.type === "fault") seen.add(`${step.process} ${step.fault}`);
      }
      return [...seen].sort();
    };
    expect(await kinds({})).toEqual(["here is cut off from there for 5 ms"]);
    expect(await kinds({ oneWay: true, silent: true })).toEqual([
      "here is cut off from there for 5 ms",
      "here is cut off from there without notice for 5 ms",
      "here no longer reaches there for 5 ms",
      "here no longer reaches there without notice for 5 ms",
      "there no longer reaches here for 5 ms",
      "there no longer reaches here without notice for 5 ms",
    ]);
  });

  /** Asks every 10 ms whether it comes through; gives the times at which it did not. */
  const asking =
    (options: NetworkOptions, work?: (sim: Simulation, pair: Pair) => void | Promise<void>) =>
    async (sim: Simulation) => {
      const both = pair(sim, options);
      const { here, there } = both;
      const server = doubler(there);
      const known = from(here, server.pid, there);
      const failed: number[] = [];
      await sim.sleep(5);
      for (let i = 0; i < 10; i++) {
        if (i === 5) await work?.(sim, both);
        await here.call(known, double(1)).catch(() => failed.push(sim.now));
        await sim.sleep(10);
      }
      return failed.join();
    };
  const often: ExploreOptions = {
    strategy: randomWalk({ rates: { drop: 0.05 } }),
    schedules: proving ? 200 : 60,
  };

  test("cut two systems off for one of the times that are given", async () => {
    const seen = await outcomes(asking({ partition: { forMs: [25] } }), often);
    expect(seen.has("")).toBe(true);
    expect(seen.has("15,25,35")).toBe(true);
    for (const failed of seen) expect(failed.split(",").length).toBeLessThanOrEqual(4);
  });

  test("take each of these times about as often", async () => {
    const schedules = proving ? 300 : 100;
    const lengths = new Map<number, number>();
    await explore(
      async (sim) => {
        const failed = await asking({ partition: { forMs: [5, 80] } })(sim);
        const length = failed === "" ? 0 : failed.split(",").length > 2 ? 80 : 5;
        lengths.set(length, (lengths.get(length) ?? 0) + 1);
      },
      { ...often, schedules },
    );
    expect(lengths.get(80)).toBeGreaterThan(schedules / 10);
    expect(lengths.get(5)).toBeGreaterThan(schedules / 10);
  });

  test("end when it is calm", async () => {
    const seen = await outcomes(
      asking({ partition: { forMs: [10_000] } }, async (sim) => {
        sim.calm();
        // A side that has not noticed the end of the old connection yet still sends into it.
        await sim.quiet();
      }),
      often,
    );
    expect(seen.size).toBeGreaterThan(2);
    for (const failed of seen) expect(failed).not.toMatch(/[5-9]5$/);
  });

  test.each(["before", "after"])("do not heal what the scenario has cut, %s it was calm", async (when) => {
    const seen = await outcomes(
      asking({ partition: { forMs: [30] } }, (sim, { network, here, there }) => {
        if (when === "after") sim.calm();
        network.cut(here, there);
        sim.calm();
      }),
      often,
    );
    expect(seen.size).toBeGreaterThan(2);
    for (const failed of seen) expect(failed).toMatch(/55,65,75,85,95$/);
  });

  test("are faults in the report", async () => {
    const error = await failureOf(
      async (sim) => expect(await asking({ partition: { forMs: [25] } })(sim)).toBe(""),
      { ...often, shrink: 50 },
    );
    const faults = error.trace.steps.filter((step) => step.type === "fault");
    expect(faults).toMatchObject([{ process: "here", fault: "is cut off from there for 25 ms" }]);
  });

  test("strike between any two steps of an exhaustive search", async () => {
    const seen = await outcomes(
      async (sim) => {
        const { here, there } = pair(sim, { partition: { forMs: [10] } });
        const server = doubler(there);
        return here
          .call(from(here, server.pid, there), double(1))
          .catch((error) => error.reason.type)
          .then((answer) => `${answer}, asked ${server.asked}`);
      },
      { strategy: exhaustive(), schedules: 20_000, recheck: 0 },
    );
    expect([...seen].sort()).toEqual(["2, asked 1", "noconnection, asked 0", "noconnection, asked 1"]);
  });
});

describe("an exhaustive search", () => {
  const all: ExploreOptions = { strategy: exhaustive(), schedules: 20_000, recheck: 0 };

  test("knows that two that send the same way are in each other's way", async () => {
    const seen = await outcomes(async (sim) => {
      const { here, there } = pair(sim);
      const heard: string[] = [];
      const office = there.spawn<string>({ handle: (_ctx, letter) => void heard.push(letter) });
      for (const letter of ["a", "b"]) here.spawn((ctx) => ctx.send(from(here, office, there), letter));
      await sim.quiet();
      return heard.join("");
    }, all);
    expect([...seen].sort()).toEqual(["ab", "ba"]);
  });

  test("knows that a cut is in the way of whatever is sent across it", async () => {
    const cutting = (options: NetworkOptions) => (sim: Simulation) => {
      const { network, here, there } = pair(sim, options);
      const heard: string[] = [];
      const office = there.spawn<string>({ handle: (_ctx, letter) => void heard.push(letter) });
      here.spawn((ctx) => ctx.send(from(here, office, there), "a"), { label: "sender" });
      there.spawn(() => network.cut(here, there), { label: "digger" });
      return sim.quiet().then(() => `heard ${heard.length}, dead ${here.deadLetters}`);
    };
    expect([...(await outcomes(cutting({ sessions: false }), all))].sort()).toEqual([
      "heard 0, dead 0",
      "heard 0, dead 1",
      "heard 1, dead 0",
    ]);
    // A session counts what it does not know to have arrived; acknowledgements take time.
    expect([...(await outcomes(cutting({}), all))].sort()).toEqual(["heard 0, dead 1", "heard 1, dead 1"]);
  });

  test("knows that a cut conflicts with processes that monitor across it", async () => {
    const seen = await outcomes(async (sim) => {
      const { network, here, there } = pair(sim);
      const far = there.spawn<Order>(obedient());
      const near = puppet(here);
      const watch = await near.do((ctx) => ctx.monitor(from(here, far, there)));
      await sim.quiet();
      here.send(near.pid, (ctx) => ctx.demonitor(watch));
      there.spawn(() => network.cut(here, there), { label: "digger" });
      await sim.quiet();
      return near.signals.length;
    }, all);
    expect([...seen].sort()).toEqual([0, 1]);
  });
});

describe("a network's options, and who joins it, are checked", () => {
  const wrong: readonly [path: string, options: object][] = [
    ["network", []],
    ["network.loss", { loss: {} }],
    ["network.drop", { drop: 5 }],
    ["network.drop.atMost", { drop: { atMost: 0 } }],
    ["network.duplicate.atmost", { duplicate: { atmost: 2 } }],
    ["network.partition.atMost", { partition: { atMost: -1 } }],
    ["network.partition.forMs", { partition: { forMs: [] } }],
    ["network.partition.forMs[1]", { partition: { forMs: [1, -1] } }],
  ];

  test.each(wrong)("%s in %j", async (path, options) => {
    expect(await causeOf((sim) => sim.network(options))).toMatchObject({ code: "ERR_OPTION", path });
  });

  test("a system of this simulation, that has no other transport, and joins before it is cut off", async () => {
    await using production = new System({ report: false });
    await simulate((sim) => {
      const { network, here } = pair(sim);
      expect(network.join(here)).toBe(here);
      const other = sim.system({ name: "other", transport: remoteNodes({ send: () => false }) });
      const lonely = sim.system({ name: "lonely" });
      expect(() => network.join(other)).toThrow("system must be a system without a transport of its own");
      expect(() => network.join(production)).toThrow("system must be a system of this simulation");
      expect(() => network.cut(here, lonely)).toThrow("system must be a system that has joined this network");
      expect(() => network.cut(here, here)).toThrow("system must be another system than the first");
    });
  });
});
