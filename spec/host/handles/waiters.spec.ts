import { expect, it } from "vitest";
import { Waiters } from "../../../lib/host/handles/waiters.js";

it("keeps every open wait, and few of those that were given up", () => {
  const waiters = new Waiters<{ open: boolean }>();
  const open = Array.from({ length: 100 }, () => ({ open: true }));
  for (const [i, one] of open.entries()) waiters.add(`flow ${i % 10}`, one);
  for (let i = 0; i < 10_000; i++) waiters.add(`gone ${i % 500}`, { open: false });
  expect(waiters.size).toBeLessThanOrEqual(2 * open.length);
  const found = Array.from({ length: 10 }, (_, i) => waiters.take(`flow ${i}`)).flat();
  expect(new Set(found)).toEqual(new Set(open));
  expect(waiters.has("flow 0")).toBe(false);
});

it("forgets one wait of several", () => {
  const waiters = new Waiters<{ open: boolean }>();
  const [one, other] = [{ open: true }, { open: true }];
  waiters.add("flow", one);
  waiters.add("flow", other);
  waiters.remove("flow", one);
  expect(waiters.take("flow")).toEqual([other]);
  expect(waiters.size).toBe(0);
});
