// Pipelines whose definition changes under their executions, and hosts that live one after another.

import { type Environment, System } from "signalbox";
import type { StoreSource } from "signalbox/store";
import { onTestFinished } from "vitest";
import type { MissingPart } from "../../../lib/pipeline/definition/missing.js";
import {
  type AnyPipeline,
  definePipeline,
  feed,
  type PipelineDefinition,
} from "../../../lib/pipeline/definition/pipeline.js";
import { type Queue, queue } from "../../../lib/pipeline/definition/queue.js";
import { type AnyRoute, route } from "../../../lib/pipeline/definition/route.js";
import { type PipelineHost, type PipelineRun, pipelineHost } from "../../../lib/pipeline/host.js";
import type { StrandedExecution } from "../../../lib/pipeline/runtime/stranded.js";
import { runsOnPglite } from "../../support/pglite.js";
import { seen } from "../../support/until.js";
import { KINDS } from "../ledger/bench.js";

export const lines: Queue<string> = queue<string>("lines");
export const words: Queue<string> = queue<string>("words");
const never = new Promise<undefined>(() => undefined);

/** Sends lines on as words. */
export const split: AnyRoute = route("split", { from: lines })
  .via("split", (line) => line)
  .to(words);
/** Works on its messages for ever. */
export const takes = (from: Queue<string>): AnyRoute =>
  route(`take-${from.name}`, { from }).via("wait", () => never);
export const whole: AnyPipeline = definePipeline("text", { routes: [split, takes(words)] });

/** A source of a few lines that is open for ever, and notes that it was left. */
export class Endless {
  readonly name: string;
  readonly #lines: readonly string[];
  left = 0;

  constructor(name: string, given: readonly string[] = ["a"]) {
    this.name = name;
    this.#lines = given;
  }

  async *open({
    checkpoint,
    signal,
  }: {
    readonly checkpoint: number | undefined;
    readonly signal: AbortSignal;
  }): AsyncGenerator<{ value: string; checkpoint: number }> {
    for (const [i, value] of this.#lines.entries())
      if (i >= (checkpoint ?? 0)) yield { value, checkpoint: i + 1 };
    await new Promise<void>((over) => signal.addEventListener("abort", () => over()));
    this.left++;
  }
}

const fed = (name: string): AnyPipeline =>
  definePipeline("text", { routes: [split, takes(words)], sources: [feed(new Endless(name), lines)] });

/** What was changed, the definition before and after, and what an execution of the first lacks then. */
export const CHANGES: readonly [string, AnyPipeline, AnyPipeline, readonly MissingPart[]][] = [
  [
    "a route that was removed",
    whole,
    definePipeline("text", { routes: [route("split", { from: lines }).via("split", (line) => line)] }),
    [{ part: "queue", name: "words" }],
  ],
  [
    "a queue that was renamed",
    whole,
    definePipeline("text", { routes: [takes(queue<string>("terms"))] }),
    [{ part: "queue", name: "words" }],
  ],
  [
    "a pipeline that was renamed",
    whole,
    definePipeline("texts", { routes: [split, takes(words)] }),
    [{ part: "pipeline", name: "text" }],
  ],
  ["an open source that was renamed", fed("old"), fed("new"), [{ part: "source", name: "old" }]],
];

/** A host in a system of its own, and what it has told. */
export class Life {
  readonly system: System;
  readonly told: StrandedExecution[] = [];
  host!: PipelineHost;

  constructor(environment?: Environment) {
    this.system = new System({ report: false, ...(environment && { environment }) });
  }

  static of(store: StoreSource, ...pipelines: AnyPipeline[]): Promise<Life> {
    return Life.in(undefined, store, ...pipelines);
  }

  /** @param environment - undefined: production */
  static async in(
    environment: Environment | undefined,
    store: StoreSource,
    ...pipelines: AnyPipeline[]
  ): Promise<Life> {
    const life = new Life(environment);
    onTestFinished(() => life.system.stop());
    life.system.events.on("executionStranded", ({ execution, pipeline, missing }) =>
      life.told.push({ execution, pipeline, missing }),
    );
    life.host = await life.system.start(pipelineHost({ store, pipelines, drainMs: 0, socket: false }));
    return life;
  }

  /** Until the host has told something. */
  async hears(): Promise<void> {
    if (this.told.length === 0)
      await new Promise<void>((heard) => void this.system.events.once("executionStranded", () => heard()));
  }

  /** Looks until there is something to see. */
  until<T>(look: () => Promise<T | undefined>): Promise<T> {
    return seen(async () => {
      const found = await look();
      if (found === undefined) await this.system.idle();
      return found;
    });
  }
}

/** The execution `x` of a pipeline, whose message is in the queue of words by the time at which the host stops. */
export async function begun(store: StoreSource, pipeline: AnyPipeline): Promise<void> {
  const life = await Life.of(store, pipeline);
  const first = pipeline.options.sources === undefined ? { messages: { to: lines, values: ["a"] } } : {};
  await life.host.start(pipeline as PipelineDefinition<unknown>, { id: "x", ...first });
  await life.until(async () => {
    const { queues } = await life.host.operations.inspect("x");
    return queues.find(({ queue: name, ready }) => name === "words" && ready === 1);
  });
  await life.system.stop();
}

/** The same execution under another definition, once the host has told that it is stranded. */
export async function stranded(
  store: StoreSource,
  before: AnyPipeline,
  after: AnyPipeline,
): Promise<{ readonly life: Life; readonly run: PipelineRun }> {
  await begun(store, before);
  const life = await Life.of(store, after);
  await life.hears();
  return { life, run: life.host.get("x") };
}

/**
 * The kinds of stores of a test; see {@link runsOnPglite} about `proving`. The first test on PGlite in a process waits for its start,
 * which takes longer than all others together.
 */
export function places(proving: boolean): typeof KINDS {
  return KINDS.filter(({ name }) => name !== "volatile" && (name !== "PGlite" || runsOnPglite(proving)));
}

/** A store that goes with the test. */
export async function placeOf({ place }: (typeof KINDS)[number]): Promise<StoreSource> {
  const { source, dispose } = await place();
  onTestFinished(dispose);
  return source as StoreSource;
}
