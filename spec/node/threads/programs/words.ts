// The bolts of the tests of topologies over threads, and the module that each thread loads.

import { threadId } from "node:worker_threads";
import { type ThreadProgram, threadProgram } from "signalbox/nodes";
import {
  type AnyStream,
  type BoltDefinition,
  batchBolt,
  bolt,
  boltProgram,
  type Field,
  field,
} from "signalbox/topology";

type Text = {
  readonly text: Field<string>;
};
type Words = {
  readonly words: {
    readonly word: Field<string>;
    readonly thread: Field<number>;
  };
};
type Sizes = {
  readonly sizes: {
    readonly size: Field<number>;
    readonly texts: Field<readonly string[]>;
  };
};
type Count = {
  readonly n: Field<number>;
};
type Done = {
  readonly done: { readonly n: Field<number>; readonly thread: Field<number> };
};

/** Places of the board. */
export const CRASHES = 0;
export const CLOSED = 1;

let board: Int32Array | undefined;

/** Once for each of the crashes that the board has left. */
function isDue(): boolean {
  if (board === undefined) return false;
  for (let left = Atomics.load(board, CRASHES); left > 0; left = Atomics.load(board, CRASHES))
    if (Atomics.compareExchange(board, CRASHES, left, left - 1) === left) return true;
  return false;
}

export const split: BoltDefinition<AnyStream<Text>, Words> = bolt({
  input: { text: field.text },
  streams: { words: { word: field.text, thread: field.number } },
  execute: ({ values: { text } }, { emit }) => {
    for (const word of text.split(" ")) {
      if (word === "exit" && isDue()) process.exit(1);
      if (word === "crash" && isDue()) throw new RangeError("a word that crashes");
      if (word === "loop" && isDue()) for (;;);
      emit.words({ word, thread: threadId });
    }
  },
  close: () => void (board !== undefined && Atomics.add(board, CLOSED, 1)),
});

export const crashing: BoltDefinition<AnyStream<Text>, Words> = bolt({
  input: { text: field.text },
  streams: { words: { word: field.text, thread: field.number } },
  mode: "manual",
  execute: (tuple, { emit, ack }) => {
    if (isDue()) throw new RangeError("a bolt that crashes");
    emit.words({ word: tuple.values.text, thread: threadId });
    ack(tuple);
  },
});

export const batches: BoltDefinition<AnyStream<Text>, Sizes> = batchBolt({
  input: { text: field.text },
  streams: {
    sizes: { size: field.number, texts: field.of<readonly string[]>() },
  },
  size: 4,
  execute: (tuples, { emit }) =>
    emit.sizes({
      size: tuples.length,
      texts: tuples.map(({ values }) => values.text),
    }),
});

export const grind: BoltDefinition<AnyStream<Count>, Done> = bolt({
  input: { n: field.number },
  streams: { done: { n: field.number, thread: field.number } },
  execute: ({ values: { n } }, { emit }) => {
    let x = n;
    for (let i = 0; i < 200_000; i++) x = (x * 1_103_515_245 + 12_345) % 2_147_483_648;
    emit.done({ n: x, thread: threadId });
  },
});

const program: ThreadProgram = threadProgram({
  onStart: (_system, data) => {
    if (data instanceof Int32Array) board = data;
  },
  programs: {
    split: boltProgram(split),
    crashing: boltProgram(crashing),
    batches: boltProgram(batches),
    grind: boltProgram(grind),
  },
});
export default program;
