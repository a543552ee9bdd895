// Topologies: words are counted, reliably and not; what an edge costs as a run grows long; the acker's decisions alone.
//
// An edge is a copy of a tuple: one for each sentence, one for each of its words.

import {
  bolt,
  field,
  grouping,
  spout,
  type Topology,
  type TopologyConfig,
  topology,
} from "signalbox/topology";
import { AckerMachine, COMPLETED } from "../../lib/topology/tracking/acker-machine.js";
import { usedBytes } from "./lives.js";
import { type Figures, median, onSystem, type Program, Stopwatch } from "./program.js";
import { EDGES, isCountOf, sentence, WORDS } from "./words.js";

const TASKS = 2;
const MANY_PENDING = 4_096;

/** A topology that counts the words of sentences, as many as it is asked for, and what came of it. */
class WordCount {
  readonly topology: Topology;
  readonly #reliable: boolean;
  /** How often each sentence was acked. */
  readonly #acks: Uint8Array;
  /** The counts of each task. */
  readonly #counts: Map<string, number>[] = [];
  #wanted = 0;
  #emitted = 0;
  #acked = 0;
  #failed = 0;
  #counted = 0;
  #wake: () => void = () => undefined;
  #done: () => void = () => undefined;

  /** @param most - sentences that will be asked for in all @param config - undefined: without ids */
  constructor(most: number, config: TopologyConfig | undefined) {
    this.#reliable = config !== undefined;
    this.#acks = new Uint8Array(most);
    const sentences = spout({
      streams: { lines: { text: field.text } },
      init: () => undefined,
      activate: ({ wake }) => {
        this.#wake = wake;
      },
      next: ({ emit }) => {
        if (this.#emitted === this.#wanted) return;
        const id = this.#emitted++;
        const text = sentence(id);
        if (this.#reliable) emit.lines({ text }, { id });
        else emit.lines({ text });
      },
      ack: (id: number) => {
        this.#acks[id] = (this.#acks[id] as number) + 1;
        this.#acked++;
        this.#look();
      },
      fail: () => {
        this.#failed++;
        this.#done();
      },
    });
    const split = bolt({
      input: { text: field.text },
      streams: { words: { word: field.text } },
      execute: ({ values }, { emit }) => {
        for (const word of values.text.split(" ")) emit.words({ word });
      },
    });
    const count = bolt({
      input: { word: field.text },
      init: () => {
        const counts = new Map<string, number>();
        this.#counts.push(counts);
        return counts;
      },
      execute: ({ values: { word } }, { state }) => {
        state.set(word, (state.get(word) ?? 0) + 1);
        this.#counted++;
        if (!this.#reliable) this.#look();
      },
    });
    this.topology = topology("word-count", config)
      .spout("sentences", sentences)
      .bolt("split", split, { tasks: TASKS, from: { "sentences.lines": grouping.shuffle() } })
      .bolt("count", count, { tasks: TASKS, from: { "split.words": grouping.fields("word") } })
      .build();
  }

  /** So many sentences more: until they are acked or, without ids, their words are counted. */
  more(sentences: number): Promise<void> {
    return new Promise((resolve) => {
      this.#done = resolve;
      this.#wanted += sentences;
      this.#wake();
    });
  }

  /** Edges of sentences that were acked exactly once, if all else is right as well; less than none if it is not. */
  get edges(): number {
    const rightAcks = this.#reliable
      ? this.#acks.reduce((sum, acks) => sum + (acks === 1 ? 1 : 0), 0)
      : this.#wanted;
    return this.#failed === 0 &&
      isCountOf(
        this.#wanted,
        this.#counts.flatMap((counts) => [...counts]),
      )
      ? rightAcks * EDGES
      : -1;
  }

  #look(): void {
    const all = this.#reliable ? this.#acked === this.#wanted : this.#counted === this.#wanted * WORDS;
    if (all) this.#done();
  }
}

function wordCount(sentences: number, config: TopologyConfig | undefined): Program {
  const edges = sentences * EDGES;
  return onSystem(edges, edges, async (system, done) => {
    const counting = new WordCount(sentences, config);
    await system.start(counting.topology);
    await counting.more(sentences);
    done(counting.edges);
  });
}

/** Every sentence is acked when its words are counted. */
export function topologyReliable(sentences: number, maxPending: number): Program {
  return wordCount(sentences, { maxPending });
}

/** Nobody hears what became of a sentence. */
export function topologyUnreliable(sentences: number): Program {
  return wordCount(sentences, undefined);
}

/** What is done how often by {@link topologyLasting}, in edges. */
export interface Lasting {
  /** Of one round. */
  readonly edges: number;
  readonly rounds: number;
  /** Before the clock starts and the heap is weighed, in the same running topology. */
  readonly warmUp: number;
}

/** One reliable topology, round after round: what an edge costs, and by how much the heap has grown at the end. */
export function topologyLasting({ edges, rounds, warmUp }: Lasting): Program {
  const sentences = Math.ceil(edges / EDGES);
  const before = Math.ceil(warmUp / EDGES);
  const most = before + sentences * rounds;
  let figures: Figures = {};
  const program = onSystem(sentences * rounds * EDGES, most * EDGES, async (system, done) => {
    const counting = new WordCount(most, { maxPending: MANY_PENDING });
    await system.start(counting.topology);
    await counting.more(before);
    const bytes = usedBytes();
    const ns: number[] = [];
    const cpuNs: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const watch = new Stopwatch();
      await counting.more(sentences);
      const { wallMs, cpuMs } = watch.read();
      ns.push((wallMs * 1e6) / (sentences * EDGES));
      cpuNs.push((cpuMs * 1e6) / (sentences * EDGES));
    }
    figures = { ns: median(ns), cpuNs: median(cpuNs), bytes: usedBytes() - bytes };
    done(counting.edges);
  });
  return { ...program, once: true, run: async () => ({ ...(await program.run()), figures }) };
}

/** Trees of a root and one child: a track and two acks each, so many trees at the same time. */
export function acker(trees: number, pending: number): Program {
  return {
    operations: trees,
    expected: trees,
    run: async () => {
      const machine = new AckerMachine({ capacity: 2 * pending });
      let completed = 0;
      // A root is acked when half of those have come that may be pending with it, its child when all have.
      const half = pending >> 1;
      for (let n = 1; n < trees + pending; n++) {
        if (n <= trees) machine.track(scatter(n), n, scatter(n + ROOT), n, SPOUT);
        const root = n - half;
        if (root >= 1 && root <= trees)
          machine.ack(scatter(root), root, scatter(root + ROOT) ^ scatter(root + CHILD), root ^ ~root);
        const child = n - pending + 1;
        if (
          child >= 1 &&
          machine.ack(scatter(child), child, scatter(child + CHILD), ~child)?.outcome === COMPLETED
        )
          completed++;
      }
      return { counted: machine.size === 0 ? completed : -1 };
    },
  };
}

const SPOUT = 1;
// Apart from the numbers of trees, so that an edge's id is like no other.
const ROOT = 0x2000_0000;
const CHILD = 0x4000_0000;

/** Numbers in order become what looks random. */
function scatter(n: number): number {
  const mixed = Math.imul(n ^ (n >>> 15), 0x2c1b_3c6d);
  return mixed ^ (mixed >>> 12);
}
