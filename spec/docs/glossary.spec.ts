// The glossary has one line for each word, in alphabetical order: first the words of users, then those of the code.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const page = readFileSync(new URL("../../docs/glossary.md", import.meta.url), "utf8");
const sections = page
  .split(/^## /m)
  .slice(1)
  .map((section) =>
    [...section.matchAll(/^- \*\*(.+?)\*\*/gm)].map(([, word]) =>
      (word as string).toLowerCase().replaceAll(/[^a-z0-9 ]/g, ""),
    ),
  );

it("the glossary has each word once, in alphabetical order, and more words of users than of the code", () => {
  const [users = [], code = [], ...rest] = sections;
  expect(rest).toEqual([]);
  expect(code.length).toBeGreaterThan(10);
  expect(users.length).toBeGreaterThan(code.length);
  for (const words of [users, code]) expect(words).toEqual([...words].sort());
  expect(new Set([...users, ...code]).size).toBe(users.length + code.length);
});

it("the glossary has nothing but its head, its words and the heads of its two parts", () => {
  const rest = page.split("\n").filter((line) => line !== "" && !line.startsWith("- **"));
  expect(rest).toHaveLength(5);
});
