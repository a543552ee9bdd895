// The data that all states of a machine share: how they are made, read, replaced, seen from outside and taken over.

import {
  type Call,
  defineStateMachine,
  inspect,
  type StateMachineDefinition,
  type StateOfDefinition,
  type StateWithData,
  System,
  startIn,
  supervisor,
  to,
} from "signalbox";
import { explore, testClock } from "signalbox/testing";
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from "vitest";

type State = { readonly name: "idle" } | { readonly name: "trying"; readonly card: string };
type Event =
  | Call<{ readonly type: "pay"; readonly card: string }, number>
  | Call<{ readonly type: "tries" }, number>
  | { readonly type: "failed" }
  | { readonly type: "crash" | "leave" };

interface Data {
  readonly id: string;
  readonly tries: number;
}

let ended: unknown[];

const Till: StateMachineDefinition<State, Event, [id: string], Data> = defineStateMachine<
  State,
  Event,
  [id: string],
  Data
>({
  data: (_ctx, id) => ({ id, tries: 0 }),
  init: startIn("idle", (m, id) => {
    if (m.data.id !== id) throw new Error("init does not see the data");
    return { name: "idle" };
  }),
  states: {
    idle: {
      on: {
        pay: to("trying", (_idle, { card }, m) =>
          m.next(
            { name: "trying", card },
            m.setData({ ...m.data, tries: m.data.tries + 1 }),
            m.reply(m.data.tries),
          ),
        ),
        tries: (_idle, _event, m) => m.keep(m.reply(m.data.tries)),
        failed: "ignore",
        crash: () => {
          throw new Error("crashed");
        },
        leave: (_idle, _event, m) => m.stop("shutdown", m.setData({ ...m.data, tries: -1 })),
      },
    },
    trying: {
      enter: (_trying, _previous, m) =>
        m.data.tries > 2 ? m.keep(m.setData({ ...m.data, tries: 100 })) : m.keep(),
      on: {
        pay: "postpone",
        tries: async (_trying, _event, m) => m.keep(m.reply(m.data.tries)),
        failed: to("idle", (_trying, _event, m) => m.next({ name: "idle" })),
        crash: (_trying, _event, m) => m.keep(m.setData({ ...m.data, tries: 50 }), { type: "odd" } as never),
        leave: "ignore",
      },
    },
  },
  info: (message, { id }) => (message === `fail ${id}` ? { type: "failed" } : undefined),
  terminate: ({ name }, reason, data) => ended.push([name, reason.type, data]),
});

const clock = testClock();
let system: System;

beforeEach(() => {
  ended = [];
  system = new System({ environment: clock.environment, report: false });
});

afterEach(() => clock.until(system.stop()));

