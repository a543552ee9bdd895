// A program that is killed with SIGKILL at an answer, and what this one finds in its store.

import { System } from "signalbox";
import { afterAll, beforeAll, expect } from "vitest";
import type { AnswerDrill } from "../../support/answer-drills.js";
import { type ChildProgram, childProgram } from "../../support/child-program.js";
import { type AnswerPlace, storeOf } from "./places.js";

/** Lets a program die at its answer, and looks. Its program is bundled once a file. */
export function answersKilled(): (name: string, drill: AnswerDrill, place: AnswerPlace) => Promise<void> {
  let program: ChildProgram;
  beforeAll(async () => {
    program = await childProgram(new URL("child.ts", import.meta.url));
  });
  afterAll(() => program.remove());
  return async (name, { look, expected }, place) => {
    const { signal, stderr } = await program.start(JSON.stringify(place), name).ended;
    expect({ signal, stderr }).toEqual({ signal: "SIGKILL", stderr: "" });
    const system = new System({ report: false });
    try {
      expect(await look(system, storeOf(place))).toEqual(expected);
    } finally {
      await system.stop({ timeoutMs: 0 });
    }
  };
}
