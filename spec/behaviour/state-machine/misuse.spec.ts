// What is wrong with a definition is said where it is defined; what a handler does wrong crashes the machine with its own error.

import {
  reply as answer,
  defineServer,
  defineStateMachine,
  stop as endWith,
  ignore,
  OptionError,
  type SignalboxError,
  System,
  startIn,
  to,
} from "signalbox";
import { describe, expect, it } from "vitest";
import { Payment } from "./payment.js";

const handler = (_state: unknown, _event: unknown, m: { keep(): unknown }): unknown => m.keep();
const start = startIn("a" as never, () => ({ name: "a" }) as never);

/** A definition without types, as JavaScript passes it. */
const define = (definition: unknown): unknown => defineStateMachine(definition as never);
const withOn = (on: unknown): unknown => ({ init: start, states: { a: { on } } });

describe("the definition of a state machine", () => {
  it.each<[string, unknown, string]>([
    ["nothing", undefined, "definition"],
    ["an unknown option", { init: start, states: { a: { on: {} } }, stats: 5 }, "stats"],
    ["an init without states", { init: () => ({ name: "a" }), states: { a: { on: {} } } }, "init"],
    [
      "an init in no state",
      { init: startIn("b" as never, () => ({}) as never), states: { a: { on: {} } } },
      "init",
    ],
    ["no states", { init: start }, "states"],
    ["an empty list of states", { init: start, states: {} }, "states"],
    ["a state that is none", { init: start, states: { a: 5 } }, "states.a"],
    ["an unknown member of a state", { init: start, states: { a: { on: {}, exit: 5 } } }, "states.a.exit"],
    ["a state without events", { init: start, states: { a: {} } }, "states.a.on"],
    ["an enter that is none", { init: start, states: { a: { on: {}, enter: 5 } } }, "states.a.enter"],
    ["a cell that is none", withOn({ go: "skip" }), "states.a.on.go"],
    ["a target that is no state", withOn({ go: to("b" as never, handler as never) }), "states.a.on.go"],
    ["an info that is none", { init: start, states: { a: { on: {} } }, info: 5 }, "info"],
    ["a terminate that is none", { init: start, states: { a: { on: {} } }, terminate: 5 }, "terminate"],
    ["no label", { init: start, states: { a: { on: {} } }, label: "" }, "label"],
    ["no flag", { init: start, states: { a: { on: {} } }, trapExit: 1 }, "trapExit"],
    ["a limit of 0", { init: start, states: { a: { on: {} } }, maxPostponed: 0 }, "maxPostponed"],
  ])("is refused with %s", (_what, definition, path) => {
    expect(() => define(definition)).toThrow(expect.objectContaining({ code: "ERR_OPTION", path }));
  });

  it("is refused where a state does not say what it does with an event of another state", () => {
    const lacking = (a: object, b: object): unknown => ({
      init: start,
      states: { a: { on: a }, b: { on: b } },
    });
    const path = (definition: unknown): string => {
      try {
        define(definition);
      } catch (error) {
        if (error instanceof OptionError) return error.path;
      }
      return "";
    };
    expect(path(lacking({ go: handler, halt: handler }, { go: "ignore" }))).toBe("states.b.on.halt");
    expect(path(lacking({ go: handler }, { go: "ignore", halt: "ignore" }))).toBe("states.a.on.halt");
  });

  it("takes targets as a name or as a list of names, with a function", () => {
    expect(() => to([] as never, handler as never)).toThrow(expect.objectContaining({ path: "targets" }));
    expect(() => to(5 as never, handler as never)).toThrow(expect.objectContaining({ path: "targets" }));
    expect(() => to("a" as never, 5 as never)).toThrow(expect.objectContaining({ path: "handle" }));
    expect(() => startIn("a" as never, 5 as never)).toThrow(expect.objectContaining({ path: "handle" }));
  });
});

type Loose = (
  state: { name: string },
  event: { type: string },
  m: { [move: string]: (...args: unknown[]) => unknown },
) => unknown;

/** The error with which a machine of the states a and b ends, when `go` in a does this. */
async function errorOf(
  go: Loose,
  { enter, ...options }: { enter?: unknown; init?: unknown; maxPostponed?: number } = {},
): Promise<SignalboxError> {
  await using system = new System({ report: false });
  const Machine = defineStateMachine({
    init: start,
    states: {
      a: { on: { go: go as never, halt: "ignore", ask: "refuse" } },
      b: { ...(enter === undefined ? {} : { enter }), on: { go: "ignore", halt: "ignore", ask: "refuse" } },
    },
    ...options,
  } as never);
  const ref = await system.start(Machine as never, ...([] as never));
  const { cast, pid } = ref as unknown as { cast: { go(): void }; pid: never };
  cast.go();
  cast.go();
  const reason = await system.exited(pid);
  return (reason.type === "crash" ? reason.error : reason) as SignalboxError;
}

