// What a run of the tests leaves behind for the closing line of .ci/run: how many tests passed, and which failed, why.

import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

interface Failure {
  readonly test: string;
  readonly why: string;
}

export interface Tally {
  readonly passed: number;
  readonly failures: readonly Failure[];
}

const text = (errors: readonly Partial<SerializedError>[]): string =>
  errors
    .flatMap((error) => (error.stack ?? error.message ?? String(error)).split("\n"))
    .filter((line) => !line.includes("/node_modules/"))
    .join("\n");

/** A file that cannot be loaded, and an error that belongs to no test, are failures as well. */
export class TallyReporter implements Reporter {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const failures: Failure[] = unhandled.map((error) => ({ test: "an error outside of the tests", why: text([error]) }));
    let passed = 0;
    for (const module of modules) {
      const name = relative(process.cwd(), module.moduleId);
      const own = module.errors();
      if (own.length > 0) failures.push({ test: name, why: text(own) });
      for (const suite of module.children.allSuites()) {
        const errors = suite.errors();
        if (errors.length > 0) failures.push({ test: `${name}: ${suite.fullName}`, why: text(errors) });
      }
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result();
        if (state === "passed") passed++;
        if (state === "failed") failures.push({ test: `${name}: ${test.fullName}`, why: text(errors) });
      }
    }
    writeFileSync(this.#file, JSON.stringify({ passed, failures } satisfies Tally));
  }
}
