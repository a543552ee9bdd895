// Notes which files of lib the tests of a spec execute: those with a function that was called after the spec was loaded. Asked for by
// EXECUTED in the environment, which `npm run guarantees` and .ci/run set. Read by .ci/guarantees.mjs.

import { mkdirSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const session = new Session();

beforeAll(() => {
  session.connect();
  session.post("Profiler.enable");
  // Whether a function ran, and not how often: code stays optimised once its functions have been seen.
  session.post("Profiler.startPreciseCoverage", { callCount: false, detailed: false });
});

afterAll(() => {
  const files = new Set<string>();
  session.post("Profiler.takePreciseCoverage", (error, taken) => {
    if (error !== null) throw error;
    for (const { url, functions } of taken.result) {
      const file = url.startsWith("file:") ? relative(root, fileURLToPath(url)) : relative(root, url);
      // The function without a name is the module itself.
      const isRun = functions.some(
        ({ functionName, ranges }) => functionName !== "" && (ranges[0]?.count ?? 0) > 0,
      );
      if (file.startsWith("lib/") && isRun) files.add(file);
    }
  });
  session.disconnect();
  const spec = relative(root, expect.getState().testPath as string);
  const folder = join(root, ".build/executed");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${spec.replaceAll("/", "+")}.json`), JSON.stringify([...files].sort()));
});
