// Dispatches to a consumer group: how many are acknowledged, how many while consumers crash, how soon one is re-routed.

import { getHeapStatistics } from "node:v8";
import {
  type Callbacks,
  ConsumerGroup,
  consumer,
  custom,
  type Delivery,
  dispatch,
  type Stop,
  type System,
  stop,
  supervisor,
} from "signalbox";
import { type Figures, onSystem, type Program, Stopwatch } from "./program.js";
import { percentile } from "./windows.js";

export const CONSUMERS = 10;
/** Processes that dispatch, each its next envelope when the one before is acknowledged. */
export const CALLERS = 100;
const BROKEN = stop(custom("broken"));

/** Nobody crashes: each of the consumers adds up the payloads it acknowledges. */
export function dispatchAck(count: number, prepare?: (system: System) => void): Program {
  return onSystem(count, count + (count * (count + 1)) / 2, (system, done) => {
    prepare?.(system);
    let sum = 0;
    const work = (payload: number): void => {
      sum += payload;
    };
    const group = new ConsumerGroup<number>();
    for (let i = 0; i < CONSUMERS; i++) group.join(system.spawn(consumer(work)));
    dispatchAll(system, group, count, (acknowledged) => done(acknowledged + sum));
  });
}

/** What the collector has to take back for each acknowledged dispatch: with the caller's own promise and `await`. */
export function dispatchBytes(count: number): Program {
  const program = dispatchAck(count);
  return {
    ...program,
    run: async () => {
      globalThis.gc?.();
      const before = getHeapStatistics().used_heap_size;
      const run = await program.run();
      // Nothing is collected meanwhile: the young generation has room for all of these.
      return { ...run, figures: { bytes: (getHeapStatistics().used_heap_size - before) / count } };
    },
  };
}

/** The consumer that is first to handle a tenth envelope crashes on it; what else it had in its mailbox re-routes too. */
export function dispatchCrash(count: number): Program {
  const expected = count + count + Math.floor(count / 10);
  return onSystem(count, expected, (system, done) => {
    const crashedOn = new Uint8Array(count + 1);
    let handled = 0;
    let crashes = 0;
    const group = new ConsumerGroup<number>({ maxAttempts: Number.POSITIVE_INFINITY, patienceMs: 1_000 });
    staff(system, group, {
      handle: (_ctx, delivery) => {
        const { payload } = delivery;
        if (payload % 10 === 0 && crashedOn[payload] === 0) {
          crashedOn[payload] = 1;
          crashes++;
          return BROKEN;
        }
        handled++;
        delivery.ack();
        return undefined;
      },
    });
    dispatchAll(system, group, count, (acknowledged) => done(acknowledged + handled + crashes));
  });
}

/**
 * All are dispatched at once, and wait for a few slots while each hundredth of them crashes its consumer: what a dispatch costs
 * beside so many others.
 */
export function dispatchWaiting(count: number): Program {
  const expected = 2 * count + Math.floor(count / 100);
  let figures: Figures = {};
  const program = onSystem(count, expected, async (system, done) => {
    const crashedOn = new Uint8Array(count + 1);
    let handled = 0;
    let crashes = 0;
    const group = new ConsumerGroup<number>({ deadlineMs: Number.POSITIVE_INFINITY });
    const work = (payload: number): Stop | undefined => {
      if (payload % 100 === 0 && crashedOn[payload] === 0) {
        crashedOn[payload] = 1;
        crashes++;
        throw new Error("broken");
      }
      handled++;
      return undefined;
    };
    const start = consumer(work, { group });
    const children = Array.from({ length: CONSUMERS }, (_, i) => ({ id: `${i}`, start }));
    await system.start(supervisor({ children, intensity: Number.POSITIVE_INFINITY }));
    const watch = new Stopwatch();
    const ends = Array.from({ length: count }, (_, i) => system.dispatch(group, i + 1));
    const acknowledged = (await Promise.all(ends)).filter(({ settledBy }) => settledBy === "ack").length;
    const { wallMs, cpuMs } = watch.read();
    figures = { ns: (wallMs * 1e6) / count, cpuNs: (cpuMs * 1e6) / count };
    done(acknowledged + handled + crashes);
  });
  return { ...program, run: async () => ({ ...(await program.run()), figures }) };
}

/**
 * One dispatch at a time: from the moment a consumer's code crashes to the moment another one's code has the envelope.
 */
export function crashToReroute(count: number): Program {
  const elapsedUs = new Float64Array(count);
  const program = onSystem(count, 2 * count, (system, done) => {
    let crashedAt = 0;
    let rerouted = 0;
    const group = new ConsumerGroup<number>({ patienceMs: 1_000 });
    staff(system, group, {
      handle: (_ctx, delivery) => {
        if (delivery.attempt === 1) {
          crashedAt = performance.now();
          return BROKEN;
        }
        elapsedUs[delivery.payload] = (performance.now() - crashedAt) * 1_000;
        delivery.ack();
        return undefined;
      },
    });
    system.spawn<never>(async (ctx) => {
      for (let payload = 0; payload < count; payload++) {
        const outcome = await dispatch(ctx, group, payload);
        rerouted += outcome.attempts === 2 && outcome.reroutedFrom.length === 1 ? 2 : 0;
      }
      done(rerouted);
    });
  });
  return {
    ...program,
    run: async () => {
      const run = await program.run();
      elapsedUs.sort();
      return {
        ...run,
        figures: { medianUs: percentile(elapsedUs, 0.5), p99Us: percentile(elapsedUs, 0.99) },
      };
    },
  };
}

/** Dispatches 1 to `count` from all callers, and tells how many were acknowledged. */
function dispatchAll(
  system: System,
  group: ConsumerGroup<number>,
  count: number,
  done: (acknowledged: number) => void,
): void {
  let next = 0;
  let acknowledged = 0;
  for (let i = 0; i < CALLERS; i++) {
    system.spawn<never>(async (ctx) => {
      while (next < count) {
        const outcome = await dispatch(ctx, group, ++next);
        if (outcome.settledBy === "ack" && ++acknowledged === count) done(acknowledged);
      }
    });
  }
}

/** A process that keeps the group at its number of consumers. */
function staff(system: System, group: ConsumerGroup<number>, behaviour: Callbacks<Delivery<number>>): void {
  system.spawn<never>(
    {
      init: (ctx) => {
        for (let i = 0; i < CONSUMERS; i++) group.join(ctx.spawnLink(behaviour));
      },
      handle: () => undefined,
      signal: (ctx) => {
        group.join(ctx.spawnLink(behaviour));
      },
    },
    { trapExit: true },
  );
}
