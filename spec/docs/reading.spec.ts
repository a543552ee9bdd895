// The pages that teach are easy to read: short sentences of common words.
//
// How to mend a page: find the sentences that the failure names. Split each where a second thought begins ("…, and", "…; it"), a colon
// with a list behind it into a sentence and a list. Say the rule first, and its reason in the next sentence. Prefer the shorter word.
// Inline code counts as one short word; code blocks, tables and headings do not count.

import { describe, expect, it } from "vitest";
import { pagesOf } from "./pages.js";
import { sentences } from "./prose.js";
import { type Reading, readingOf } from "./reading.js";

/** Years of school, by Flesch and Kincaid; popular newspapers have 8 to 10, and scientific papers 14 and more. */
const MOST_GRADE = 9;
const MOST_WORDS = 40;
/** A page of fewer sentences has no grade: one long word would make it. */
const FEW_SENTENCES = 8;

const pages = pagesOf(
  ...[
    "README.md",
    "CONTRIBUTING.md",
    "docs/overview.md",
    "docs/guide.md",
    "docs/testing.md",
    "docs/glossary.md",
    "docs/faq.md",
  ],
  ...["docs/comparison.md", "docs/guide", "docs/course", "docs/cookbook", "docs/coming-from"],
);

/** What of a page is too hard, with the sentences to mend. */
function tooHard({ sentences, grade, longest, hardest }: Reading): string[] {
  const long = longest
    .filter(({ words }) => words > MOST_WORDS)
    .map(({ line, words, text }) => `line ${line}: ${words} words, of ${MOST_WORDS} at most: ${text}`);
  if (grade <= MOST_GRADE || sentences < FEW_SENTENCES) return long;
  const worst = hardest.slice(0, 5).map(({ line, text }) => `line ${line}: ${text}`);
  return [...long, `grade ${grade.toFixed(1)}, of ${MOST_GRADE} at most; the hardest sentences:`, ...worst];
}

describe("the pages that teach", () => {
  it.each(pages)("$path has short sentences of common words", ({ markdown }) => {
    expect(tooHard(readingOf(markdown))).toEqual([]);
  });
});

describe("the reading level", () => {
  it("is that of Flesch and Kincaid", () => {
    // 0.39 * 6 words / 1 sentence + 11.8 * 6 syllables / 6 words - 15.59.
    expect(readingOf("The cat sat on the mat.").grade).toBeCloseTo(-1.45);
    expect(readingOf("Organisational responsibilities proliferate.").grade).toBeGreaterThan(30);
  });

  it("names the sentences that are too long or too hard", () => {
    const page = `# T\n\nOne. Two\nwords.\n\n- ${"word ".repeat(41)}ends.\n`;
    expect(tooHard(readingOf(page))).toEqual([
      expect.stringMatching(/^line 6: 42 words, of 40 at most: word /),
    ]);
    const hard = "Organisational responsibilities proliferate. ";
    expect(tooHard(readingOf(hard.repeat(7)))).toEqual([]);
    expect(tooHard(readingOf(hard.repeat(8))).slice(0, 2)).toEqual([
      expect.stringContaining("of 9 at most"),
      "line 1: Organisational responsibilities proliferate.",
    ]);
  });

  it("is that of sentences, without code, tables and headings", () => {
    const page =
      "# No one.\n\nFirst `a.b()` of 2.5. `next` is,\ne.g. this; signalbox says so! signalbox ends\n\n| a | b |\n|---|---|\n\n- third\n\n```ts\nno()\n```\n";
    expect(sentences(page)).toEqual([
      { text: "First Code of 2.5.", line: 3 },
      { text: "Code is, e.g. this; signalbox says so!", line: 3 },
      { text: "signalbox ends", line: 3 },
      { text: "third", line: 9 },
    ]);
  });
});
