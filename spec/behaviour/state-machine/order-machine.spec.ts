// The order of things, decided by the pure machine: what comes after a step, and what a change of state does to timeouts.

import { fc, test as property } from "@fast-check/vitest";
import { describe, expect, it } from "vitest";
import { type Action, moves, type Step } from "../../../lib/behaviour/state-machine/moves.js";
import {
  type Arrival,
  decide,
  initial,
  moved,
  type Order,
  type OrderEffect,
  type OrderEvent,
  type Rules,
  takesAtOnce,
} from "../../../lib/behaviour/state-machine/order-machine.js";

const EVENTS = ["e1", "e2", "e3", "t"];
const rules = (enters: boolean): Rules => ({
  enters: Object.assign(Object.create(null), { a: enters, b: enters }),
  events: new Set(EVENTS),
  maxPostponed: Number.POSITIVE_INFINITY,
  hasData: false,
});

/** A driver for the machine: what handlers and enters return, and what was seen. */
class Run {
  order: Order;
  readonly seen: string[] = [];
  readonly effects: string[] = [];
  private readonly react: (state: string, event: string) => Step;

  constructor(react: (state: string, event: string) => Step, enters = false) {
    this.react = react;
    this.order = initial(rules(enters), { name: "a" });
  }

  feed(first: OrderEvent): this {
    let event: OrderEvent | undefined = first;
    while (event !== undefined) {
      const [order, effects]: readonly [Order, readonly OrderEffect[]] = decide(this.order, event);
      this.order = order;
      event = undefined;
      for (const effect of effects) event = this.perform(effect) ?? event;
    }
    return this;
  }

  private perform(effect: OrderEffect): OrderEvent | undefined {
    this.effects.push("timer" in effect ? `${effect.type} ${effect.timer}` : effect.type);
    const { name } = this.order.state;
    switch (effect.type) {
      case "handle": {
        const { arrival } = effect;
        this.seen.push(`${name}:${arrival.event.type}`);
        return { type: "handled", arrival, step: this.react(name, arrival.event.type) };
      }
      case "enter": {
        const { change } = effect;
        this.seen.push(`${change.state.name}:enter`);
        return { type: "entered", change, step: this.react(change.state.name, "enter") };
      }
      case "reply":
        this.seen.push(`reply ${effect.value}`);
        return undefined;
      default:
        return undefined;
    }
  }

  send(type: string, from?: object): this {
    return this.feed({ type: "arrived", arrival: { event: { type }, from: from as Arrival["from"] } });
  }
}

const to = (name: string, ...actions: Action[]): Step => moves.next({ name }, ...actions);
const event = (type: string): { type: string } => ({ type });

describe("after a step", () => {
  it("replies come first, then the enter, then what was inserted, retried and due, before any message [B22]", () => {
    const run = new Run((state, type) => {
      if (type === "enter")
        return moves.keep(moves.replyTo({ answer: () => undefined } as never, "entering"));
      if (state === "a" && type === "e1") return moves.keep(moves.postpone());
      if (state === "a" && type === "e2")
        return to(
          "b",
          moves.stateTimeout(0, event("t")),
          moves.insert(event("e3")),
          moves.reply("on my way"),
          moves.postpone(),
        );
      return moves.keep();
    }, true);
    run.send("e1").send("e2", {});
    expect(run.seen).toEqual([
      ...["a:e1", "a:e2", "reply on my way", "b:enter", "reply entering"],
      ...["b:e3", "b:e1", "b:e2", "b:t"],
    ]);
  });

  it("several inserted events are handled in the order of the actions [B22]", () => {
    const run = new Run((_state, type) =>
      type === "e1" ? moves.keep(moves.insert(event("e3")), moves.insert(event("e2"))) : moves.keep(),
    );
    expect(run.send("e1").seen).toEqual(["a:e1", "a:e3", "a:e2"]);
  });

  it("a state of the same name is no change: nothing is retried, and its enter is not called [B23]", () => {
    const run = new Run((_state, type) => {
      if (type === "e1") return moves.keep(moves.postpone());
      return type === "e2" ? moves.next({ name: "a" }) : moves.repeat();
    }, true);
    run.send("e1").send("e2");
    expect(run.seen).toEqual(["a:e1", "a:e2"]);
  });

  it("a repeat calls the enter again, and leaves postponed events and the state timeout alone [B23]", () => {
    const run = new Run((_state, type) => {
      if (type === "e1") return moves.keep(moves.postpone(), moves.stateTimeout(10, event("t")));
      return type === "e2" ? moves.repeat() : moves.keep();
    }, true);
    run.send("e1").send("e2");
    expect(run.seen).toEqual(["a:e1", "a:e2", "a:enter"]);
    expect(run.effects).not.toContain("cancelTimer 1");
  });
});

