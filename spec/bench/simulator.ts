// The simulator: steps of synchronous processes, and schedules of dispatches whose consumers crash.

import { ConsumerGroup, consumer, type Pid, supervisor } from "signalbox";
import { type ExploreOptions, explore } from "signalbox/testing";
import { macrotask } from "../support/host.js";
import type { Program } from "./program.js";

const RING = 10;
const SCHEDULES = 50;
const CONSUMERS = 5;
const ENVELOPES = 10;
const CRASHES = 3;

/** Tokens in a ring, a hop a step, in orders picked by the default strategies. Counts the steps that processes took. */
export function simulatedSteps(steps: number): Program {
  return tokenRing(steps, {}, (hop) => hop());
}

/** The same with asynchronous handlers, which await a promise of their own before they send. */
export function simulatedAsyncSteps(steps: number): Program {
  return tokenRing(steps, {}, async (hop) => {
    await null;
    hop();
  });
}

/** The same with handlers that may use the host, and wait for its event loop before they send. */
export function simulatedHostSteps(steps: number): Program {
  return tokenRing(steps, { allow: "**" }, async (hop) => {
    await macrotask();
    hop();
  });
}

/** @param step - carries out one hop */
function tokenRing(
  steps: number,
  options: ExploreOptions,
  step: (hop: () => void) => void | Promise<void>,
): Program {
  const hops = steps / SCHEDULES / RING;
  return {
    operations: steps,
    expected: steps,
    run: async () => {
      let counted = 0;
      await explore(
        (sim) => {
          const system = sim.system();
          const pids: Pid<number>[] = [];
          for (let i = 0; i < RING; i++) {
            const next = (i + 1) % RING;
            pids.push(
              system.spawn<number>({
                handle: (ctx, left) =>
                  step(() => {
                    counted++;
                    if (left > 1) ctx.send(pids[next] as Pid<number>, left - 1);
                  }),
              }),
            );
          }
          for (const pid of pids) system.send(pid, hops);
        },
        { schedules: SCHEDULES, maxSteps: 10 * steps, recheck: 0, ...options },
      );
      return { counted };
    },
  };
}

/** Each schedule dispatches ten envelopes to five consumers that are supervised, three of which may crash. */
export function simulatedDispatch(schedules: number): Program {
  return {
    operations: schedules,
    expected: schedules * ENVELOPES,
    run: async () => {
      let counted = 0;
      await explore(
        async (sim) => {
          sim.calm();
          const system = sim.system();
          const group = new ConsumerGroup<number>({ patienceMs: 1_000, maxAttempts: 1 + CRASHES });
          const start = consumer((n: number) => n * 2, { group });
          const children = Array.from({ length: CONSUMERS }, (_, i) => ({ id: `consumer-${i}`, start }));
          await system.start(supervisor({ intensity: CRASHES, children }));
          sim.storm();
          const payloads = Array.from({ length: ENVELOPES }, (_, n) => n);
          const outcomes = await Promise.all(payloads.map((n) => system.dispatch(group, n)));
          counted += outcomes.filter(({ reply }, n) => reply === n * 2).length;
        },
        { schedules, recheck: 0, faults: { crash: { of: "**/consumer-*", atMost: CRASHES } } },
      );
      return { counted };
    },
  };
}
