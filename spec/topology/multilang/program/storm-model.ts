// A model of a Storm cluster by its rules: a spout executor that knows what is pending, an acker, and workers that can be killed. Our
// programs run in it on streams in memory, by a test clock; every choice comes from a seed.
//
// The rules, from Storm's classes: a tuple's tree is the XOR of its edges (Acker, BoltOutputCollectorImpl). A pending tuple whose tree is
// not complete fails after one to two message timeouts (SpoutExecutor rotates two buckets). A shell component that dies takes its worker
// with it: what the worker had is lost, and the next one begins with nothing (ShellBolt). A bolt may settle what it has, and once.

import type { TestClock } from "../../../../lib/testing/kit/clock.js";
import { Random } from "../../../../lib/testing/kit/random.js";
import type { Blueprint } from "../../../../lib/topology/definition/blueprint.js";
import { runComponent } from "../../../../lib/topology/multilang/program/run-component.js";
import type { InputStream, OutputStream } from "../../../../lib/topology/multilang/program/stdio.js";
import { Decoder, encode } from "../../../../lib/topology/multilang/protocol/codec.js";

type Message = Readonly<Record<string, unknown>>;

/** A stream in memory. */
class Pipe implements InputStream, OutputStream {
  readonly #listeners = new Map<string, Set<(...args: unknown[]) => void>>();
  readonly #held: string[] = [];
  readonly #written: ((text: string) => void) | undefined;
  #paused = false;

  constructor(written?: (text: string) => void) {
    this.#written = written;
  }
  on(event: string, listener: (...args: unknown[]) => void): void {
    const all = this.#listeners.get(event) ?? new Set();
    this.#listeners.set(event, all.add(listener));
  }
  off(event: string, listener: (...args: unknown[]) => void): void {
    this.#listeners.get(event)?.delete(listener);
  }
  pause(): void {
    this.#paused = true;
  }
  resume(): void {
    this.#paused = false;
    for (const text of this.#held.splice(0)) this.push(text);
  }
  write(text: string): boolean {
    this.#written?.(text);
    return true;
  }
  push(text: string): void {
    if (this.#paused) this.#held.push(text);
    else this.emit("data", Buffer.from(text));
  }
  emit(event: string, ...args: unknown[]): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(...args);
  }
}

/** One of our programs, until it is killed. */
class Program {
  /** Errors that it has reported. */
  readonly errors: string[] = [];
  readonly #input = new Pipe();
  #alive = true;