describe("timeouts", () => {
  it("of the state end with it, unless the change itself starts them; named ones go on [B24]", () => {
    const run = new Run((state, type) => {
      if (type !== "e1") return moves.keep();
      return state === "a"
        ? moves.keep(moves.stateTimeout(10, event("t")), moves.timeout("n", 10, event("t")))
        : moves.keep();
    });
    run.send("e1");
    const change = new Run(() => to("b", moves.stateTimeout(5, event("t"))));
    change.order = run.order;
    change.send("e2");
    expect(change.effects).toEqual(["handle", "cancelTimer 1", "startTimer 3"]);
    expect(change.order.running.map(({ key }) => key)).toEqual(["named n", "state"]);
  });

  it("of the state never come when the state has changed, and those of zero neither [B24]", () => {
    const run = new Run((state, type) => {
      if (state === "b") return moves.keep();
      return type === "e1" ? moves.keep(moves.stateTimeout(10, event("t"))) : to("b");
    });
    run.send("e1").send("e2");
    expect(run.order.running).toEqual([]);
    expect(run.feed({ type: "expired", timer: 1 }).seen).toEqual(["a:e1", "a:e2"]);
    const zero = new Run((_state, type) =>
      type === "e1" ? moves.keep(moves.stateTimeout(0, event("t")), moves.insert(event("e2"))) : to("b"),
    );
    expect(zero.send("e1").seen).toEqual(["a:e1", "a:e2"]);
  });

  it("of events are cancelled by every event, so that one of zero beside an inserted event never comes [B24]", () => {
    const run = new Run((_state, type) =>
      type === "e1" ? moves.keep(moves.eventTimeout(0, event("t")), moves.insert(event("e2"))) : moves.keep(),
    );
    expect(run.send("e1").seen).toEqual(["a:e1", "a:e2"]);
  });

  it("are updated in place, or come at once when they do not run [B24]", () => {
    const run = new Run((_state, type) => {
      if (type === "e1") return moves.keep(moves.stateTimeout("update", event("t")));
      if (type === "e2") return moves.keep(moves.timeout("n", 10, event("e3")));
      return type === "e3" ? moves.keep(moves.timeout("n", "update", event("t"))) : moves.keep();
    });
    expect(run.send("e1").seen).toEqual(["a:e1", "a:t"]);
    expect(run.order.running).toEqual([]);
    run.send("e2").send("e3");
    expect(run.order.running).toMatchObject([{ key: "named n", event: { type: "t" } }]);
  });

  it("count as the last action says, a cancel included [B24]", () => {
    const run = new Run((_state, type) =>
      type === "e1"
        ? moves.keep(moves.stateTimeout(10, event("t")), moves.stateTimeout("cancel"))
        : moves.keep(moves.stateTimeout(10, event("t")), moves.stateTimeout(20, event("e3"))),
    );
    expect(run.send("e1").order.running).toEqual([]);
    expect(run.send("e2").order.running).toMatchObject([{ event: { type: "e3" } }]);
  });

  it("that have expired can still be cancelled: their turn is nothing then [B24]", () => {
    const run = new Run((_state, type) =>
      type === "e1"
        ? moves.keep(moves.stateTimeout(10, event("t")))
        : moves.keep(moves.stateTimeout("cancel")),
    );
    run.send("e1").send("e2");
    expect(run.feed({ type: "expired", timer: 1 }).seen).toEqual(["a:e1", "a:e2"]);
  });

  it("never come when they are infinite, and cancel the one that runs [B24]", () => {
    const run = new Run((_state, type) =>
      moves.keep(moves.stateTimeout(type === "e1" ? 10 : Number.POSITIVE_INFINITY, event("t"))),
    );
    run.send("e1").send("e2");
    expect(run.order).toMatchObject({ running: [], due: [] });
    expect(run.effects).toContain("cancelTimer 1");
  });
});

// ── properties ──────────────────────────────────────────────────────────────────────────────────────────────────

