// A durable queue: messages are published in portions and handled once each, on SQLite and on PostgreSQL.

import { System } from "signalbox";
import { done, openQueues } from "signalbox/pipeline";
import { postgres } from "signalbox/store";
import { benchPostgres } from "./bench-postgres.js";
import { newFile, type Place, type Reading, rates, readings, same } from "./pipelines.js";
import { type Program, Stopwatch } from "./program.js";
import { SIZES } from "./sizes.js";

/** Messages of one publication, and of one subscriber. */
const PORTION = 500;
const CONCURRENCY = 100;

/** From the first publication until every message is handled, and is settled. */
export function queueOn(messages: number, place: () => Promise<Place>): Program {
  return {
    operations: messages,
    expected: (messages * (messages - 1)) / 2,
    run: async () => {
      const { store, remove } = await place();
      const system = new System({ report: false });
      const queues = await openQueues(system, { store });
      const queue = queues.queue<Reading>(`bench${process.pid}`);
      const watch = new Stopwatch();
      let sum = 0;
      let left = messages;
      const handled = new Promise<void>((resolve) => {
        void queue.subscribe({ concurrency: CONCURRENCY, prefetch: PORTION }, ({ value }) => {
          sum += value.n;
          if (--left === 0) resolve();
          return done;
        });
      });
      const all = [...readings(messages)];
      for (let at = 0; at < messages; at += PORTION)
        await queue.publishMany(all.slice(at, at + PORTION).map((value) => ({ value })));
      await handled;
      // Closed when the last ones are settled.
      await queues.close();
      const figures = rates(messages, watch.read());
      same(left, 0);
      await system.stop();
      remove();
      return { counted: sum, figures };
    },
  };
}

const { file, server } = SIZES.queues;

/** In full size. */
export const programs: Readonly<Record<string, Program>> = {
  "queue-sqlite": queueOn(file, async () => newFile()),
  "queue-postgres": queueOn(server, async () => ({
    store: postgres(await benchPostgres(`signalbox_queue_${process.pid}`)),
    remove: () => undefined,
  })),
};
