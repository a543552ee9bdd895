// A message of a durable queue that ends the machine of its subscriber, again and again; and ends that accuse nobody.

import type { SimulatedNode, Simulation } from "signalbox/testing";
import { describe, expect, it } from "vitest";
import { QUEUE_DEFAULTS } from "../../../lib/pipeline/queues/limits.js";
import { type MessageQueue, openQueues, type Queues } from "../../../lib/pipeline/queues/queues.js";
import { done } from "../../../lib/pipeline/queues/status.js";
import { EvidenceBox } from "../../support/evidence-box.js";
import { explored } from "../../support/proof.js";
import { SimulatedBroker } from "./simulated-broker.js";

const GOOD = ["a", "b", "c", "d", "e"];
const KILLS = 4;

interface Shop {
  readonly queues: Queues;
  readonly queue: MessageQueue<string>;
}

/** The numbers of messages, in the order of their publication, begin with 1. */
const POISON_NUMBER = 1;

function shopOf(
  sim: Simulation,
  isCarried: boolean,
  evidence: EvidenceBox,
  handler: (value: string, attempt: number) => Promise<void>,
) {
  const broker = new SimulatedBroker(sim, {});
  const store = sim.store({ shared: isCarried });
  return sim.node("shop", async (node: SimulatedNode): Promise<Shop> => {
    const carried = isCarried ? { store, carrier: broker.source() } : { store: node.store };
    const queues = await openQueues(node.system(), { ...carried, evidence });
    const queue = queues.queue<string>("q");
    await queue.subscribe({ concurrency: 2 }, async ({ value, attempt }) => {
      await handler(value, attempt);
      return done;
    });
    return { queues, queue };
  });
}

describe("a message of a queue", () => {
  for (const isCarried of [false, true]) {
    const where = isCarried ? "over a broker" : "in a store";
    it(`that ends its process by evidence is a dead letter, and no other one is: ${where} [Y221]`, async () => {
      await explored(
        async (sim) => {
          const evidence = new EvidenceBox();
          const handled: string[] = [];
          let deaths = 0;
          const shop = shopOf(sim, isCarried, evidence, async (value) => {
            await sim.sleep(1);
            if (value !== "POISON") return void handled.push(value);
            deaths++;
            evidence.end({ subject: `queued:q/${POISON_NUMBER}`, kind: "uncaught" });
            shop.crash();
            return new Promise(() => undefined);
          });
          const values = ["POISON", ...GOOD].map((value) => ({ value, id: value }));
          let first = true;
          for (;;) {
            const { queue } = await shop.ready();
            if (first) await queue.publishMany(values).catch(() => undefined);
            first = false;
            for (let tick = 0; tick < 200 && shop.powered; tick++) {
              await sim.sleep(5_000);
              if (shop.powered && (await queue.counts().catch(() => undefined))?.dead === 1) tick = 200;
            }
            if (shop.powered) break;
            shop.restart();
            expect(shop.boots).toBeLessThan(20);
          }
          const { queue } = await shop.ready();
          await sim.eventually("all others are handled", () => new Set(handled).size === GOOD.length);
          const [letter, ...others] = await queue.deadLetters.list();
          expect(others).toEqual([]);
          const { ends } = QUEUE_DEFAULTS.queue.quarantine;
          expect(letter).toMatchObject({ id: "POISON", attempts: 0 });
          expect(letter?.history.map((one) => one.evidence)).toEqual(Array(ends).fill("uncaught"));
          expect(deaths).toBe(ends);
        },
        { quick: 1, share: 0.02, seed: 221 },
      );
    });

    it(`is not blamed for an end without evidence: each has all of its attempts, ${where} [Y222]`, async () => {
      await explored(
        async (sim) => {
          const evidence = new EvidenceBox();
          const handled: [string, number][] = [];
          let kills = 0;
          const shop = shopOf(sim, isCarried, evidence, async (value, attempt) => {
            await sim.sleep(1);
            if (kills < KILLS) return new Promise(() => undefined);
            if (attempt < QUEUE_DEFAULTS.queue.attempts) throw new Error(`attempt ${attempt} fails`);
            handled.push([value, attempt]);
          });
          const { queue: first } = await shop.ready();
          await first.publishMany(GOOD.map((value) => ({ value, id: value })));
          while (kills < KILLS) {
            await sim.sleep(20);
            kills++;
            evidence.end();
            shop.crash();
            shop.restart();
            await shop.ready();
          }
          const { queue } = await shop.ready();
          await sim.eventually("all are handled", () => handled.length === GOOD.length);
          const { attempts } = QUEUE_DEFAULTS.queue;
          expect([...handled].sort()).toEqual(GOOD.map((value) => [value, attempts]));
          expect((await queue.counts()).dead).toBe(0);
        },
        { quick: 1, share: 0.02, seed: 222 },
      );
    });
  }
});
