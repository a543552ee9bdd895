// Whoever asks for one envelope, joins and gives up whenever: each ends by what is its own, or by the outcome of all.

import fc from "fast-check";
import { ConsumerGroup, System } from "signalbox";
import { describe, expect, it } from "vitest";
import { testClock } from "../../lib/testing/kit/clock.js";
import { desk, fate } from "./support.js";

/** One who asks at a time, and waits so long. Times are in ticks; no two things happen at one moment. */
interface Asker {
  readonly at: number;
  readonly deadline: number;
  /** How long until it gives up by itself. */
  readonly patience: number;
}

interface End {
  readonly at: number;
  readonly how: "deadline" | "aborted" | "first" | "duplicate";
}

const TICK_MS = 1_000;
/** The consumer acknowledges what it has at every such tick. */
const ACK_TICKS = 4;
const LAST_TICK = 12;

/** When an asker ends by itself. */
function ownEnd({ at, deadline, patience }: Asker, index: number): End {
  const late = { at: (at + deadline) * TICK_MS + 200 + index, how: "deadline" } as const;
  const abort = { at: (at + patience) * TICK_MS + 400 + index, how: "aborted" } as const;
  return late.at < abort.at ? late : abort;
}

const startOf = ({ at }: Asker, index: number): number => at * TICK_MS + 100 + index;

/**
 * The model knows no conversations. The first acknowledgement that finds anybody waiting is the outcome; whoever asked
 * before and still waits has it then, and is the first one if nobody waited when it asked.
 */
function expected(askers: readonly Asker[]): readonly End[] {
  const spans = askers.map((asker, index) => ({ from: startOf(asker, index), own: ownEnd(asker, index) }));
  const waitingAt = (time: number): boolean => spans.some(({ from, own }) => from < time && time < own.at);
  const acks = Array.from({ length: LAST_TICK }, (_, i) => i * ACK_TICKS * TICK_MS + 600);
  const outcomeAt = acks.find(waitingAt) ?? Number.POSITIVE_INFINITY;
  return spans.map(({ from, own }): End => {
    if (from > outcomeAt) return { at: from, how: "duplicate" };
    if (own.at < outcomeAt) return own;
    return { at: outcomeAt, how: waitingAt(from) ? "duplicate" : "first" };
  });
}

async function observed(askers: readonly Asker[]): Promise<readonly (End | undefined)[]> {
  const clock = testClock();
  await using system = new System({ environment: clock.environment, report: false });
  const group = new ConsumerGroup<string>();
  const clerk = desk(system, group);
  const ends: (End | undefined)[] = askers.map(() => undefined);
  const watched: (() => void)[] = [];
  const moments: [at: number, deed: () => void][] = [];
  const until = (time: number): Promise<void> => clock.advance(time - clock.now);

  const ask = (asker: Asker, index: number): void => {
    const controller = new AbortController();
    const deadline = asker.deadline * TICK_MS + 100;
    const abortAt = (asker.at + asker.patience) * TICK_MS + 400 + index;
    moments.push([abortAt, () => controller.abort("aborted")]);
    const followed = fate(
      system.dispatch(group, system.envelope("tea", { id: "a" }), {
        deadlineMs: deadline,
        signal: controller.signal,
      }),
    );
    watched.push(() => {
      if (!followed.done || ends[index] !== undefined) return;
      const settled = followed.value?.duplicate === true ? "duplicate" : "first";
      const failed = followed.code === "ERR_DEADLINE" ? "deadline" : "aborted";
      ends[index] = { at: clock.now, how: followed.value === undefined ? failed : settled };
    });
  };
  for (const [index, asker] of askers.entries()) {
    moments.push([startOf(asker, index), () => ask(asker, index)]);
    // Deadlines come by themselves; somebody only has to look when they do.
    moments.push([ownEnd(asker, index).at, () => undefined]);
  }
  for (let tick = 0; tick < 3 * LAST_TICK; tick += ACK_TICKS)
    moments.push([tick * TICK_MS + 600, () => void clerk.deliveries.at(-1)?.ack()]);
  for (;;) {
    moments.sort(([a], [b]) => b - a);
    const next = moments.pop();
    if (next === undefined) break;
    await until(next[0]);
    next[1]();
    await system.idle();
    for (const look of watched) look();
  }
  for (const delivery of clerk.deliveries) delivery.ack();
  expect(group.consumers.map((view) => view.inFlight)).toEqual([0]);
  expect(system.kernel.pendingTimers).toBe(0);
  expect(system.processes().some((pid) => pid.label === "dispatch")).toBe(false);
  return ends;
}

describe("the callers of one envelope", () => {
  it("each end by their own limit or by the shared outcome, and nothing is left of the dispatch", async () => {
    const asker = fc.record({
      at: fc.nat({ max: LAST_TICK }),
      deadline: fc.nat({ max: LAST_TICK }),
      patience: fc.nat({ max: LAST_TICK }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(asker, { maxLength: 6 }), async (askers) => {
        expect(await observed(askers)).toEqual(expected(askers));
      }),
    );
  });
});