const EVENT = fc.constantFrom(...EVENTS).map(event);
const WORDS = fc.oneof(
  fc.tuple(fc.constantFrom(0, 10, Number.POSITIVE_INFINITY), EVENT),
  fc.tuple(fc.constant("cancel"), EVENT),
  fc.tuple(fc.constant("update"), EVENT),
) as fc.Arbitrary<[number, { type: string }]>;
const TIMEOUT: fc.Arbitrary<Action> = fc.oneof(
  WORDS.map((words) => moves.stateTimeout(...words)),
  WORDS.map((words) => moves.eventTimeout(...words)),
  fc.tuple(fc.constantFrom("n", "m"), WORDS).map(([name, words]) => moves.timeout(name, ...words)),
);
const STEP: fc.Arbitrary<Step> = fc
  .tuple(
    fc.constantFrom("keep", "next", "repeat"),
    fc.constantFrom("a", "b"),
    fc.array(TIMEOUT, { maxLength: 3 }),
    fc.boolean(),
  )
  .map(([type, name, actions, postpones]) => {
    const all = postpones ? [moves.postpone(), ...actions] : actions;
    if (type === "next") return moves.next({ name }, ...all);
    return type === "keep" ? moves.keep(...all) : moves.repeat(...all);
  });
/** What is sent, and the steps that the handlers take in turn; from the end of the list on they keep. */
const SCRIPT = fc.record({
  sent: fc.array(fc.constantFrom("e1", "e2"), { maxLength: 8 }),
  steps: fc.array(STEP, { maxLength: 20 }),
  expired: fc.array(fc.nat({ max: 6 }), { maxLength: 4 }),
});

/** Deeply frozen, so that a mutation of what was decided before would throw. */
function frozen<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value) && !(value instanceof Set)) {
    Object.freeze(value);
    for (const member of Object.values(value)) frozen(member);
  }
  return value;
}

describe("for every script", () => {
  property.prop([SCRIPT])("no event is lost or doubled, and a decision changes nothing [B22]", (script) => {
    const steps = [...script.steps];
    let handled = 0;
    let postponements = 0;
    let changes = 0;
    const run = new Run((_state, type) => {
      const step = type === "enter" ? moves.keep() : (steps.shift() ?? moves.keep());
      if (type !== "enter") handled++;
      if (step.actions.some((action) => action.type === "postpone")) postponements++;
      return step;
    }, true);
    for (const type of script.sent) {
      frozen(run.order);
      const before = run.order.state.name;
      run.send(type);
      if (run.order.state.name !== before) changes++;
    }
    for (const timer of script.expired) run.feed({ type: "expired", timer });
    let waiting = 0;
    for (let one = run.order.postponed; one !== undefined; one = one.tail) waiting++;
    const timeouts = handled - (script.sent.length + (postponements - waiting));
    expect(waiting).toBe(run.order.postponedCount);
    expect(waiting).toBeLessThanOrEqual(postponements);
    expect(timeouts).toBeGreaterThanOrEqual(0);
    expect(changes).toBeLessThanOrEqual(handled);
    expect(run.order).toMatchObject({ queue: undefined, due: [] });
  });

  property.prop([SCRIPT])(
    "each timeout runs at most once, and every timer is started and ended once [B24]",
    (script) => {
      const steps = [...script.steps];
      const run = new Run((_state, type) =>
        type === "enter" ? moves.keep() : (steps.shift() ?? moves.keep()),
      );
      for (const type of script.sent) run.send(type);
      const keys = run.order.running.map(({ key }) => key);
      expect(new Set(keys).size).toBe(keys.length);
      const timers = (type: string): string[] =>
        run.effects
          .filter((effect) => effect.startsWith(type))
          .map((effect) => effect.split(" ")[1] as string);
      const started = timers("startTimer");
      const cancelled = timers("cancelTimer");
      expect(new Set(started).size).toBe(started.length);
      expect(new Set(cancelled).size).toBe(cancelled.length);
      const running = run.order.running.map(({ timer }) => String(timer));
      expect([...cancelled, ...running].toSorted()).toEqual([...started].toSorted());
    },
  );

  property.prop([SCRIPT, STEP, fc.boolean()])(
    "the shortcuts decide as the machine does [B22]",
    (script, last, enters) => {
      const steps = [...script.steps];
      const run = new Run(
        (_state, type) => (type === "enter" ? moves.keep() : (steps.shift() ?? moves.keep())),
        enters,
      );
      for (const type of script.sent) run.send(type);
      const { order } = run;
      const arrival = { event: event("e1"), from: {} as never };
      if (takesAtOnce(order))
        expect(decide(order, { type: "arrived", arrival })).toEqual([order, [{ type: "handle", arrival }]]);
      const reply = moves.reply(5);
      for (const step of [
        last,
        moves.keep(),
        to("b"),
        to("a"),
        moves.keep(reply),
        to("b", reply),
        moves.repeat(reply),
      ]) {
        const after = { ...order };
        if (moved(after, step, arrival))
          expect(decide(order, { type: "handled", arrival, step })).toEqual([
            after,
            step.actions.map(({ type }) => ({ type, to: arrival.from, value: 5 })),
          ]);
        else expect(after).toEqual(order);
      }
    },
  );
});
