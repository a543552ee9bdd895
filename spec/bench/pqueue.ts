// The work of a dispatch on p-queue: as many jobs at once as there are consumers, and as many callers.

import PQueue from "p-queue";
import { CALLERS, CONSUMERS } from "./dispatch.js";
import type { Program } from "./program.js";
import { SIZES } from "./sizes.js";

/** Each job adds up its payload. */
export function dispatchAck(count: number): Program {
  return onQueue(count, count + (count * (count + 1)) / 2, async (add) => {
    let sum = 0;
    const acknowledged = await callAll(count, (payload) =>
      add(() => {
        sum += payload;
      }),
    );
    return acknowledged + sum;
  });
}

/** The first job of every tenth payload throws, and its caller adds a job again. p-queue has no consumers to restart. */
export function dispatchCrash(count: number): Program {
  return onQueue(count, count + count + Math.floor(count / 10), async (add) => {
    const crashedOn = new Uint8Array(count + 1);
    let handled = 0;
    let crashes = 0;
    const acknowledged = await callAll(count, (payload) => {
      const job = (): void => {
        if (payload % 10 === 0 && crashedOn[payload] === 0) {
          crashedOn[payload] = 1;
          crashes++;
          throw BROKEN;
        }
        handled++;
      };
      return add(job).catch(() => add(job));
    });
    return acknowledged + handled + crashes;
  });
}

/** Made beforehand, as the reason of our consumers is. */
const BROKEN = new Error("broken");

async function callAll(count: number, call: (payload: number) => Promise<void>): Promise<number> {
  let next = 0;
  let acknowledged = 0;
  const caller = async (): Promise<void> => {
    while (next < count) {
      await call(++next);
      acknowledged++;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return acknowledged;
}

function onQueue(
  operations: number,
  expected: number,
  work: (add: (job: () => void) => Promise<void>) => Promise<number>,
): Program {
  return {
    operations,
    expected,
    run: async () => {
      const queue = new PQueue({ concurrency: CONSUMERS });
      return { counted: await work((job) => queue.add(job)) };
    },
  };
}

export const programs: Readonly<Record<string, Program>> = {
  "dispatch-ack": dispatchAck(SIZES.dispatchAck),
  "dispatch-crash": dispatchCrash(SIZES.dispatchCrash),
};
