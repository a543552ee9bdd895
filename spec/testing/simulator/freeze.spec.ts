// With `freeze`, messages are immutable from when they are sent: two processes that share an object are found.

import { ConsumerGroup, consumer, defineServer, type Pid, type ReplyTo } from "signalbox";
import { explore, type Scenario, type Simulation, simulate } from "signalbox/testing";
import { describe, expect, test } from "vitest";
import { causeOf } from "../support/found.js";

interface Cart {
  readonly items: string[];
}

/** What a process ends with that does something to a message. */
async function endOf(sim: Simulation, work: (cart: Cart) => unknown, cart: Cart): Promise<string> {
  const system = sim.system();
  const till = system.spawn<Cart>({ handle: (_ctx, given) => void work(given) });
  const ended = system.exited(till);
  system.send(till, cart);
  await sim.sleep(1);
  sim.crash(till, "shutdown");
  const reason = await ended;
  return reason.type === "crash" ? String(reason.error) : reason.type;
}

describe("freeze", () => {
  test("finds the process that writes to a message that others hold as well", async () => {
    /** Two tills take the same cart: each empties it when it is paid. */
    const sharing = (copy: boolean): Scenario => {
      return async (sim) => {
        const system = sim.system({ name: "shop" });
        const crashes: unknown[] = [];
        system.events.on("exit", ({ reason }) => reason.type === "crash" && crashes.push(reason.error));
        const tills = ["a", "b"].map((label) =>
          system.spawn<Cart>({ handle: (_ctx, cart) => void cart.items.splice(0) }, { label }),
        );
        const cart: Cart = { items: ["tea"] };
        for (const till of tills) system.send(till, copy ? structuredClone(cart) : cart);
        await sim.quiet();
        if (crashes.length > 0) throw crashes[0];
      };
    };
    await explore(sharing(false), { schedules: 10 });
    expect(await causeOf(sharing(false), { freeze: true })).toBeInstanceOf(TypeError);
  });

  test("finds a sender that writes to a sent message", async () => {
    let thrown: unknown;
    await simulate(
      async (sim) => {
        const system = sim.system();
        const till = system.spawn<Cart>({ handle: () => undefined });
        system.spawn((ctx) => {
          const cart: Cart = { items: [] };
          ctx.send(till, cart);
          try {
            cart.items.push("tea");
          } catch (error) {
            thrown = error;
          }
        });
        await sim.quiet();
      },
      { freeze: true },
    );
    expect(thrown).toBeInstanceOf(TypeError);
  });

  test.each<[string, Cart]>([
    ["at its first level", { items: [] }],
    ["all the way down", { items: [{ n: 1 }] } as never],
    ["below what was frozen before", Object.freeze({ items: [] as string[] })],
    ["without a prototype", Object.assign(Object.create(null), { items: [] })],
  ])("makes a message immutable %s", async (_where, cart) => {
    let end = "";
    const write = (given: Cart): void => {
      const [first] = given.items as unknown as [{ n: number } | undefined];
      if (first === undefined) given.items.push("tea");
      else first.n++;
    };
    await simulate(
      async (sim) => {
        end = await endOf(sim, write, cart);
      },
      { freeze: true },
    );
    expect(end).toMatch(/^TypeError/);
  });

  test("bears messages that hold themselves", async () => {
    const cart: { items: unknown[] } = { items: [] };
    cart.items.push(cart);
    await simulate(async (sim) => void (await endOf(sim, () => undefined, cart as Cart)), { freeze: true });
    expect(Object.isFrozen(cart.items)).toBe(true);
  });

  test("does not freeze instances of classes", async () => {
    class Ledger {
      readonly lines: string[] = [];
    }
    const ledger = new Ledger();
    const map = new Map([["a", ledger]]);
    await simulate(
      async (sim) => {
        const end = await endOf(
          sim,
          (cart) => void (cart as unknown as { ledger: Ledger }).ledger.lines.push("x"),
          {
            items: [],
            ...{ ledger, map },
          },
        );
        expect(end).toBe("shutdown");
      },
      { freeze: true },
    );
    expect(ledger.lines).toEqual(["x"]);
    expect(Object.isFrozen(map)).toBe(false);
  });

  test("goes for the arguments of calls and casts, for replies, and for deliveries", async () => {
    const seen = new Map<string, unknown>();
    const Till = defineServer({
      init: () => ({ carts: [] as Cart[] }),
      calls: {
        pay: (_state, cart: Cart) => {
          seen.set("call", cart);
          return { receipt: ["paid"] };
        },
      },
      casts: {
        put: (_state, cart: Cart) => {
          seen.set("cast", cart);
        },
      },
    });
    await simulate(
      async (sim) => {
        const system = sim.system();
        const till = await system.start(Till);
        seen.set("reply", await till.call.pay({ items: [] }));
        till.cast.put({ items: [] });
        const plain = system.spawn<{ cart: Cart; to: ReplyTo<Cart> }>({
          handle: (ctx, { cart, to }) => {
            seen.set("plain call", cart);
            ctx.reply(to, { items: [] });
          },
        });
        seen.set(
          "plain reply",
          await system.call(plain, (to: ReplyTo<Cart>) => ({
            cart: { items: [] as string[] },
            to,
          })),
        );
        const group = new ConsumerGroup<Cart>({ patienceMs: 1_000 });
        system.spawn(consumer((cart: Cart) => void seen.set("delivery", cart), { group }));
        await system.dispatch(group, { items: [] });
        const body = system.spawn<Cart>(async (ctx) => {
          seen.set("received", await ctx.receive());
        });
        system.send(body, { items: [] });
        await sim.quiet();
      },
      { freeze: true },
    );
    expect(seen.size).toBe(7);
    for (const [how, value] of seen) {
      expect([how, Object.isFrozen(value)]).toEqual([how, true]);
      for (const inner of Object.values(value as object))
        expect([how, Object.isFrozen(inner)]).toEqual([how, true]);
    }
  });

  test("is off unless it is asked for", async () => {
    await simulate(async (sim) => {
      expect(await endOf(sim, (cart) => cart.items.push("tea"), { items: [] })).toBe("shutdown");
    });
  });

  test("does not freeze pids", async () => {
    await simulate(
      async (sim) => {
        const system = sim.system();
        const heard: Pid[] = [];
        const office = system.spawn<{ from: Pid }>({ handle: (_ctx, { from }) => void heard.push(from) });
        const sender = system.spawn((ctx) => ctx.send(office, { from: ctx.self }));
        await sim.quiet();
        expect(heard).toEqual([sender]);
        expect(heard[0] === sender).toBe(true);
      },
      { freeze: true },
    );
  });
});
