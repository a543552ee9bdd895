// Queues over a broker, under the simulator: whenever the broker forgets, and whichever subscriber is killed, each message has its effect
// once. What a handler publishes is the effect: it is in the commit that settles its message.

import type { FaultOptions, Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { openQueues } from "../../../lib/pipeline/queues/queues.js";
import { done } from "../../../lib/pipeline/queues/status.js";
import { queued, SUBSCRIBER_CLAIMS } from "../../../lib/pipeline/queues/tables.js";
import { type Store, StoreClosedError, type StoreSource } from "../../../lib/store/index.js";
import { explored } from "../../support/proof.js";
import { type BrokerOptions, SimulatedBroker } from "./simulated-broker.js";

const MESSAGES = 6;
/** As many messages as are sent at a time. */
const PAGE = 500;

interface Strikes extends BrokerOptions {
  readonly forgets?: number;
  readonly loses?: number;
}

/** Two processes handle messages that one of them publishes. */
async function played(sim: Simulation, { forgets = 0, loses = 0, ...options }: Strikes): Promise<void> {
  const broker = new SimulatedBroker(sim, options);
  const store = sim.store({ shared: true });
  const outputs: number[] = [];
  sim.calm();
  const all = await Promise.all(
    ["one", "two"].map(async (name) => {
      const system = sim.system({ name });
      const queues = await openQueues(system, { store, carrier: broker.source() });
      const queue = queues.queue<number>("q", { attempts: 100, backoff: { minMs: 1, maxMs: 5 } });
      const results = queues.queue<number>("results");
      await queue.subscribe({ concurrency: 1, prefetch: 2 }, async ({ value, publish }) => {
        await sim.sleep(400);
        await publish(results, value);
        return done;
      });
      return { queues, queue, results };
    }),
  );
  const [first, second] = all as [(typeof all)[number], (typeof all)[number]];
  await second.results.subscribe({ concurrency: 3 }, ({ value }) => {
    outputs.push(value);
    return done;
  });
  sim.storm();
  const strike = (name: string, times: number, fn: () => void): Promise<void>[] => {
    const struck = sim.io(name, fn, { latencyMs: [0, 50, 500, 900] });
    return [...Array(times)].map(() => struck());
  };
  const struck = Promise.all([
    ...strike("forget", forgets, () => broker.forget()),
    ...strike("lose", loses, () => broker.lose()),
  ]);
  for (let value = 0; value < MESSAGES; value++) await first.queue.publish(value, { id: `m${value}` });
  await struck;
  await sim.eventually("all are settled", () => outputs.length >= MESSAGES);
  expect([...outputs].sort()).toEqual([...Array(MESSAGES).keys()]);
  const none = { ready: 0, inFlight: 0, delayed: 0, dead: 0 };
  expect(await second.queue.counts()).toEqual(none);
  expect(broker.remade).toBe(0);
  await sim.eventually("the broker has no letter", () => broker.letters === 0);
  for (const { queues } of all) await queues.close();
}

/** A store some of whose calls are others. */
function changed(source: StoreSource, calls: (store: Store) => Partial<Store>): StoreSource {
  return {
    label: source.label,
    open: async (...args) => {
      const store = await source.open(...args);
      const others = calls(store);
      return new Proxy(store, {
        get(target, name) {
          if (name in others) return Reflect.get(others, name);
          const value: unknown = Reflect.get(target, name, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    },
  };
}

/** A store that takes the claims of all subscribers back when the first message is held, before the subscriber knows that it is. */
function revoking(source: StoreSource, revoked: () => void): StoreSource {
  let isRevoked = false;
  return changed(source, (store) => ({
    get: async (table, keys) => {
      const rows = await store.get(table, keys);
      const isHeld = rows.some((row) => typeof row?.held === "number");
      if ((table as unknown) === queued && isHeld && !isRevoked)
        for (const { name, token } of await store.claims(SUBSCRIBER_CLAIMS)) {
          isRevoked = true;
          await store.revoke(name, token);
          revoked();
        }
      return rows;
    },
  }));
}

const killed: FaultOptions = { crash: [{ of: "one/subscriber of q", atMost: 1, reason: "kill" }] };

describe("queues over a broker", () => {
  it("that forgets everything at any time: nothing is lost or doubled (bug 9) [Y69]", async () => {
    await explored((sim) => played(sim, { forgets: 2 }), { quick: 4, seed: 1, share: 0.1 });
  });

  it("whose acknowledgements from before settle what they must not [Y50]", async () => {
    await explored((sim) => played(sim, { forgets: 2, confuses: true }), { quick: 3, seed: 2, share: 0.1 });
  });

  it("that loses letters, and keeps the channels [Y51]", async () => {
    await explored((sim) => played(sim, { loses: 2 }), { quick: 3, seed: 3, share: 0.1 });
  });

  it("whose requests time out and are carried out, and whose subscriber is killed at any step (bug 7) (bug 8) (bug 32) [Y52]", async () => {
    const strikes = { forgets: 1, failures: 4 };
    await explored((sim) => played(sim, strikes), { quick: 5, seed: 4, share: 0.1, faults: killed });
  });

  it("acknowledge a letter after the commit that settles its message, and then the broker has none (bug 7) [Y67]", async () => {
    await explored(
      async (sim) => {
        sim.calm();
        const broker = new SimulatedBroker(sim);
        /** How many acknowledgements were asked for when a settlement was committed. */
        const before: number[] = [];
        const store = changed(sim.store({ shared: true }), (one) => ({
          submit: (set, done) =>
            one.submit(set, (...answer) => {
              before.push(broker.acks);
              done(...answer);
            }),
        }));
        const queues = await openQueues(sim.system({ name: "one" }), { store, carrier: broker.source() });
        const queue = queues.queue<number>("q");
        await queue.subscribe({}, () => done);
        sim.storm();
        await queue.publish(7);
        await sim.eventually("it is settled", () => before.length > 0);
        await sim.eventually("the broker has no letter", () => broker.letters === 0);
        expect(before).toEqual([0]);
        await queues.close();
      },
      { quick: 2, seed: 7, share: 0.05 },
    );
  });

  it("and a claim that is lost when a message is held, before the subscriber knows it: the message is handled by the next claim [Y880]", async () => {
    await explored(
      async (sim) => {
        sim.calm();
        let revocations = 0;
        const store = revoking(sim.store({ shared: true }), () => revocations++);
        const broker = new SimulatedBroker(sim);
        const queues = await openQueues(sim.system({ name: "one" }), { store, carrier: broker.source() });
        const queue = queues.queue<number>("q");
        const values: number[] = [];
        await queue.subscribe({}, ({ value }) => {
          values.push(value);
          return done;
        });
        sim.storm();
        await queue.publish(7);
        await sim.eventually("it is handled", () => values.length > 0);
        await sim.eventually("the broker has no letter", () => broker.letters === 0);
        expect([values, revocations]).toEqual([[7], 1]);
        await queues.close();
      },
      { quick: 4, seed: 5, share: 0.1 },
    );
  });

  it("and a store that fails while a subscriber takes a claim anew: it has one claim then [Y891]", async () => {
    await explored(
      async (sim) => {
        sim.calm();
        let all: Store | undefined;
        let isFailing = false;
        const store = changed(sim.store({ shared: true }), (one) => {
          all = one;
          const claims: Store["claims"] = (prefix) => {
            if (!isFailing) return one.claims(prefix);
            isFailing = false;
            return Promise.reject(new StoreClosedError("the store"));
          };
          return { claims };
        });
        const broker = new SimulatedBroker(sim);
        const queues = await openQueues(sim.system({ name: "one" }), { store, carrier: broker.source() });
        const queue = queues.queue<number>("q");
        const values: number[] = [];
        await queue.subscribe({}, ({ value }) => {
          values.push(value);
          return done;
        });
        const held = async () => ((await all?.claims(SUBSCRIBER_CLAIMS)) ?? []).filter((one) => one.held);
        for (const { name, token } of await held()) await all?.revoke(name, token);
        sim.storm();
        isFailing = true;
        await queue.publish(7);
        await sim.eventually("it is handled", () => values.length > 0);
        expect([isFailing, (await held()).length]).toEqual([false, 1]);
        await queues.close();
      },
      { quick: 2, seed: 8, share: 0.05 },
    );
  });

  it("that cannot make the channel of one queue: the messages of other queues are delivered, and its own once it can [Y881]", async () => {
    await explored(
      async (sim) => {
        sim.calm();
        const broker = new SimulatedBroker(sim, { refuses: "bad" });
        const store = sim.store({ shared: true });
        const queues = await openQueues(sim.system({ name: "one" }), { store, carrier: broker.source() });
        const bad = queues.queue<number>("bad");
        const good = queues.queue<number>("good");
        const values: number[] = [];
        for (const queue of [bad, good])
          await queue.subscribe({}, ({ value }) => {
            values.push(value);
            return done;
          });
        sim.storm();
        await bad.publish(1);
        await good.publish(2);
        await sim.eventually("that of the other queue is handled", () => values.length === 1);
        // A page of messages whose channel is not there is not in the way of others.
        await bad.publishMany([...Array(PAGE)].map((_, i) => ({ value: 10 + i })));
        await good.publish(3);
        await sim.eventually("the second one is handled", () => values.length === 2);
        expect(values).toEqual([2, 3]);
        broker.accept();
        await sim.eventually("all are handled", () => values.length === PAGE + 3);
        await queues.close();
      },
      { quick: 2, seed: 6, share: 0.05 },
    );
  });
});
