// The pipeline of a kill test: fan-out, conditions, retries, dead letters, inputs that are dropped, batches with and without keys, and a source that waits.
//
//     inputs ─▶ split ─▶ parts ─▶ work ─▶ worked ─▶ gather ─▶ outputs ─▶ record
//                                   └───▶ audited ─▶ audit ─────┘

import { readFileSync } from "node:fs";
import {
  type DamagedRecord,
  deduplicate,
  definePipeline,
  feed,
  giveUpDamaged,
  jsonLines,
  many,
  type PipelineDefinition,
  queue,
  route,
  type Source,
} from "signalbox/pipeline";
import type { Input, Part } from "./inputs.js";
import type { Deed } from "./record.js";

interface Output {
  readonly kind: "batch" | "audit";
  readonly members: readonly (readonly [n: number, p: number])[];
}

interface Parts {
  /** The file with the inputs. */
  readonly file: string;
  /** A file with a number: of so many inputs the source may read. */
  readonly allowed: string;
  /** Called before and after everything that an adapter does to the world. */
  point(): void;
  add(deed: Deed): void;
}

/** The adapter that lets one input with a key pass. */
export const ONCE = "once";
/** How often the source looks whether it may go on. */
const LOOK_MS = 2;

export function chaosPipeline({ file, allowed, point, add }: Parts): PipelineDefinition<unknown> {
  const inputs = queue<Input | DamagedRecord>("inputs");
  const parts = queue<Part>("parts");
  const worked = queue<Part>("worked");
  const audited = queue<Part>("audited");
  const outputs = queue<Output>("outputs");

  const split = route("split", { from: inputs, concurrency: 4 })
    .via(giveUpDamaged<Input>())
    .via(deduplicate<Input>(ONCE, { key: ({ key }) => key }))
    .via("parts", (input, ctx) => {
      if (input.isRefused) ctx.giveUp("refused");
      return many(input.parts, ({ n }) => `k${n % 3}`);
    })
    .to(parts);

  const work = route("work", { from: parts, concurrency: 8 })
    .via("work", async (part, ctx) => {
      if (part.forMs > 0) await ctx.sleep(part.forMs);
      if (part.isDead) ctx.giveUp("dead");
      if (ctx.attempt <= part.fails) throw new Error(`attempt ${ctx.attempt} fails`);
      return part;
    })
    .to(worked)
    .to(audited, { when: (part: Part) => part.isAudited });

  const outputOf = (kind: Output["kind"], all: readonly Part[]): readonly Output[] => {
    // The batch is processed again, message by message.
    if (all.length > 1 && all.some(({ isSour }) => isSour)) throw new Error("sour");
    return [{ kind, members: all.map(({ n, p }) => [n, p] as const) }];
  };
  const gather = route("gather", { from: worked })
    .batch("gather", { size: 5, everyMs: 5 }, (all) => outputOf("batch", all))
    .to(outputs);
  const audit = route("audit", { from: audited })
    .batch("audit", { size: 3, everyMs: 5, byKey: true }, (all) => outputOf("audit", all))
    .to(outputs);

  const record = route("record", { from: outputs, concurrency: 2 }).via("record", (output, { id }) => {
    point();
    add({ type: "output", id, ...output });
    point();
    return undefined;
  });

  return definePipeline("chaos", {
    routes: [split, work, gather, audit, record],
    sources: [feed(waiting(file, allowed), inputs)],
  });
}

/** The lines of the file, as far as they are allowed: a life that is to be killed does not come to the end. */
function waiting(
  file: string,
  allowed: string,
): Source<Input | DamagedRecord, { byte: number; line: number }> {
  const lines = jsonLines<Input>("inputs", { path: file, damaged: "pass" });
  return {
    name: lines.name,
    async *open(ctx) {
      for await (const line of lines.open(ctx)) {
        while (line.checkpoint.line > allowedBy(allowed)) await look(ctx.signal);
        yield line;
      }
    },
  };
}

/** The number in the file. The parent replaces the file as a whole. */
export function allowedBy(file: string): number {
  return Number(readFileSync(file, "utf8"));
}

async function look(signal: AbortSignal): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  signal.throwIfAborted();
}
