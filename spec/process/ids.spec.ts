import { expect, test } from "vitest";
import { production } from "../../lib/process/production.js";

test("ids of the production Environment are distinct, and URLs and names of files take each as it is", () => {
  const ids = Array.from({ length: 300 }, () => production.id());
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[\w-]{21}$/);
  // Each of 64 characters is drawn: a byte has no remainder that none of them takes.
  expect(new Set(ids.join("")).size).toBe(64);
});
