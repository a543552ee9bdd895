// The pages are spelled as British English is. Words of the field and names are in .config/words.txt.

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { pagesOf } from "./pages.js";
import { speller, wordsOf } from "./spelling.js";

const own = readFileSync(new URL("../../.config/words.txt", import.meta.url), "utf8")
  .trim()
  .split("\n");
const unknownOf = speller(own);

describe("the spelling of the pages", () => {
  it("is right: mend the word, put code into backticks, or add a word of the field to .config/words.txt", () => {
    const found = pagesOf("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs").flatMap(
      ({ path, markdown }) => unknownOf(markdown).map(({ word, line }) => `${path}:${line}: ${word}`),
    );
    expect(found).toEqual([]);
  });

  it("is looked at outside of code, with the line of each unknown word", () => {
    const page =
      "# A hed\n\nIt is `teh` [Colour](teh.md) <https://teh.org>.\n\n```ts\nteh\n```\n\n    teh\n\n- item\n\n    Recieved, and\n  `teh\n  teh` color.\n\n| a | tabel |\n";
    expect(unknownOf(page)).toEqual([
      { word: "hed", line: 1 },
      { word: "Recieved", line: 13 },
      { word: "color", line: 15 },
      { word: "tabel", line: 17 },
    ]);
  });

  it("is that of words: not of numbers, files, acronyms and names of code", () => {
    expect(
      wordsOf(
        "The 3rd `x` of guide.md: ERR_FLOW, the SDKs' ids, defineServer, (re-routed) Node's start/end.",
      ),
    ).toEqual(["The", "the", "ids", "routed", "Node", "start", "end"]);
    expect(unknownOf("A codec's Codec beside CODEC.")).toEqual([]);
  });
});

describe("the list of words", () => {
  it("is sorted, and has no word twice", () => {
    const sorted = [...new Set(own)].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
    expect(own).toEqual(sorted);
  });

  it("has no word that the dictionary has", () => {
    const unknown = new Set(speller([])(own.join("\n\n")).map(({ word }) => word));
    expect(own.filter((word) => !unknown.has(word))).toEqual([]);
  });
});
