// What plain Node does in the place of a program: its streams for a topology, its own `await` beside no System.

import { Readable, Transform, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { awaitAll } from "./awaits.js";
import { bareRoundTrip, bareSend, bareWork } from "./bare-threads.js";
import { FRAME, order, SAMPLE } from "./codec.js";
import { held } from "./held.js";
import type { Program } from "./program.js";
import { SIZES } from "./sizes.js";
import { EDGES, isCountOf, sentence } from "./words.js";

/** Words of sentences, counted by three streams of objects: a source, a splitter, a counter. */
export function wordCount(sentences: number): Program {
  const edges = sentences * EDGES;
  return {
    operations: edges,
    expected: edges,
    run: async () => {
      let emitted = 0;
      const counts = new Map<string, number>();
      const source = new Readable({
        objectMode: true,
        read() {
          this.push(emitted === sentences ? null : { text: sentence(emitted++) });
        },
      });
      const split = new Transform({
        objectMode: true,
        transform({ text }: { readonly text: string }, _encoding, done) {
          for (const word of text.split(" ")) this.push({ word });
          done();
        },
      });
      const count = new Writable({
        objectMode: true,
        write({ word }: { readonly word: string }, _encoding, done) {
          counts.set(word, (counts.get(word) ?? 0) + 1);
          done();
        },
      });
      await pipeline(source, split, count);
      return { counted: isCountOf(sentences, [...counts]) ? edges : -1 };
    },
  };
}

/** Awaits of the host's own code, with no System alive. */
export function hostAwait(count: number): Program {
  return {
    operations: count,
    expected: (count * (count + 1)) / 2,
    run: async () => ({ counted: await awaitAll(count) }),
  };
}

/** The same messages as JSON alone, in frames of the same size: what the platform does. */
export function codecPlain(count: number): Program {
  return {
    operations: count,
    expected: count + Math.ceil(count / FRAME),
    run: async () => {
      const given = Array.from({ length: SAMPLE }, (_, n) => order(n));
      let counted = 0;
      for (let n = 0; n < count; n += FRAME) {
        const texts: string[] = [];
        for (let i = n; i < Math.min(count, n + FRAME); i++) texts.push(JSON.stringify(given[i % SAMPLE]));
        const messages = JSON.parse(`[${texts.join()}]`) as { readonly id: number }[];
        counted += messages.length;
        if (messages[0]?.id === n % SAMPLE) counted++;
      }
      return { counted };
    },
  };
}

/** A loop that is never held for longer than this by its own code. */
const HELD_MS = 2;

/** A loop that is always busy, but for short times: what holds it for longer is the machine. */
export function busyLoop(rounds: number): Program {
  return {
    operations: rounds,
    expected: rounds,
    run: async () => {
      let counted = 0;
      const { ms } = await held(async () => {
        for (; counted < rounds; counted++) {
          for (const until = performance.now() + HELD_MS; performance.now() < until; );
          await new Promise((resolve) => setImmediate(resolve));
        }
      });
      return { counted, figures: { ms } };
    },
  };
}

export const programs: Readonly<Record<string, Program>> = {
  "topology-unreliable": wordCount(SIZES.topology),
  "host-await": hostAwait(SIZES.hostAwait),
  "codec-plain": codecPlain(SIZES.codec.plain),
  "pipeline-sqlite-held": busyLoop(SIZES.pipelines.busy),
  "thread-send": bareSend(SIZES.threads.send),
  "thread-round-trip": bareRoundTrip(SIZES.threads.roundTrips),
  "thread-pair": bareWork(2, SIZES.threads.rounds),
  "thread-bolts": bareWork(SIZES.threads.tuples, SIZES.threads.rounds / SIZES.threads.tuples),
};
