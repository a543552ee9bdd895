// Actors of XState as processes: events, delays by the system's clock, ends, and talk with other processes.

import {
  CalleeExitedError,
  type Context,
  defineServer,
  type Pid,
  StartError,
  System,
  stop,
  supervisor,
} from "signalbox";
import { testClock } from "signalbox/testing";
import { contextOf, fromPid, fromXState, NotHostedError, PeerExitedError } from "signalbox/xstate";
import { describe, expect, expectTypeOf, it } from "vitest";
import {
  assign,
  createActor,
  createMachine,
  fromCallback,
  fromPromise,
  fromTransition,
  sendTo,
  setup,
} from "xstate";
import { explored } from "../support/proof.js";

const Door = fromXState(
  setup({
    types: {
      context: {} as { pushes: number },
      events: {} as { type: "push" } | { type: "break"; why: string } | { type: "leave" },
      input: {} as { pushes: number },
      output: {} as number,
    },
  }).createMachine({
    id: "door",
    context: ({ input }) => ({ pushes: input.pushes }),
    initial: "closed",
    states: {
      closed: {
        on: { push: { target: "open", actions: assign({ pushes: ({ context }) => context.pushes + 1 }) } },
      },
      open: { after: { 1000: "closed" } },
      left: { type: "final" },
    },
    on: {
      break: {
        actions: ({ event }) => {
          throw new Error(event.why);
        },
      },
      leave: ".left",
    },
    output: ({ context }) => context.pushes,
  }),
);

