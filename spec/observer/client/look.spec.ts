// What of an answer is to be seen, and how counts that end somewhere are written.

import { expect, test } from "vitest";
import { numberText } from "../../../lib/observer/client/model/format.js";
import { type Answered, phaseOf } from "../../../lib/observer/client/model/look.js";

const error = { message: "no host here has the store" };

const ANSWERS: readonly (readonly [Answered<unknown>, ReturnType<typeof phaseOf>])[] = [
  [{}, "looking"],
  [{ error }, "problem"],
  [{ value: [] }, "value"],
  [{ value: null }, "value"],
  [{ value: [1], error }, "value"],
];

test.each(ANSWERS)("of the answer %j, %s is to be seen [N1630]", (answer, phase) => {
  expect(phaseOf(answer)).toBe(phase);
});

test("a count that was counted no further says that there may be more [N1631]", () => {
  const at = (value: number): string => numberText(value, "count", 10_000);
  expect([9_999, 10_000, 10_001].map(at)).toEqual(["9,999", "10,000+", "10,000+"]);
  expect(numberText(10_000)).toBe("10,000");
});
