import { describe, expect, it } from "vitest";
import { NO_BLAME } from "../../../lib/pipeline/ledger/blame.js";
import { LiveMessage } from "../../../lib/pipeline/ledger/live-message.js";
import { StoreQueue } from "../../../lib/pipeline/ledger/store-queue.js";
import { READY } from "../../../lib/pipeline/ledger/tables.js";

/** A queue with one message in work that was read from this lane. */
function working(lane: number): { readonly queue: StoreQueue; readonly message: LiveMessage } {
  const queue = new StoreQueue("a", undefined);
  const of = { id: "1", queue: "a", key: undefined, attempts: 0, errors: [], lane, body: "v", ends: 0 };
  const message = new LiveMessage(of, "v", {
    accused: (id) => NO_BLAME.begin(1, id),
    beating: () => {
      throw new Error("nothing beats here");
    },
  });
  queue.known.set(message.id, message);
  queue.wanted = 1;
  return { queue, message };
}

describe("what a host keeps about a queue", () => {
  for (const [reading, lane] of [
    ["ready", READY],
    ["delayed", 5],
  ] as const)
    it(`gives a message only when it is due that was delayed while its old row was read: ${reading}`, () => {
      const { queue, message } = working(lane);
      if (reading === "delayed") Object.assign(queue, { due: lane, exhausted: true });
      queue.reading = queue.next(6);
      expect(queue.reading).toBe(reading);
      queue.forget(message);
      queue.delayed(9);
      expect(queue.page([{ id: message.id, lane }], true, 6)).toEqual([]);
      expect(queue.next(8)).toBeUndefined();
      queue.reading = queue.next(9);
      expect(queue.reading).toBe("delayed");
      const row = { id: message.id, lane: 9 };
      expect(queue.page([row], true, 9)).toEqual([row]);
    });

  it("may have more when news came while a page was read that had nothing [Y480]", () => {
    const queue = new StoreQueue("a", undefined);
    queue.wanted = 1;
    queue.reading = queue.next(6);
    queue.news();
    queue.taken(true, 6);
    expect(queue.next(6)).toBe("ready");
    queue.reading = "ready";
    queue.taken(true, 6);
    expect(queue.next(6)).toBeUndefined();
  });
});