describe("an XState machine as a process", () => {
  it("takes events from its mailbox, and its delays go by the clock of the system [B33]", async () => {
    const clock = testClock();
    await using system = new System({ environment: clock.environment, report: false });
    const door = await clock.until(system.start(Door, { pushes: 3 }));
    system.send(door.pid, { type: "push" });
    const open = await clock.until(door.snapshot());
    expectTypeOf(open.context.pushes).toBeNumber();
    expect([open.value, open.context.pushes]).toEqual(["open", 4]);
    const closed = door.waitFor((snapshot) => snapshot.matches("closed"));
    await clock.advance(999);
    expect((await clock.until(door.snapshot())).value).toBe("open");
    await clock.advance(1);
    expect((await clock.until(closed)).value).toBe("closed");
  });

  it("crashes with an error of its actor, and ends in order with its output [B32]", async () => {
    await using system = new System({ report: false });
    const broken = await system.start(Door, { pushes: 0 });
    const waiting = broken.waitFor(() => false).catch((error: unknown) => error);
    broken.send({ type: "break", why: "a storm" });
    expect(await system.exited(broken.pid)).toMatchObject({ type: "crash", error: { message: "a storm" } });
    expect(await waiting).toBeInstanceOf(CalleeExitedError);
    await expect(broken.output()).rejects.toBeInstanceOf(CalleeExitedError);

    const left = await system.start(Door, { pushes: 7 });
    const output = left.output();
    expectTypeOf(output).resolves.toBeNumber();
    left.send({ type: "leave" });
    expect(await output).toBe(7);
    expect(await system.exited(left.pid)).toMatchObject({ type: "noproc" });
    expect(await left.output()).toBe(7);
  });

  it("is restarted by its supervisor, and stored and restored", async () => {
    await using system = new System({ report: false });
    const House = supervisor({
      children: [{ id: "door", name: "door", start: Door, args: [{ pushes: 1 }] }],
    });
    await system.start(House);
    const door = Door.at(system, "door");
    door.send({ type: "push" });
    const stored = await door.persisted();
    door.send({ type: "break", why: "a storm" });
    await system.idle();
    expect((await door.snapshot()).context.pushes).toBe(1);
    const again = await system.start(Door.restored(JSON.parse(JSON.stringify(stored))));
    expect(await again.snapshot()).toMatchObject({ value: "open", context: { pushes: 2 } });
    again.stop("shutdown");
    expect(await system.exited(again.pid)).toMatchObject({ type: "shutdown" });
  });

  it("stops what it invoked and spawned, however its process ends [B32]", async () => {
    await using system = new System({ report: false });
    for (const end of ["stop", "kill"] as const) {
      const ended: string[] = [];
      const child = fromCallback(() => () => ended.push("callback"));
      const promised = fromPromise(
        ({ signal }) => new Promise(() => signal.addEventListener("abort", () => ended.push("promise"))),
      );
      const parent = createMachine({
        entry: ({ self }) => contextOf(self).register(end),
        invoke: [{ src: child }, { src: promised }],
      });
      const ref = await system.start(fromXState(parent));
      if (end === "stop") ref.stop();
      else system.exit(end, "kill");
      await system.exited(ref.pid);
      await system.idle();
      expect(ended.toSorted()).toEqual(["callback", "promise"]);
    }
  });

  it("fails its start when the actor fails, and is started when it is done at once [B32]", async () => {
    await using system = new System({ report: false });
    const broken = createMachine({
      entry: () => {
        throw new Error("no hinges");
      },
    });
    const failed = await system.start(fromXState(broken)).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(StartError);
    expect(failed).toMatchObject({ reason: { type: "crash", error: { message: "no hinges" } } });
    const done = createMachine({ initial: "over", states: { over: { type: "final" } }, output: 5 });
    const ref = await system.start(fromXState(done));
    expect(await ref.output()).toBe(5);
  });

  it("may be any actor logic: a transition, a promise, a callback [B32]", async () => {
    await using system = new System({ report: false });
    const counter = await system.start(
      fromXState(fromTransition((n: number, _add: { type: "add" }) => n + 1, 0)),
    );
    counter.send({ type: "add" });
    expect((await counter.snapshot()).context).toBe(1);
    const promise = await system.start(
      fromXState(fromPromise(async ({ input }: { input: number }) => input * 2)),
      21,
    );
    expect(await promise.output()).toBe(42);
    const failing = await system.start(fromXState(fromPromise(() => Promise.reject(new Error("no bank")))));
    expect(await failing.output().catch((error: unknown) => error)).toBeInstanceOf(CalleeExitedError);
    let late = (): void => undefined;
    const crash = fromCallback<{ type: "go" }>(({ receive }) => {
      receive(() => {
        throw new Error("in a callback");
      });
      late = () => undefined;
    });
    const callback = await system.start(fromXState(crash));
    callback.send({ type: "go" });
    late();
    expect(await system.exited(callback.pid)).toMatchObject({ error: { message: "in a callback" } });
  });

  it("turns other messages and signals into events, or leaves them as dead letters", async () => {
    await using system = new System({ report: false });
    const dead: unknown[] = [];
    system.events.on("deadLetter", ({ message }) => dead.push(message));
    type Heard = { readonly type: "word"; readonly text: string } | { readonly type: "ended" };
    const logic = fromTransition(
      (heard: string[], event: Heard) => [...heard, event.type === "word" ? event.text : "ended"],
      [] as string[],
    );
    const Ear = fromXState(logic, {
      info: (message): Heard | undefined =>
        typeof message === "string" ? { type: "word", text: message } : undefined,
      signal: ({ type }): Heard | undefined => (type === "exit" ? { type: "ended" } : undefined),
      trapExit: true,
      label: "ear",
    });
    const ear = await system.start(Ear);
    system.send(ear.pid as Pid<unknown>, "hello");
    system.send(ear.pid as Pid<unknown>, 7);
    const friend = system.spawn({
      init: (ctx) => {
        ctx.link(ear.pid);
        return stop("shutdown");
      },
      handle: () => undefined,
    });
    await system.exited(friend);
    await system.idle();
    expect((await ear.snapshot()).context).toEqual(["hello", "ended"]);
    expect(dead).toEqual([7]);
    expect(String(ear)).toContain("ear");
  });
});

