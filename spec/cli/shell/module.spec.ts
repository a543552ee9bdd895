// Modules that a command names: how long it waits for one.

import { expect, test } from "vitest";
import { Misuse } from "../../../lib/cli/shell/arguments.js";
import { loadModule } from "../../../lib/cli/shell/module.js";

/** A clock of one timer. */
function timer() {
  const set: { ms?: number; fn?: () => void; cancelled: boolean } = { cancelled: false };
  const later = (ms: number, fn: () => void): (() => void) => {
    Object.assign(set, { ms, fn });
    return () => {
      set.cancelled = true;
    };
  };
  return { set, later };
}

test("a module that never loads is given up after a minute, and the text says why [N1504]", async () => {
  const { set, later } = timer();
  const loading = loadModule("waits.js", undefined, () => new Promise(() => undefined), later);
  expect(set.ms).toBe(60_000);
  set.fn?.();
  await expect(loading).rejects.toThrow(Misuse);
  await expect(loading).rejects.toThrow(
    "cannot load waits.js: it did not load within 60000 ms; await nothing at its top level that may take as long",
  );
});

test("the timer of a module that loads, or fails to, is cancelled", async () => {
  const good = timer();
  expect(await loadModule("good.js", undefined, async () => ({ a: 1 }), good.later)).toEqual({ a: 1 });
  expect(good.set.cancelled).toBe(true);
  const bad = timer();
  const failing = loadModule(
    "bad.js",
    undefined,
    () => Promise.reject(new Error("no such thing")),
    bad.later,
  );
  await expect(failing).rejects.toThrow("cannot load bad.js: no such thing");
  expect(bad.set.cancelled).toBe(true);
});
