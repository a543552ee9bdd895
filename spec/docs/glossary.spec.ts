// The glossary has one line for each word, in alphabetical order.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const page = readFileSync(new URL("../../docs/glossary.md", import.meta.url), "utf8");
const words = [...page.matchAll(/^- \*\*(.+?)\*\*/gm)].map(([, word]) =>
  (word as string).toLowerCase().replaceAll(/[^a-z0-9 ]/g, ""),
);

it("the glossary has each word once, in alphabetical order", () => {
  expect(words.length).toBeGreaterThan(50);
  expect(words).toEqual([...new Set(words)].sort());
});

it("the glossary has nothing but its head and its words", () => {
  const rest = page.split("\n").filter((line) => line !== "" && !line.startsWith("- **"));
  expect(rest).toHaveLength(2);
});
