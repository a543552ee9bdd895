// Heartbeats of handlers of durable queues: what the next attempt gets, what people see, how often they are written, and whom they clear.

import { System } from "signalbox";
import { jsonCodec, type PayloadCodec } from "signalbox/flow";
import { memory, type Store, type StoreSource } from "signalbox/store";
import { testClock } from "signalbox/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HEARTBEAT_MS } from "../../../lib/host/background/heartbeats.js";
import { type MessageQueue, openQueues, type Queues } from "../../../lib/pipeline/queues/queues.js";
import { dead, done } from "../../../lib/pipeline/queues/status.js";
import { queued } from "../../../lib/pipeline/queues/tables.js";
import { EvidenceBox } from "../../support/evidence-box.js";
import { explored, proving } from "../../support/proof.js";
import { everyKind, type QueuePlace } from "./kinds.js";
import { gate, until } from "./waits.js";

const SOON = { backoff: { minMs: 1, maxMs: 1 } };
/** Ends without a word: more than a message without heartbeats outlives. */
const ENDS = 20;
const LINES = 8;

everyKind(proving, (name, kind) => {
  describe(`heartbeats of a queue ${name}`, () => {
    let place: QueuePlace;
    let system: System;
    let queues: Queues;
    beforeAll(async () => {
      place = await kind.make();
      system = new System({ report: false });
      queues = await openQueues(system, await place.open());
    });
    afterAll(async () => {
      await queues.close();
      await system.stop();
      await place.dispose();
    });

    it("go to the attempt after a failure, the last one of them, and show until the message is settled [Y560]", async () => {
      const queue = queues.queue<number>("failing", SOON);
      await queue.publish(LINES, { id: "file" });
      const got: unknown[] = [];
      const shown: unknown[] = [];
      const settled = gate();
      await using _ = await queue.subscribe({}, async ({ value, attempt, lastHeartbeat, heartbeat }) => {
        got.push(lastHeartbeat);
        if (attempt === 2) {
          shown.push(...(await queue.heartbeats()));
          settled.open();
          return done;
        }
        for (let line = 1; line <= value; line++) heartbeat({ line });
        throw new Error("half of it");
      });
      await settled.opened;
      await until(async () => (await queue.counts()).inFlight === 0);
      expect(got).toEqual([undefined, { line: LINES }]);
      expect(shown).toEqual([{ id: "file", at: expect.any(Number), progress: { line: LINES } }]);
      expect(await queue.heartbeats()).toEqual([]);
    });

    it("go to the attempt after a crash, the last one that was written [Y560]", async () => {
      const queue = queues.queue<string>("crashing", SOON);
      await queue.publish("file", { id: "file" });
      const first = await queue.subscribe({}, ({ heartbeat }) => {
        heartbeat("written at once");
        heartbeat("within the same second");
        return new Promise(() => undefined);
      });
      await until(async () => (await queue.heartbeats()).length === 1, "the heartbeat");
      system.exit(first.pid, "kill");
      const got: unknown[] = [];
      await using second = await queue.subscribe({}, ({ attempt, lastHeartbeat }) => {
        got.push([attempt, lastHeartbeat]);
        return done;
      });
      await until(() => got.length === 1, "the second attempt");
      await second.stop();
      const [[attempt, last]] = got as [[number, string]];
      expect(attempt).toBe(1);
      expect(["written at once", "within the same second"]).toContain(last);
    });

    it("are gone with a message that is given up: a retry begins anew [Y560]", async () => {
      const queue = queues.queue<string>("buried", SOON);
      await queue.publish("file", { id: "file" });
      const got: unknown[] = [];
      await using _ = await queue.subscribe({}, ({ lastHeartbeat, heartbeat }) => {
        got.push(lastHeartbeat);
        heartbeat("half");
        return got.length === 1 ? dead("no such file") : done;
      });
      await until(async () => (await queue.counts()).dead === 1, "the dead letter");
      expect(await queue.heartbeats()).toEqual([]);
      await queue.deadLetters.retry("file");
      await until(() => got.length === 2, "the retry");
      expect(got).toEqual([undefined, undefined]);
    });
  });
});