describe("the data of a state machine", () => {
  it("are made with the arguments of the start, read by handlers and replaced by their steps [B55]", async () => {
    const till = await clock.until(system.start(Till, "t-1"));
    expect(await clock.until(till.call.pay({ card: "a" }))).toBe(0);
    expect(await clock.until(till.call.tries())).toBe(1);
    const second = till.call.pay({ card: "b" });
    system.send(till.pid as never, "fail t-2" as never);
    system.send(till.pid as never, "fail t-1" as never);
    expect(await clock.until(second)).toBe(1);
    expect(await clock.until(till.call.tries())).toBe(2);
  });

  it("are those after the step for the enter, which may replace them again [B55]", async () => {
    const till = await clock.until(system.start(Till, "t-1"));
    for (let n = 0; n < 3; n++) {
      await clock.until(till.call.pay({ card: "a" }));
      till.cast.failed();
    }
    expect(await clock.until(till.call.tries())).toBe(100);
  });

  it("are in `terminate` what holds: those before an error, those of a stop and of a bad step [B55]", async () => {
    for (const last of ["crash", "leave"] as const) {
      const till = await clock.until(system.start(Till, "t-1"));
      till.cast[last]();
      await clock.until(system.exited(till.pid));
    }
    const till = await clock.until(system.start(Till, "t-1"));
    till.call.pay({ card: "a" }).catch(() => undefined);
    till.cast.crash();
    await clock.until(system.exited(till.pid));
    expect(ended).toEqual([
      ["idle", "crash", { id: "t-1", tries: 0 }],
      ["idle", "shutdown", { id: "t-1", tries: -1 }],
      ["trying", "crash", { id: "t-1", tries: 50 }],
    ]);
  });

  it("are made anew by a restart, and may take time to make [B55]", async () => {
    let made = 0;
    const Slow = defineStateMachine<{ name: "on" }, Call<{ type: "made" }, number>, [], { made: number }>({
      data: async () => {
        await Promise.resolve();
        return { made: ++made };
      },
      init: startIn("on", (m) => m.next({ name: "on" }, m.setData({ made: m.data.made * 10 }))),
      states: { on: { on: { made: (_on, _event, m) => m.keep(m.reply(m.data.made)) } } },
    });
    await clock.until(
      system.start(
        supervisor({ children: [{ id: "slow", start: Slow, name: "slow", restart: "permanent" }] }),
      ),
    );
    const slow = Slow.at(system, "slow");
    expect(await clock.until(slow.call.made())).toBe(10);
    slow.stop();
    await clock.settle();
    expect(await clock.until(slow.call.made())).toBe(20);
  });

  it("stand beside the state in an inspection and a swap [B56]", async () => {
    const till = await clock.until(system.start(Till, "t-1"));
    expect(await clock.until(inspect(system, till.pid).state())).toEqual({
      state: { name: "idle" },
      data: { id: "t-1", tries: 0 },
    });
    expectTypeOf<StateOfDefinition<typeof Till>>().toEqualTypeOf<StateWithData<State, Data>>();

    type Total = { readonly name: "on"; readonly total: number };
    const Plain = defineStateMachine<Total, Event>({
      init: startIn("on", () => ({ name: "on", total: 0 })),
      states: {
        on: {
          on: {
            pay: "refuse",
            tries: ({ total }, _event, m) => m.keep(m.reply(total)),
            failed: "ignore",
            crash: "ignore",
            leave: "ignore",
          },
        },
      },
    });
    const inspector = inspect(system, till.pid);
    await clock.until(
      inspector.swap(Plain, ({ data }) => ({ name: "on", total: data.tries + 7 }) as const, { from: Till }),
    );
    expect(await clock.until(till.call.tries())).toBe(7);
    await clock.until(
      inspector.swap(
        Till,
        ({ total }) => ({ state: { name: "idle" } as const, data: { id: "t-2", tries: total } }),
        { from: Plain },
      ),
    );
    expect(await clock.until(till.call.tries())).toBe(7);
    await clock.until(inspector.swap(Till, () => undefined as never));
    till.cast.failed();
    expect(await clock.until(system.exited(till.pid))).toMatchObject({ type: "crash" });
  });

  it("are formatted with the state [B56]", async () => {
    const Secret = defineStateMachine<
      { name: "on" },
      { type: "tick" },
      [pin: string],
      { pin: string; left: number }
    >({
      data: (_ctx, pin) => ({ pin, left: 3 }),
      init: startIn("on", () => ({ name: "on" })),
      states: { on: { on: { tick: "ignore" } } },
      format: ({ name }, { left }) => ({ name, left }),
    });
    const secret = await clock.until(system.start(Secret, "1234"));
    expect(await clock.until(inspect(system, secret.pid).state())).toEqual({ name: "on", left: 3 });
  });

  it("go through a transition, which changes nothing in place [B57]", () => {
    const data: Data = Object.freeze({ id: "t-1", tries: 2 });
    expect(Till.transition({ name: "idle" }, { type: "pay", card: "a" }, data)).toEqual({
      state: { name: "trying", card: "a" },
      data: { id: "t-1", tries: 100 },
      actions: [
        { type: "setData", data: { id: "t-1", tries: 3 } },
        { type: "reply", value: 2 },
        { type: "setData", data: { id: "t-1", tries: 100 } },
      ],
    });
    expect(Till.transition({ name: "idle" }, { type: "leave" }, data)).toMatchObject({
      data: { tries: -1 },
      stops: { type: "shutdown" },
    });
  });

  it("are typed, have to be made, and are not set where there are none [B57]", async () => {
    expectTypeOf(Till.transition).parameter(2).toEqualTypeOf<Data>();
    const misuse = (): void => {
      defineStateMachine<{ name: "on" }, { type: "tick" }, [], { left: number }>(
        // @ts-expect-error nobody makes the data
        { init: startIn("on", () => ({ name: "on" })), states: { on: { on: { tick: "ignore" } } } },
      );
      defineStateMachine<{ name: "on" }, { type: "tick" }, [], { left: number }>({
        data: () => ({ left: 3 }),
        init: startIn("on", () => ({ name: "on" })),
        states: {
          on: {
            on: {
              // @ts-expect-error the data have another type
              tick: (_on, _tick, m) => m.keep(m.setData({ right: 3 })),
            },
          },
        },
      });
    };
    expect(misuse).toBeTypeOf("function");
    const Bare = defineStateMachine<{ name: "on" }, { type: "tick" }>({
      init: startIn("on", () => ({ name: "on" })),
      states: { on: { on: { tick: (_on, _tick, m) => m.keep(m.setData(5 as never)) } } },
    });
    const bare = await clock.until(system.start(Bare));
    bare.cast.tick();
    expect(await clock.until(system.exited(bare.pid))).toMatchObject({ error: { code: "ERR_BAD_ACTION" } });
    expect(() =>
      defineStateMachine({
        data: { left: 3 },
        init: startIn("on", () => ({ name: "on" })),
        states: { on: { on: {} } },
      } as never),
    ).toThrow(/data/);
  });

  it("are of one machine alone, in any schedule [B55]", async () => {
    const result = await explore(
      async (sim) => {
        const shop = sim.system();
        const tills = await Promise.all(["a", "b"].map((id) => shop.start(Till, id)));
        await Promise.all(tills.map((till) => till.call.pay({ card: "1" })));
        for (const till of tills) till.cast.failed();
        expect(await Promise.all(tills.map((till) => till.call.tries()))).toEqual([1, 1]);
      },
      { schedules: 50 },
    );
    expect(result.schedules).toBe(50);
  });
});
