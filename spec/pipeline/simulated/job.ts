// A pipeline with everything that pipelines have, and a model of what it does: counts and results by plain recursion, without ids,
// queues and steps.
//
//     source ─▶ numbers ─▶ [sort] ─┬─▶ parts ─▶ [gather] ─▶ sums ─▶ [write]
//     given ──▶    ▲               └─▶ laps ─▶ [lap] ─┬─▶ laps
//                                                     └─▶ parts

import {
  DeadLetterError,
  deduplicate,
  definePipeline,
  feed,
  many,
  type PipelineDefinition,
  type Queue,
  queue,
  route,
  type Sourced,
} from "signalbox/pipeline";

/** A value of the job. */
export interface Item {
  /** Items of the same name are the same item: the second one ends at once. */
  readonly name: string;
  /** `part`: split in two. `flaky`: fails at first. `bad`: given up. `laps`: goes round so often. `sour`: fails alone in its batch. */
  readonly kind: "part" | "flaky" | "bad" | "laps" | "sour";
  readonly laps?: number;
}

/** What comes of the parts of a batch. */
interface Sum {
  readonly names: readonly string[];
}

const MAX_HOPS = 6;
const HOUR_MS = 3_600_000;
const RETRY = { attempts: 1_000, backoff: { minMs: 2, maxMs: 20 } };

/** What is expected of a job, apart from the messages that batches make. */
export interface Expected {
  /** Messages that are settled in front of the batches, and in them. */
  readonly settled: number;
  readonly dead: number;
  /** The parts that come out, sorted. */
  readonly names: readonly string[];
}

/** The model: each item by itself. */
export function expectedOf(items: readonly Item[]): Expected {
  let settled = 0;
  let dead = 0;
  const names: string[] = [];
  const part = (name: string, isSour: boolean): void => {
    settled++;
    if (isSour) dead++;
    else names.push(name);
  };
  const lap = (name: string, left: number, hops: number): void => {
    settled++;
    if (hops >= MAX_HOPS) dead++;
    else if (left > 0) lap(name, left - 1, hops + 1);
    else if (hops + 1 >= MAX_HOPS) {
      // Its part is refused at the next route.
      settled++;
      dead++;
    } else part(name, false);
  };
  const seen = new Set<string>();
  for (const { name, kind, laps = 0 } of items) {
    settled++;
    if (kind === "bad") dead++;
    else if (seen.has(name)) continue;
    else if (kind === "laps") lap(name, laps, 1);
    else for (const side of ["l", "r"]) part(`${name}${side}`, kind === "sour" && side === "l");
    if (kind !== "bad") seen.add(name);
  }
  return { settled, dead, names: names.sort() };
}

/** A job: its pipeline, and what its adapters have done in the world outside, which outlives all hosts. */
export class Job {
  readonly pipeline: PipelineDefinition<readonly Item[]>;
  readonly numbers: Queue<Item> = queue<Item>("numbers");
  /** What was written, by execution and message. */
  readonly written: Map<string, Map<string, string>> = new Map();
  readonly wrong: string[] = [];
  /** Commits that completed an execution. */
  completions = 0;
  /** Messages that were written again, and messages that were tried again. */
  repeated = 0;
  retries = 0;

  constructor() {
    const parts = queue<Item>("parts");
    const laps = queue<Item>("laps");
    const sums = queue<Sum>("sums");
    const sort = route("sort", { from: this.numbers, concurrency: 2, retry: RETRY })
      .via("check", (item: Item, ctx) => (item.kind === "bad" ? ctx.giveUp("it is bad") : item))
      .via(deduplicate<Item>("once", { key: ({ name }) => name }))
      .via("split", async (item, ctx) => {
        await ctx.sleep(1);
        if (item.kind === "flaky" && ctx.attempt === 1) throw new Error("at first");
        if (ctx.attempt > 1) this.retries++;
        if (item.kind === "laps") return item;
        return many(["l", "r"].map((side): Item => ({ ...item, name: `${item.name}${side}` })));
      })
      .to(laps, { when: { field: "kind", operator: "eq", value: "laps" } })
      .to(parts, { when: { field: "kind", operator: "ne", value: "laps" } });
    const lap = route("lap", { from: laps, retry: RETRY })
      .via("lap", (item: Item) => ({ ...item, laps: (item.laps ?? 0) - 1 }))
      .to(laps, { when: { field: "laps", operator: "ge", value: 0 } })
      .to(parts, { when: { field: "laps", operator: "lt", value: 0 } });
    const gather = route("gather", { from: parts, retry: RETRY })
      .batch("gather", { size: 2, everyMs: HOUR_MS }, async (all, ctx): Promise<readonly Sum[]> => {
        await ctx.sleep(1);
        const sour = all.findIndex(({ kind, name }) => kind === "sour" && name.endsWith("l"));
        if (sour >= 0 && all.length > 1) throw new Error("something is sour");
        if (sour >= 0) ctx.fail(sour, new DeadLetterError("it is sour"));
        const good = all.filter((_, i) => i !== sour);
        return good.length === 0 ? [] : [{ names: good.map(({ name }) => name) }];
      })
      .to(sums);
    const write = route("write", { from: sums, concurrency: 2, retry: RETRY }).via(
      "write",
      async (sum, ctx) => {
        await ctx.sleep(1);
        this.#write(ctx.execution, ctx.id, sum.names.join());
        return undefined;
      },
    );
    this.pipeline = definePipeline<readonly Item[]>("job", {
      routes: [sort, lap, gather, write],
      sources: [feed(reader, this.numbers)],
      inFlight: 3,
      maxHops: MAX_HOPS,
      defaults: { fanOut: 4, highWaterMark: 4 },
    });
  }

  /** A message that was written before comes again after a crash: with the same id and the same value. */
  #write(execution: string, id: string, text: string): void {
    const all = this.written.get(execution) ?? new Map<string, string>();
    this.written.set(execution, all);
    const before = all.get(id);
    if (before !== undefined) this.repeated++;
    if (before !== undefined && before !== text) this.wrong.push(`${id} is ${text}, and was ${before}`);
    all.set(id, text);
  }

  /** Adds what another host has written for the same executions. */
  join(other: Job): void {
    for (const [execution, all] of other.written)
      for (const [id, text] of all) this.#write(execution, id, text);
    this.wrong.push(...other.wrong);
    this.completions += other.completions;
    this.repeated += other.repeated;
  }

  /** The names that were written for an execution, sorted; one that two messages wrote is there twice. */
  names(execution: string): string[] {
    return [...(this.written.get(execution)?.values() ?? [])].flatMap((text) => text.split(",")).sort();
  }
}

/** Gives the input of the execution item by item, some at once and some later. */
const reader = {
  name: "reader",
  async *open({
    checkpoint = 0,
    input,
  }: {
    readonly checkpoint?: number | undefined;
    readonly input: unknown;
  }) {
    const items = input as readonly Item[];
    for (let i = checkpoint; i < items.length; i++) {
      const next: Sourced<Item, number> = { value: items[i] as Item, checkpoint: i + 1 };
      if (i % 2 === 1) await Promise.resolve();
      yield next;
    }
  },
};