/** A source that counts the commits that change the heartbeat of a message. */
function counting(source: StoreSource): StoreSource & { readonly written: number } {
  let written = 0;
  const counted = (store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        if (name === "submit")
          return ((set, settled) => {
            const beats = set.writes?.filter(
              (write) =>
                write.type === "update" && write.table === queued && "heartbeats" in (write.set ?? {}),
            );
            written += beats?.length ?? 0;
            target.submit(set, settled);
          }) satisfies Store["submit"];
        const value = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  return {
    ...source,
    open: async (schemas, context) => counted(await source.open(schemas, context)),
    get written() {
      return written;
    },
  };
}

it("writes the heartbeats of a message once a second at most, and the last of them [Y561]", async () => {
  const clock = testClock();
  const store = counting(memory());
  await using system = new System({ environment: clock.environment, report: false });
  const queues = await clock.until(openQueues(system, { store }));
  const queue = queues.queue<string>("files");
  await clock.until(queue.publish("file"));
  const STEPS = 40;
  const STEP_MS = HEARTBEAT_MS / 8;
  await clock.until(
    queue.subscribe({}, async ({ heartbeat }) => {
      for (let step = 1; step <= STEPS; step++) {
        heartbeat(step);
        await new Promise<void>((fire) => system.kernel.addTimer(STEP_MS, { fire }));
      }
      return new Promise(() => undefined);
    }),
  );
  await clock.advance(STEPS * STEP_MS + HEARTBEAT_MS);
  const [last] = await clock.until(queue.heartbeats());
  expect(last?.progress).toBe(STEPS);
  // One at the beginning, and one at the end of each second.
  expect(store.written).toBe((STEPS * STEP_MS) / HEARTBEAT_MS + 1);
  await clock.until(queues.close());
});

it.each([
  ["in memory, by a codec that answers at once", jsonCodec()],
  ["in memory, by an asynchronous codec", lateCodec()],
])("refuses a heartbeat that cannot be stored: the attempt has failed, %s [Y560]", async (_, codec) => {
  await using system = new System({ report: false });
  await using queues = await openQueues(system, { store: memory(), payloads: { codec } });
  const queue = queues.queue<string>("odd", { attempts: 1 });
  await queue.publish("odd");
  await using __ = await queue.subscribe({}, async ({ heartbeat }) => {
    heartbeat(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    return done;
  });
  await until(async () => (await queue.counts()).dead === 1, "the dead letter");
  const [letter] = await queue.deadLetters.list();
  expect(letter?.history[0]?.error).toContain("UnstorableValueError");
});

it.each([
  [true, 0],
  [false, 1],
])(
  "clears a message, whose program ends at it again and again: with heartbeats, %s, dead letters: %i [Y562]",
  async (beats, buried) => {
    await explored(
      async (sim) => {
        const evidence = new EvidenceBox();
        let ends = 0;
        const shop = sim.node("shop", async (node): Promise<MessageQueue<string>> => {
          const queues = await openQueues(node.system(), { store: node.store, evidence });
          const queue = queues.queue<string>("jobs");
          await queue.subscribe({}, async ({ heartbeat }) => {
            if (beats) heartbeat(ends);
            await sim.sleep(HEARTBEAT_MS);
            if (ends === ENDS) return done;
            ends++;
            evidence.end();
            shop.crash();
            return new Promise(() => undefined);
          });
          return queue;
        });
        await (await shop.ready()).publish("job");
        for (let isOver = false; !isOver; ) {
          const queue = await shop.ready();
          const counts = await queue.counts().catch(() => undefined);
          isOver = counts !== undefined && counts.ready + counts.inFlight + counts.delayed === 0;
          if (isOver) expect(counts?.dead).toBe(buried);
          await sim.sleep(HEARTBEAT_MS);
          if (!shop.powered) shop.restart();
        }
      },
      { quick: 1, share: 0.01, seed: 562 },
    );
  },
);

function lateCodec(): PayloadCodec {
  const own = jsonCodec();
  return {
    name: "late",
    encode: async (value) => own.encode(value),
    decode: async (payload) => own.decode(payload),
  };
}
