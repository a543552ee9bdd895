// What each spec file costs, in CPU time: a busy machine makes a test longer, and its CPU time hardly. Set by `npm run slow`.

import { appendFileSync, readFileSync } from "node:fs";
import { type RunnerTestFile, type RunnerTestSuite, TestRunner } from "vitest";

/** The fields of /proc/self/stat, behind the name, that count the time of children that have ended: in user code and in the kernel. */
const CHILDREN = [13, 14] as const;
const TICKS_PER_SECOND = 100;

/** CPU seconds so far, of this process and of its children that have ended. The latter are known on Linux alone. */
function spent(): { readonly own: number; readonly children: number } {
  const { user, system } = process.cpuUsage();
  return { own: (user + system) / 1e6, children: process.platform === "linux" ? ofChildren() : 0 };
}

function ofChildren(): number {
  const stat = readFileSync("/proc/self/stat", "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return CHILDREN.reduce((sum, at) => sum + Number(fields[at]), 0) / TICKS_PER_SECOND;
}

/** Writes a line for each file: what it took to load it, to run its tests, and the processes that it started. */
export default class CpuTimes extends TestRunner {
  #begun = spent();
  #loaded: number | undefined;

  override onCollectStart(file: RunnerTestFile): void {
    this.#begun = spent();
    this.#loaded = undefined;
    super.onCollectStart(file);
  }

  override async onBeforeRunSuite(suite: RunnerTestSuite): Promise<void> {
    this.#loaded ??= spent().own;
    await super.onBeforeRunSuite(suite);
  }

  override onAfterRunFiles(): void {
    super.onAfterRunFiles();
    const { own, children } = spent();
    const loaded = this.#loaded ?? own;
    const line = {
      file: this.workerState.filepath,
      load: loaded - this.#begun.own,
      tests: own - loaded,
      children: children - this.#begun.children,
    };
    appendFileSync(process.env["CPU_TIMES"] as string, `${JSON.stringify(line)}\n`);
  }
}
