import fc from "fast-check";
import { describe, expect, it } from "vitest";
import * as listening from "../../../lib/store/postgres/listen-machine.js";
import { parse, Sender } from "../../../lib/store/postgres/messages.js";
import * as pool from "../../../lib/store/postgres/pool-machine.js";

const types = (effects: readonly { readonly type: string }[]): string[] => effects.map(({ type }) => type);

describe("a pool", () => {
  it("connects for those who wait, up to its size, and hands connections out in the order of asking", () => {
    let state = pool.initial(2);
    const on = (event: pool.Event): readonly pool.Effect[] => {
      const [next, effects] = pool.decide(state, event);
      state = next;
      return effects;
    };
    expect(types(on({ type: "asked", waiter: 1 }))).toEqual(["connect"]);
    expect(types(on({ type: "asked", waiter: 2 }))).toEqual(["connect"]);
    expect(types(on({ type: "asked", waiter: 3 }))).toEqual([]);
    expect(on({ type: "connected" })).toEqual([{ type: "hand", waiter: 1 }]);
    expect(on({ type: "returned", usable: true })).toEqual([{ type: "hand", waiter: 2 }]);
    expect(on({ type: "returned", usable: false })).toEqual([]);
    expect(on({ type: "connected" })).toEqual([{ type: "hand", waiter: 3 }]);
    expect(types(on({ type: "closed" }))).toEqual([]);
    expect(types(on({ type: "asked", waiter: 4 }))).toEqual(["give-up"]);
    expect(types(on({ type: "returned", usable: true }))).toEqual(["discard", "end"]);
  });

  it("has one attempt at a time after a failure, and tells all of one that lasts", () => {
    let state = pool.initial(4);
    const on = (event: pool.Event): string[] => {
      const [next, effects] = pool.decide(state, event);
      state = next;
      return types(effects);
    };
    on({ type: "asked", waiter: 1 });
    on({ type: "asked", waiter: 2 });
    expect(on({ type: "failed", lasting: false })).toEqual(["rest"]);
    expect(on({ type: "failed", lasting: false })).toEqual([]);
    expect(on({ type: "rested" })).toEqual(["connect"]);
    expect(on({ type: "failed", lasting: true })).toEqual(["give-up", "give-up", "rest"]);
  });

  it("gives no connection twice, and loses none, whatever happens", () => {
    const steps = fc.array(
      fc.constantFrom("ask", "expire", "connected", "failed", "rested", "return", "break", "drop", "close"),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 3 }), (list, size) => {
        let state = pool.initial(size);
        let waiters = 0;
        let [idle, busy, connecting] = [0, 0, 0];
        const settled = new Set<number>();
        const send = (event: pool.Event): void => {
          const [next, effects] = pool.decide(state, event);
          state = next;
          for (const effect of effects)
            if (effect.type === "connect") connecting++;
            else if (effect.type === "discard") idle--;
            else if (effect.type === "hand" || effect.type === "give-up") {
              expect(settled.has(effect.waiter)).toBe(false);
              settled.add(effect.waiter);
              if (effect.type === "hand") [idle, busy] = [idle - 1, busy + 1];
            }
          expect(state).toMatchObject({ idle, busy, connecting });
          expect(Math.min(idle, busy, connecting)).toBeGreaterThanOrEqual(0);
          expect(idle + busy + connecting).toBeLessThanOrEqual(size);
        };
        for (const step of list)
          if (step === "ask") send({ type: "asked", waiter: ++waiters });
          else if (step === "expire") send({ type: "expired", waiter: waiters });
          else if (step === "connected" && connecting > 0) {
            [connecting, idle] = [connecting - 1, idle + 1];
            send({ type: "connected" });
          } else if (step === "failed" && connecting > 0) {
            connecting--;
            send({ type: "failed", lasting: waiters % 3 === 0 });
          } else if (step === "return" && busy > 0) {
            [busy, idle] = [busy - 1, idle + 1];
            send({ type: "returned", usable: true });
          } else if (step === "break" && busy > 0) {
            busy--;
            send({ type: "returned", usable: false });
          } else if (step === "drop" && idle > 0) {
            idle--;
            send({ type: "dropped" });
          } else if (step === "rested") send({ type: "rested" });
          else if (step === "close") send({ type: "closed" });
        expect(settled.size + state.queue.length).toBe(waiters);
      }),
      { numRuns: 200 },
    );
  });
});

describe("a session that listens", () => {
  it("polls while its tests fail, and stops when one arrives", () => {
    let state = listening.initial();
    const on = (event: listening.Event): string[] => {
      const [next, effects] = listening.decide(state, event);
      state = next;
      return types(effects);
    };
    expect(on({ type: "connected" })).toEqual(["test"]);
    expect(on({ type: "overdue", test: 1 })).toEqual(["warn", "poll", "again", "drop"]);
    expect(on({ type: "arrived", test: 1 })).toEqual([]);
    expect(on({ type: "connected" })).toEqual(["test"]);
    expect(on({ type: "overdue", test: 2 })).toEqual(["again", "drop"]);
    expect(on({ type: "connected" })).toEqual(["test"]);
    expect(on({ type: "arrived", test: 3 })).toEqual(["trust", "rest", "stop-polling"]);
    expect(on({ type: "due", test: 3 })).toEqual(["test"]);
    expect(on({ type: "lost" })).toEqual([]);
    expect(on({ type: "overdue", test: 4 })).toEqual([]);
  });
});

describe("messages", () => {
  it("carry all topics, each within the limit of a notification, and nothing strange is taken for one [K45]", () => {
    const sender = new Sender("place", "me");
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.string({ unit: "grapheme", maxLength: 500, minLength: 1 }), { maxLength: 60 }),
        (topics) => {
          const messages = sender.topics(topics, 7_500);
          const heard: string[] = [];
          for (const message of messages) {
            expect(Buffer.byteLength(message)).toBeLessThan(8_000);
            const found = parse(message);
            if (found?.type === "topics") heard.push(...found.topics);
          }
          expect(heard).toEqual(topics);
        },
      ),
      { numRuns: 50 },
    );
    for (const strange of ["", "{}", "[]", "[1,2]", '["me"]', '["me","t"]', '["me","x",1]', "null"])
      expect(parse(strange)).toBeUndefined();
    expect(parse(sender.test(7))).toEqual({ sender: "me", type: "test", test: 7 });
    expect(parse(sender.again())).toEqual({ sender: "me", type: "again" });
  });
});