const toB = (go: Loose): Loose => to("b" as never, go as never) as never;
const step =
  (...actions: string[]): Loose =>
  (_state, _event, m) =>
    m.keep?.(...actions.map((action) => m[action]?.()));

describe("a handler that does something wrong", () => {
  it("crashes its machine when it goes to a state that it did not declare [B25]", async () => {
    const error = await errorOf((_state, _event, m) => m.next?.({ name: "b" }));
    expect(error).toMatchObject({ code: "ERR_UNDECLARED_TRANSITION", from: "a", event: "go", to: "b" });
    expect(await errorOf(async (_state, _event, m) => m.next?.({ name: "b" }))).toMatchObject({
      code: "ERR_UNDECLARED_TRANSITION",
    });
  });

  it.each<[string, string, Loose, { enter?: unknown; maxPostponed?: number }?]>([
    ["an unknown state", "ERR_UNKNOWN_STATE", (_s, _e, m) => m.next?.({ name: "c" })],
    ["a state without a name", "ERR_OPTION", (_s, _e, m) => m.next?.(undefined)],
    ["no step", "ERR_BAD_STEP", () => undefined],
    ["no step, later", "ERR_BAD_STEP", async () => ({ name: "a" })],
    ["no action", "ERR_BAD_ACTION", (_s, _e, m) => m.keep?.({ type: "jump" })],
    ["nothing as an action", "ERR_BAD_ACTION", (_s, _e, m) => m.keep?.(undefined)],
    ["a reply to no call", "ERR_BAD_ACTION", step("reply")],
    ["a refusal of no call", "ERR_BAD_ACTION", (_s, _e, m) => m.keep?.(m.refuse?.(new Error("no")))],
    ["a stop that postpones", "ERR_BAD_ACTION", (_s, _e, m) => m.stop?.("normal", m.postpone?.())],
    ["a stop for no reason", "ERR_OPTION", (_s, _e, m) => m.stop?.("never")],
    [
      "an unknown event to insert",
      "ERR_UNKNOWN_EVENT",
      (_s, _e, m) => m.keep?.(m.insert?.({ type: "jump" })),
    ],
    [
      "an unknown event to time",
      "ERR_UNKNOWN_EVENT",
      (_s, _e, m) => m.keep?.(m.stateTimeout?.(5, { type: "x" })),
    ],
    ["no event to insert", "ERR_OPTION", step("insert")],
    ["no event to time", "ERR_OPTION", (_s, _e, m) => m.keep?.(m.eventTimeout?.(5))],
    ["a negative time", "ERR_OPTION", (_s, _e, m) => m.keep?.(m.stateTimeout?.(-1, { type: "go" }))],
    [
      "a time that is no number",
      "ERR_OPTION",
      (_s, _e, m) => m.keep?.(m.eventTimeout?.(Number.NaN, { type: "go" })),
    ],
    ["a timeout without a name", "ERR_OPTION", (_s, _e, m) => m.keep?.(m.timeout?.("", 5, { type: "go" }))],
    ["an effect that is none", "ERR_OPTION", step("run")],
    ["more postponed than allowed", "ERR_POSTPONED_LIMIT", step("postpone"), { maxPostponed: 1 }],
  ])("crashes its machine: %s", async (_what, code, go, options) => {
    expect((await errorOf(go, options)).code).toBe(code);
  });

  const enters: [string, string, Loose][] = [
    ["changes the state", "ERR_BAD_ENTER_STEP", (_s, _p, m) => m.next?.({ name: "a" })],
    ["postpones", "ERR_BAD_ENTER_ACTION", step("postpone")],
    ["inserts an event", "ERR_BAD_ENTER_ACTION", (_s, _p, m) => m.keep?.(m.insert?.({ type: "go" }))],
    ["replies to no call", "ERR_BAD_ACTION", step("reply")],
    ["gives no step", "ERR_BAD_STEP", () => undefined],
  ];

  it.each(enters)("crashes its machine when its enter %s [B28]", async (_what, code, enter) => {
    const go = toB((_state, _event, m) => m.next?.({ name: "b" }));
    expect((await errorOf(go, { enter })).code).toBe(code);
  });

  it("throws a step as it would return it", async () => {
    const thrown: Loose = (_state, _event, m) => {
      throw m.next?.({ name: "b" });
    };
    const stop: Loose = (_state, _event, m) => {
      throw m.stop?.("shutdown");
    };
    expect(await errorOf(toB(thrown), { enter: stop })).toEqual({ type: "shutdown" });
    expect(
      await errorOf(
        toB(async (...args) => thrown(...args)),
        { enter: stop },
      ),
    ).toEqual({ type: "shutdown" });
  });

  it("crashes with a bad step that is thrown as with one that is returned [B62]", async () => {
    const go: Loose = (_state, _event, m) => m.next?.({ name: "b" });
    for (const bad of [ignore, endWith("shutdown"), answer(5, { idleMs: 5 })]) {
      const thrown: Loose = () => {
        throw bad;
      };
      const late: Loose = async () => thrown(undefined as never, undefined as never, undefined as never);
      for (const wrong of [thrown, late, () => bad] as Loose[]) {
        expect(await errorOf(toB(wrong))).toMatchObject({ code: "ERR_BAD_STEP" });
        expect(await errorOf(toB(go), { enter: wrong })).toMatchObject({ code: "ERR_BAD_STEP" });
      }
    }
  });

  it("crashes with anything else that is thrown, whatever it looks like [B62]", async () => {
    const likeness = { type: "next", state: { name: "b" }, actions: [] };
    expect(
      await errorOf(
        toB(() => {
          throw likeness;
        }),
      ),
    ).toMatchObject({ code: "ERR_THROWN_VALUE", cause: likeness });
  });

  it("starts, stops or ignores by what its init throws as by what it returns [B62]", async () => {
    await using system = new System({ report: false });
    const begin = (init: (m: { next(state: unknown): unknown; keep(): unknown }) => unknown) =>
      system.start(
        defineStateMachine({
          init: startIn("a" as never, init as never),
          states: { a: { on: {} } },
        } as never) as unknown as typeof Payment,
        5,
      );
    const thrower = (made: (m: { next(state: unknown): unknown; keep(): unknown }) => unknown) =>
      [
        (m: never) => {
          throw made(m);
        },
        async (m: never) => {
          throw made(m);
        },
      ] as (typeof made)[];
    for (const init of thrower((m) => m.next({ name: "a" }))) expect(await begin(init)).toBeDefined();
    for (const init of thrower(() => endWith("shutdown")))
      await expect(begin(init)).rejects.toMatchObject({ reason: { type: "shutdown" } });
    for (const init of thrower(() => ignore)) await expect(begin(init)).rejects.toThrow(/ignore/);
    for (const init of thrower((m) => m.keep()))
      await expect(begin(init)).rejects.toMatchObject({ reason: { error: { code: "ERR_BAD_STEP" } } });
  });

  it("fails the start when init goes elsewhere, or makes no state [B25]", async () => {
    await using system = new System({ report: false });
    const begin = (init: () => unknown): Promise<unknown> =>
      system.start(
        defineStateMachine({
          init: startIn("a" as never, init as never),
          states: { a: { on: {} }, b: { on: {} } },
        } as never) as never,
        ...([] as never),
      );
    const because = (code: string): object => ({ code: "ERR_START", reason: { error: { code } } });
    await expect(begin(() => ({ name: "b" }))).rejects.toMatchObject(because("ERR_UNDECLARED_TRANSITION"));
    await expect(begin(() => ({ name: "c" }))).rejects.toMatchObject(because("ERR_UNKNOWN_STATE"));
    await expect(begin(() => 5)).rejects.toMatchObject(because("ERR_BAD_STEP"));
    await expect(begin(async () => undefined)).rejects.toMatchObject(because("ERR_BAD_STEP"));
  });
});

