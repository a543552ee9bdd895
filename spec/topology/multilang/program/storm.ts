// The host of one of our components, played by the test on streams in memory.

import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import type { Blueprint, ComponentPlan } from "../../../../lib/topology/definition/blueprint.js";
import type {
  BoltDefinition,
  Definition,
  SpoutDefinition,
} from "../../../../lib/topology/definition/component.js";
import { fullConfig, type TopologyConfig } from "../../../../lib/topology/definition/config.js";
import type { Streams } from "../../../../lib/topology/definition/field.js";
import {
  type ComponentSource,
  type RunComponentOptions,
  runComponent,
} from "../../../../lib/topology/multilang/program/run-component.js";
import { Decoder, encode } from "../../../../lib/topology/multilang/protocol/codec.js";

/** Any component, whatever it emits and reads. */
type AnyDefinition = Pick<SpoutDefinition | BoltDefinition, "kind" | "streams">;

/** A topology without subscriptions, because these are the other host's. */
export function topologyOf(
  components: Readonly<Record<string, AnyDefinition>>,
  config: TopologyConfig = {},
): { readonly blueprint: Blueprint } {
  const plans = Object.entries(components).map(
    ([name, definition]): ComponentPlan => ({
      name,
      kind: definition.kind,
      definition: definition as unknown as Definition,
      streams: definition.streams as Streams,
      tasks: 1,
      executors: 1,
      config: fullConfig(config, (definition as SpoutDefinition).options.config ?? {}),
    }),
  );
  const blueprint: Blueprint = {
    name: "test",
    config: fullConfig(config),
    components: plans,
    subscriptions: [],
  };
  return { blueprint };
}

/** An emit on the stream `words`, as a component says it. */
export const emitted = (tuple: unknown[], more: object = {}): object => ({
  command: "emit",
  stream: "words",
  tuple,
  need_task_ids: false,
  ...more,
});

export class Storm {
  /** All messages of the component, its process id first. */
  readonly heard: Record<string, unknown>[] = [];
  readonly ended: Promise<unknown>;
  readonly output: PassThrough;
  readonly #input = new PassThrough();
  #waiting: (() => void)[] = [];
  #over = false;
  readonly #pids = mkdtempSync(join(tmpdir(), "signalbox-test-"));

  /** Starts a component of the topology; task 2 and 3 are its own, and this is 3. */
  constructor(
    topology: ComponentSource,
    componentid: string,
    context: object = {},
    options: RunComponentOptions = {},
    conf: object = {},
  ) {
    const decoder = new Decoder();
    this.output = new PassThrough();
    this.output.on("data", (bytes: Buffer) => {
      decoder.push(bytes, (message) => this.heard.push(message as Record<string, unknown>));
      this.#changed();
    });
    // What it ended with: undefined, or an error.
    this.ended = runComponent(topology, { input: this.#input, output: this.output, ...options }).then(
      () => undefined,
      (error: unknown) => error,
    );
    void this.ended.then(() => {
      this.#over = true;
      rmSync(this.#pids, { recursive: true });
      this.#changed();
    });
    const tasks = {
      "task->component": { 1: "other", 2: componentid, 3: componentid },
      taskid: 3,
      componentid,
    };
    this.say({ conf, pidDir: this.#pids, context: { ...tasks, ...context } });
  }

  /** Files in the directory of process ids. */
  get pids(): string[] {
    return readdirSync(this.#pids);
  }

  /** The messages after the process id, without log lines and errors. */
  get said(): unknown[] {
    return this.heard.slice(1).filter(({ command }) => command !== "log" && command !== "error");
  }

  /** Texts of the reported errors. */
  get errors(): string[] {
    return this.heard.filter(({ command }) => command === "error").map(({ msg }) => String(msg));
  }

  say(...messages: unknown[]): void {
    this.#input.write(messages.map(encode).join(""));
  }

  tuple(id: string | number, tuple: readonly unknown[], stream = "lines"): void {
    this.say({ id, comp: "lines", stream, task: 1, tuple });
  }

  command(command: string, id?: string): void {
    this.say(id === undefined ? { command } : { command, id });
  }

  /** Closes the component's input, and waits for its end. */
  leave(): Promise<unknown> {
    this.#input.end();
    return this.ended;
  }

  /** Resolves after this number of messages after the process id, without log lines and errors. */
  async until(count: number): Promise<unknown[]> {
    while (this.said.length < count) {
      if (this.#over) throw new Error(`the component ended; it said ${JSON.stringify(this.heard)}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return this.said;
  }

  /** Resolves after this number of messages of any kind. */
  async untilHeard(count: number): Promise<void> {
    while (this.heard.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Resolves when the component has read all messages so far. (It answers heartbeats at once.) */
  async seen(id: string): Promise<void> {
    const syncs = (): number => this.heard.filter(({ command }) => command === "sync").length;
    const before = syncs();
    this.say({ id, comp: null, stream: "__heartbeat", task: -1, tuple: [] });
    while (syncs() === before) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    await this.settled();
  }

  /** Resolves after a few turns of the event loop. */
  async settled(): Promise<void> {
    for (let turns = 0; turns < 20; turns++) await new Promise<void>((resolve) => setImmediate(resolve));
  }

  #changed(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
