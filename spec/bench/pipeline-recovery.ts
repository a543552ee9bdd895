// How fast a pipeline is after two kills: two lives of its host are ended by SIGKILL, and the speed of the third one is compared with
// that of the first. Each life is a process of its own, see pipeline-child.ts.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { PipelineSummary } from "signalbox/pipeline";
import { runAndKill } from "./killed.js";
import { NODE_FLAGS } from "./measure.js";
import { checkSummary, leftIn, newFile, same } from "./pipelines.js";
import type { Program } from "./program.js";

/** The lives of the host. */
export type PipelineLife = "before" | "between" | "after";

/** What a life prints that is measured. */
export interface Speed {
  /** Messages that were settled in a second. */
  readonly perSecond: number;
}

/** What the last life prints. */
export interface LastWords extends Speed {
  /** What the source has given in all lives. */
  readonly given: number;
  readonly summary: PipelineSummary;
}

/** The three lives of a host on a file. */
export interface Lives {
  /** A life that is killed: what it printed. */
  killed(life: "before" | "between", file: string): Promise<string>;
  /** The life that ends by itself: what it printed. */
  last(file: string): string;
  left: typeof leftIn;
}

/** How many times as fast the first life was as the last one. Each message was settled once. */
export function recovery({ killed, last, left }: Lives): Program {
  return {
    operations: 1,
    expected: 0,
    once: true,
    run: async () => {
      const { file, remove } = newFile();
      try {
        const before = JSON.parse(await killed("before", file)) as Speed;
        await killed("between", file);
        const { perSecond, given, summary } = JSON.parse(last(file)) as LastWords;
        checkSummary(summary, given, 1);
        const { live, lineage } = left(file);
        same(live, 0);
        return { counted: given - lineage, figures: { times: before.perSecond / perSecond } };
      } finally {
        remove();
      }
    },
  };
}

/** Runs pipeline-child.ts, which is compiled beside this file. */
const child = (life: PipelineLife, file: string): readonly string[] => [
  fileURLToPath(new URL("pipeline-child.js", import.meta.url)),
  ...[life, file],
];

export const programs: Readonly<Record<string, Program>> = {
  "pipeline-recovery": recovery({
    killed: (life, file) => runAndKill(child(life, file)),
    last: (file) =>
      execFileSync(process.execPath, [...NODE_FLAGS, ...child("after", file)], { encoding: "utf8" }),
    left: leftIn,
  }),
};