describe("an event that a machine does not have", () => {
  it("fails its caller, is a dead letter as a cast, and does the machine no harm", async () => {
    await using system = new System({ report: false });
    const dead: unknown[] = [];
    system.events.on("deadLetter", ({ reason }) => dead.push(reason));
    const payment = await system.start(Payment, 500);
    const Other = defineStateMachine<{ name: "a" }, { type: "other" }>({
      init: startIn("a", () => ({ name: "a" })),
      states: { a: { on: { other: "ignore" } } },
    });
    const other = Other.at(system, payment.pid) as unknown as {
      call: { other(): Promise<unknown> };
      cast: { other(): void };
    };
    await expect(other.call.other()).rejects.toMatchObject({ code: "ERR_UNKNOWN_EVENT" });
    other.cast.other();
    expect(() => payment.send(undefined as never)).toThrow(OptionError);
    const Server = defineServer({ init: () => ({}), calls: { look: () => 5 } });
    await expect(Server.at(system, payment.pid).call.look()).rejects.toMatchObject({
      code: "ERR_UNKNOWN_EVENT",
    });
    expect(await payment.call.status()).toBe("waiting");
    expect(dead).toContain("unhandled");
  });
});

describe("the options of a handle", () => {
  it.each([
    ["a misspelled one", { timeout: 5 }, "timeout"],
    ["a timeout that is none", { timeoutMs: -1 }, "timeoutMs"],
    ["a process that is none", { from: 5 }, "from"],
  ])("are refused with %s", async (_what, options, path) => {
    await using system = new System({ report: false });
    const payment = await system.start(Payment, 500);
    expect(() => payment.with(options as never)).toThrow(
      expect.objectContaining({ code: "ERR_OPTION", path }),
    );
  });
});
