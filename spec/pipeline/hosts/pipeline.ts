// The pipeline that several processes run together: each number becomes two parts, and each part is told on standard output.

import { definePipeline, feed, many, type PipelineDefinition, queue, route } from "signalbox/pipeline";

export const EXECUTION = "together";
export const NUMBERS = 300;
/** A line for each part that was worked on: its id and its value. */
export const PART = "part ";
/** The line of a process that was told of the end. */
export const ENDED = "ended ";

/** @param goOn - no part is done before it resolves */
export function together(tell: (line: string) => void, goOn: Promise<unknown>): PipelineDefinition {
  const numbers = queue<number>("numbers");
  const parts = queue<number>("parts");
  const counter = {
    name: "counter",
    *open({ checkpoint = 0 }: { readonly checkpoint?: number | undefined }) {
      for (let i = checkpoint; i < NUMBERS; i++) yield { value: i, checkpoint: i + 1 };
    },
  };
  const split = route("split", { from: numbers, concurrency: 4 })
    .via("split", async (n, ctx) => {
      await ctx.sleep(2);
      return many([n, -n]);
    })
    .to(parts);
  const work = route("work", { from: parts, concurrency: 4 }).via("work", async (part, ctx) => {
    await ctx.sleep(5);
    tell(`${PART}${ctx.id} ${part}`);
    await goOn;
    return undefined;
  });
  return definePipeline("together", {
    routes: [split, work],
    sources: [feed(counter, numbers)],
    // A small window, so that no process runs ahead of the others.
    defaults: { fanOut: 20, highWaterMark: 60 },
  });
}
