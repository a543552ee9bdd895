// How often a message of a queue has ended its process, and what that leads to.

import { System } from "signalbox";
import { memory, openStore, type Store } from "signalbox/store";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Payloads } from "../../../lib/host/payload/payloads.js";
import { DeadLetters } from "../../../lib/pipeline/queues/dead-letters.js";
import { QUEUE_DEFAULTS, QUEUE_LIMITS } from "../../../lib/pipeline/queues/limits.js";
import { QueueStore } from "../../../lib/pipeline/queues/queue-store.js";
import { endsOf, historyOf, verdictOnEnd } from "../../../lib/pipeline/queues/status.js";
import { StoreTime } from "../../../lib/pipeline/queues/store-time.js";
import { QUEUE_SCHEMA, type QueuedRow, queued } from "../../../lib/pipeline/queues/tables.js";

/** More than a history keeps. */
const ENDS = QUEUE_LIMITS.historyEntries + 20;
const POLICY = {
  ...QUEUE_DEFAULTS.queue,
  quarantine: { ends: ENDS, backoff: { minMs: 0, maxMs: 0, jitter: 0 } },
};

describe("a message of a queue that ends its process by evidence", () => {
  let system: System;
  let store: Store;
  let queue: QueueStore;
  beforeEach(async () => {
    system = new System({ report: false });
    store = await openStore(system, memory(), [QUEUE_SCHEMA]);
    queue = new QueueStore("q", store, await StoreTime.of(system.kernel.env, store), POLICY, false);
    await queue.publish([{ id: "a", named: true, body: "v", tag: null, delayMs: 0 }]);
  });
  afterEach(async () => {
    await store.close();
    await system.stop();
  });

  const row = async (): Promise<QueuedRow | undefined> => (await store.scan(queued, { limit: 1 }))[0];

  /** The message ends its process once more. */
  async function end(): Promise<string> {
    const claim = await store.claim("queues/q/test", { owner: "test" });
    if (claim === undefined) throw new Error("the claim is free");
    const message = (await row()) as QueuedRow;
    const set = { held: claim.token, ready: null, delayed: null, due: null };
    await store.commit({ writes: [{ type: "update", table: queued, key: [message.number], set }] });
    const verdict = verdictOnEnd(POLICY, endsOf(message), "exit", 0);
    await store.commit(queue.settlement(claim, message, { verdict, children: [] }));
    await claim.release();
    return verdict.type;
  }

  it("is a dead letter when it has done so as often as the policy says, beyond its history, too [Y710]", async () => {
    const verdicts: string[] = [];
    while ((await row()) !== undefined && verdicts.length <= ENDS) verdicts.push(await end());
    expect(verdicts).toHaveLength(ENDS);
    expect(verdicts.at(-1)).toBe("dead");
  });

  it("begins anew when people put it back, as its attempts do, and keeps its history", async () => {
    for (let ends = 0; ends < ENDS; ends++) await end();
    expect(await row()).toBeUndefined();
    const letters = new DeadLetters<unknown>(queue, new Payloads());
    expect(await letters.retry("a")).toEqual({ letters: 1 });
    const message = (await row()) as QueuedRow;
    expect(historyOf(message.history)).toHaveLength(QUEUE_LIMITS.historyEntries);
    expect([await end(), endsOf((await row()) as QueuedRow)]).toEqual(["quarantine", 1]);
  });

  it("is counted by its history where an earlier release has stored it", async () => {
    await end();
    await end();
    const { number } = (await row()) as QueuedRow;
    const key = [number];
    await store.commit({ writes: [{ type: "update", table: queued, key, set: { quarantines: null } }] });
    expect(endsOf((await row()) as QueuedRow)).toBe(2);
    await end();
    expect(endsOf((await row()) as QueuedRow)).toBe(3);
  });
});
