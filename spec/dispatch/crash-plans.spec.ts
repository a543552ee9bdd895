// Nothing is lost: whichever consumer dies at whichever of its messages, each envelope is settled exactly once.

import fc from "fast-check";
import {
  type Callbacks,
  ConsumerGroup,
  custom,
  type Delivery,
  type Outcome,
  type RoutingFunction,
  roundRobin,
  System,
  stop,
  supervisor,
} from "signalbox";
import { describe, expect, it } from "vitest";
import { testClock } from "../../lib/testing/kit/clock.js";
import { sized } from "../support/proof.js";

/** What a consumer does with a message. */
type Act = "ack" | "ack later" | "crash" | "crash later" | "acknowledge and crash" | "reject";

const act = fc.constantFrom<Act>(
  "ack",
  "ack",
  "ack later",
  "crash",
  "crash later",
  "acknowledge and crash",
  "reject",
);
const plan = fc.record({
  /** For each consumer, what its first, second, … life does with its messages in order; beyond that it acknowledges. */
  consumers: fc.array(fc.array(fc.array(act, { maxLength: 5 }), { maxLength: 4 }), {
    minLength: 1,
    maxLength: 4,
  }),
  /** Envelopes dispatched together, batch after batch. */
  batches: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 5 }),
  maxInFlight: fc.constantFrom(1, 2, Number.POSITIVE_INFINITY),
  route: fc.constantFrom<RoutingFunction<number> | undefined>(
    undefined,
    roundRobin(),
    (envelope, consumers) => consumers[envelope.payload % consumers.length],
  ),
});

/** What the consumers themselves saw, by payload. */
class Witness {
  readonly acknowledged = new Map<number, string[]>();
  /** The lives of consumers that failed with the envelope in their hands or in their mailbox, in order. */
  readonly failed = new Map<number, string[]>();
  /** What each running consumer holds. */
  private readonly held = new Map<string, Set<number>>();

  takes(id: string, payload: number): void {
    this.held.set(id, (this.held.get(id) ?? new Set()).add(payload));
  }

  settles(id: string, payload: number, accepted: boolean): void {
    this.held.get(id)?.delete(payload);
    append(accepted ? this.acknowledged : this.failed, payload, id);
  }

  ends(id: string): void {
    for (const payload of this.held.get(id) ?? []) append(this.failed, payload, id);
    this.held.delete(id);
  }
}

function append(to: Map<number, string[]>, payload: number, id: string): void {
  to.set(payload, [...(to.get(payload) ?? []), id]);
}

/** The behaviour of one consumer over all its lives. */
function actor(
  group: ConsumerGroup<number>,
  id: string,
  lives: readonly (readonly Act[])[],
  maxInFlight: number,
  witness: Witness,
): Callbacks<Delivery<number>> {
  let life = 0;
  let acts: Act[] = [];
  const perform = (delivery: Delivery<number>, what: Act): unknown => {
    switch (what) {
      case "ack":
      case "ack later":
        witness.settles(id, delivery.payload, true);
        delivery.ack();
        return undefined;
      case "acknowledge and crash":
        witness.settles(id, delivery.payload, true);
        delivery.ack();
        return stop(custom("broken"));
      case "reject":
        witness.settles(id, delivery.payload, false);
        delivery.reject("not me");
        return undefined;
      case "crash":
      case "crash later":
        return stop(custom("broken"));
      default:
        return what satisfies never;
    }
  };
  return {
    init: (ctx) => {
      acts = [...(lives[life++] ?? [])];
      group.join(ctx.self, { id, maxInFlight });
    },
    handle: async (_ctx, delivery) => {
      const what = acts.shift() ?? "ack";
      if (what.endsWith("later")) await Promise.resolve();
      return perform(delivery, what);
    },
    terminate: () => witness.ends(id),
  };
}

describe("under every plan of crashes, with supervisors that replace dead consumers,", () => {
  it("each envelope is acknowledged once, and its outcome lists the crashes in order [D8]", async () => {
    await fc.assert(
      fc.asyncProperty(plan, async ({ consumers, batches, maxInFlight, route }) => {
        const clock = testClock();
        await using system = new System({ environment: clock.environment, report: false });
        const witness = new Witness();
        const group: ConsumerGroup<number> = new ConsumerGroup<number>({
          route: (envelope, candidates, context) => {
            const chosen = (route ?? ((_one, [first]) => first))(envelope, candidates, context);
            const view = typeof chosen === "string" ? candidates.find((one) => one.id === chosen) : chosen;
            if (view?.pressure === "accept") witness.takes(view.id, envelope.payload);
            return view;
          },
          deadlineMs: Number.POSITIVE_INFINITY,
          patienceMs: Number.POSITIVE_INFINITY,
          maxAttempts: Number.POSITIVE_INFINITY,
        });
        const children = consumers.map((lives, i) => {
          const id = `c${i}`;
          return { id, start: actor(group, id, lives, maxInFlight, witness) };
        });
        await system.start(supervisor({ intensity: 1_000, children }));
        const outcomes: Outcome<number>[] = [];
        let payload = 0;
        for (const size of batches) {
          for (let i = 0; i < size; i++)
            void system.dispatch(group, payload++).then((outcome) => outcomes.push(outcome));
          await system.idle();
        }
        // Consumers that all rejected an envelope are still there: a newcomer takes what is left.
        await system.start(
          supervisor({ children: [{ id: "late", start: actor(group, "late", [], 1_000, witness) }] }),
        );
        await system.idle();

        expect(outcomes.map((one) => one.envelope.payload).sort((a, b) => a - b)).toEqual(
          Array.from({ length: payload }, (_, i) => i),
        );
        for (const { envelope, deliveredTo, reroutedFrom, attempts, rerouteTimings } of outcomes) {
          expect(witness.acknowledged.get(envelope.payload)).toEqual([deliveredTo]);
          expect(reroutedFrom).toEqual(witness.failed.get(envelope.payload) ?? []);
          expect(attempts).toBe(reroutedFrom.length + 1);
          const crashed = rerouteTimings.map((one) => one.consumer);
          expect(crashed.every((id) => reroutedFrom.includes(id))).toBe(true);
        }
        expect(group.consumers.map((one) => one.inFlight)).toEqual(group.consumers.map(() => 0));
        expect(group.waitingCount).toBe(0);
      }),
      { numRuns: sized(40) },
    );
  });
});
