// Programs in this process that die at an answer: their store forgets what is not committed.

import { System } from "signalbox";
import { expect, onTestFinished } from "vitest";
import type { AnswerDrill } from "./answer-drills.js";
import type { LossySource } from "./lossy-store.js";

/** Lets one program die at its answer, and another one look. */
export async function drilled(drill: AnswerDrill, store: LossySource): Promise<void> {
  const first = program();
  await drill.ask(first, store);
  store.kill();
  await first.stop({ timeoutMs: 0 });
  await store.bury();
  expect(await drill.look(program(), store)).toEqual(drill.expected);
}

function program(): System {
  const system = new System({ report: false });
  onTestFinished(() => system.stop({ timeoutMs: 0 }));
  return system;
}