describe("processes and actors", () => {
  type Pick = { readonly type: "pick"; readonly from: Pid<{ type: "picked" }> };

  const Shop = fromXState(
    setup({
      types: { context: {} as { picked: number; why: unknown }, events: {} as { type: "picked" } },
      actors: { clerk: fromPid<Pick>() },
    }).createMachine({
      context: { picked: 0, why: undefined },
      initial: "open",
      states: {
        open: {
          invoke: {
            id: "clerk",
            src: "clerk",
            input: { to: "clerk" },
            onDone: "closed",
            onError: { target: "closed", actions: assign({ why: ({ event }) => event.error }) },
          },
          entry: sendTo("clerk", ({ self }): Pick => ({ type: "pick", from: contextOf(self).self as never })),
          on: { picked: { actions: assign({ picked: ({ context }) => context.picked + 1 }) } },
        },
        closed: {},
      },
    }),
  );

  const clerk = (ctx: Context<Pick>, { from }: Pick): void => ctx.send(from, { type: "picked" });

  it("send each other events, and an actor of a process ends with it [B34]", async () => {
    await using system = new System({ report: false });
    for (const reason of ["shutdown", "kill"] as const) {
      const pid = system.spawn<Pick>({ handle: clerk }, { name: "clerk" });
      const shop = await system.start(Shop);
      await shop.waitFor(({ context }) => context.picked === 1);
      system.exit(pid, reason);
      const { context } = await shop.waitFor((snapshot) => snapshot.matches("closed"));
      if (reason === "shutdown") expect(context.why).toBeUndefined();
      else expect(context.why).toMatchObject({ code: "ERR_PEER_EXITED", reason: { type: "killed" } });
      shop.stop();
      await system.exited(shop.pid);
    }
    const orphan = await system.start(Shop);
    const { context } = await orphan.waitFor((snapshot) => snapshot.matches("closed"));
    expect(context.why).toBeInstanceOf(PeerExitedError);
    expect(context.why).toMatchObject({ reason: { type: "noproc" } });
  });

  it("go the same way under the simulator, delays included, in every schedule [B33]", async () => {
    await explored(
      async (sim) => {
        const system = sim.system({ name: "shop" });
        system.spawn<Pick>({ handle: clerk }, { name: "clerk" });
        const shop = await system.start(Shop);
        await shop.waitFor(({ context }) => context.picked === 1);
        const door = await system.start(Door, { pushes: 0 });
        const pushed = sim.now;
        door.send({ type: "push" });
        await door.waitFor((snapshot) => snapshot.matches("open"));
        await door.waitFor((snapshot) => snapshot.matches("closed"));
        expect(sim.now - pushed).toBeGreaterThanOrEqual(1_000);
        door.send({ type: "leave" });
        expect(await door.output()).toBe(1);
        shop.stop();
      },
      { quick: 50 },
    );
  });
});

describe("what is wrong with an actor", () => {
  it("is said where it is defined", () => {
    expect(() => fromXState({} as never)).toThrow(
      expect.objectContaining({ code: "ERR_OPTION", path: "logic" }),
    );
    expect(() => fromXState(undefined as never)).toThrow(expect.objectContaining({ path: "logic" }));
    const logic = createMachine({});
    expect(() => fromXState(logic, { lable: "x" } as never)).toThrow(
      expect.objectContaining({ path: "lable" }),
    );
    expect(() => fromXState(logic, { info: 5 } as never)).toThrow(expect.objectContaining({ path: "info" }));
    expect(() => fromXState(logic, { label: "" })).toThrow(expect.objectContaining({ path: "label" }));
    expect(() => fromXState(logic, { trapExit: 1 } as never)).toThrow(
      expect.objectContaining({ path: "trapExit" }),
    );
  });

  it("is said to code of an actor that runs in no process", () => {
    const outside = createActor(createMachine({ id: "lonely" }));
    expect(() => contextOf(outside)).toThrow(NotHostedError);
    expect(() => contextOf(outside)).toThrow(/runs in no process of signalbox/);
  });

  it("is a type error where an event or an input does not fit", () => {
    const misuse = async (system: System): Promise<void> => {
      // @ts-expect-error the machine needs its input
      const door = await system.start(Door);
      // @ts-expect-error there is no such event
      door.send({ type: "pull" });
      // @ts-expect-error nor is it one of messages
      system.send(door.pid, { type: "pull" });
    };
    expect(misuse).toBeTypeOf("function");
    expect(defineServer).toBeTypeOf("function");
  });
});