  constructor(cluster: Cluster, component: string, task: number, heard: (message: Message) => void) {
    const decoder = new Decoder();
    const output = new Pipe((text) => {
      if (!this.#alive) return;
      decoder.push(Buffer.from(text), (message) => {
        const one = message as Message;
        if (one.command === "error") this.errors.push(String(one.msg));
        else if (one.command !== undefined) heard(one);
      });
    });
    const { environment } = cluster.clock;
    void runComponent(cluster.topology, { input: this.#input, output, environment });
    const context = {
      "task->component": { 1: "source", 2: "bolt", 3: "sink" },
      taskid: task,
      componentid: component,
    };
    const conf = { "topology.message.timeout.secs": cluster.timeoutMs / 1_000 };
    this.say({ conf, pidDir: cluster.pidDir, context });
  }

  say(message: Message): void {
    this.#input.push(encode(message));
  }

  /** Nothing that it says from now on is heard. */
  kill(): void {
    this.#alive = false;
    this.#input.emit("end");
  }
}

/** A tuple on its way, or at a bolt. */
export interface ModelTuple {
  readonly id: string;
  readonly stream: string;
  readonly values: readonly unknown[];
  /** Its edge in each tree that it belongs to, by the tree's root. */
  readonly edges: ReadonlyMap<number, number>;
  /** XOR of the edges of its children. */
  children: number;
}

/** A tree, as the acker knows it. */
interface Tree {
  xor: number;
  failed: boolean;
  /** The spout has told of it. */
  known: boolean;
}

export interface ClusterOptions {
  readonly clock: TestClock;
  readonly topology: { readonly blueprint: Blueprint };
  readonly pidDir: string;
  readonly timeoutMs: number;
  readonly seed: number;
  /** The bolt has emitted a tuple. */
  readonly emitted: (tuple: ModelTuple) => void;
}

/** A spout `source`, a bolt `bolt` that reads it, and a sink, which the test plays. */
export class Cluster {
  readonly clock: TestClock;
  readonly topology: { readonly blueprint: Blueprint };
  readonly pidDir: string;
  readonly timeoutMs: number;
  readonly random: Random;
  /** On their way to the bolt. */
  readonly toBolt: ModelTuple[] = [];
  /** Those that the bolt has. */
  readonly atBolt: Map<string, ModelTuple> = new Map();
  /** When the bolt's worker was started. */
  startedAt = 0;
  readonly #emitted: (tuple: ModelTuple) => void;
  readonly #spout: Program;
  #bolt: Program;
  /** The acker's trees by root. */
  readonly #trees = new Map<number, Tree>();
  /** The spout's pending tuples by root, the younger bucket first. */
  #pending: [Map<number, string>, Map<number, string>] = [new Map(), new Map()];
  /** Commands for the spout. */
  readonly #commands: Message[] = [];
  #roots = 0;
  #ids = 0;
  #rotateAt: number;

  constructor({ clock, topology, pidDir, timeoutMs, seed, emitted }: ClusterOptions) {
    this.clock = clock;
    this.topology = topology;
    this.pidDir = pidDir;
    this.timeoutMs = timeoutMs;
    this.random = new Random(seed);
    this.#emitted = emitted;
    this.#rotateAt = timeoutMs;
    this.#spout = new Program(this, "source", 1, (message) => this.#spoutSaid(message));
    this.#bolt = this.#startBolt();
  }

  get pending(): number {
    return this.#pending[0].size + this.#pending[1].size;
  }

  get errors(): readonly string[] {
    return [...this.#spout.errors, ...this.#bolt.errors];
  }

  /** The spout's executor: what has ended is told, and the spout is asked for the next. */
  async next(): Promise<void> {
    for (const command of [...this.#commands.splice(0), { command: "next" }]) {
      this.#spout.say(command);
      await this.clock.settle();
    }
  }

  /** The bolt gets one of the tuples that are on their way. */
  async deliver(): Promise<ModelTuple | undefined> {
    const tuple = this.toBolt.splice(this.random.below(this.toBolt.length), 1)[0];
    if (tuple === undefined) return undefined;
    this.atBolt.set(tuple.id, tuple);
    const { id, stream, values } = tuple;
    this.#bolt.say({ id, comp: "source", stream, task: 1, tuple: values });
    await this.clock.settle();
    return tuple;
  }

  async pass(ms: number): Promise<void> {
    const end = this.clock.now + ms;
    while (this.#rotateAt <= end) {
      await this.clock.advance(this.#rotateAt - this.clock.now);
      this.#rotateAt += this.timeoutMs;
      const [young, old] = this.#pending;
      this.#pending = [new Map(), young];
      for (const id of old.values()) this.#commands.push({ command: "fail", id });
    }
    await this.clock.advance(end - this.clock.now);
  }

  /** The worker of the bolt is killed, and another one started. */
  async crash(): Promise<void> {
    this.#bolt.kill();
    this.atBolt.clear();
    // Most of what was on its way there is lost, too.
    this.toBolt.splice(0, this.random.below(this.toBolt.length + 1));
    await this.clock.settle();
    this.#bolt = this.#startBolt();
    await this.clock.settle();
  }

  ack(tuple: ModelTuple): void {
    for (const [root, edge] of tuple.edges)
      this.#update(root, (tree) => {
        tree.xor ^= edge ^ tuple.children;
      });
  }

  fail(tuple: ModelTuple): void {
    for (const root of tuple.edges.keys())
      this.#update(root, (tree) => {
        tree.failed = true;
      });
  }

  #startBolt(): Program {
    this.startedAt = this.clock.now;
    return new Program(this, "bolt", 2, (message) => this.#boltSaid(message));
  }

  #edge(): number {
    return this.random.bits() | 0;
  }

  #spoutSaid({ command, stream, id, tuple }: Message): void {
    if (command !== "emit") return;
    const edges = new Map<number, number>();
    if (id !== undefined) {
      const root = ++this.#roots;
      const edge = this.#edge();
      edges.set(root, edge);
      this.#pending[0].set(root, String(id));
      this.#update(root, (tree) => {
        tree.xor ^= edge;
        tree.known = true;
      });
    }
    this.toBolt.push(this.#tuple(String(stream), tuple as unknown[], edges));
  }

  #boltSaid({ command, stream, id, tuple, anchors }: Message): void {
    switch (command) {
      case "emit": {
        const edges = new Map<number, number>();
        for (const anchor of anchors as string[]) {
          const edge = this.#edge();
          const at = this.#at(anchor);
          at.children ^= edge;
          for (const root of at.edges.keys()) edges.set(root, (edges.get(root) ?? 0) ^ edge);
        }
        this.#emitted(this.#tuple(String(stream), tuple as unknown[], edges));
        return;
      }
      case "ack":
      case "fail": {
        const one = this.#at(String(id));
        this.atBolt.delete(one.id);
        this[command](one);
      }
    }
  }

  /** A tuple that the bolt has. ShellBolt dies of another one. */
  #at(id: string): ModelTuple {
    const tuple = this.atBolt.get(id);
    if (tuple === undefined) throw new Error(`the bolt has no tuple ${id}`);
    return tuple;
  }

  #tuple(stream: string, values: readonly unknown[], edges: ReadonlyMap<number, number>): ModelTuple {
    return { id: `t${++this.#ids}`, stream, values, edges, children: 0 };
  }

  #update(root: number, change: (tree: Tree) => void): void {
    const tree = this.#trees.get(root) ?? { xor: 0, failed: false, known: false };
    this.#trees.set(root, tree);
    change(tree);
    if (!tree.known || (tree.xor !== 0 && !tree.failed)) return;
    this.#trees.delete(root);
    const [young, old] = this.#pending;
    const id = young.get(root) ?? old.get(root);
    young.delete(root);
    old.delete(root);
    if (id !== undefined) this.#commands.push({ command: tree.xor === 0 ? "ack" : "fail", id });
  }
}
