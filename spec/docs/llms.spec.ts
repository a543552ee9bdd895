// The texts for language models have each page once, in the order of the navigation.

import { describe, expect, it } from "vitest";
import { absolute, leadOf, llmsFullTxt, llmsTxt } from "../../.config/site/llms.js";
import { sidebar } from "../../.config/site/sidebar.js";
import { pagesOf } from "./pages.js";

const files = [
  { path: "README.md", markdown: "# tea\n\nA *shop* for\n[tea](docs/guide.md). It is small.\n\n## More\n" },
  {
    path: "docs/guide.md",
    markdown: "# Guide\n\n![p](x.svg)\n\nBegin here.\n\nSee [it](guide/a.md#b), [code](../lib/x.ts).\n",
  },
  { path: "docs/guide/a.md", markdown: "# A `b`\n\nAbout a. Twice.\n" },
  { path: "docs/errors.md", markdown: "# Errors\n\nAll of them.\n" },
  { path: "docs/decisions/0001-x.md", markdown: "# 1 X\n\n**Context.** Why.\n" },
];

describe("llms.txt", () => {
  it("has a title, a summary, and the pages of each section with their first sentences", () => {
    expect(llmsTxt(files, sidebar(files))).toBe(`# tea

> A *shop* for tea. It is small.

The text of the course, the guide, the cookbook and the comparisons is in one file: [llms-full.txt](/llms-full.txt).

## Guide

- [Guide](/guide.md): Begin here.
- [A b](/guide/a.md): About a. Twice.

## Reference

- [Errors](/errors.md): All of them.

## Optional

- [1 X](/decisions/0001-x.md): **Context.** Why.
- [tea](/readme.md): A *shop* for tea. It is small.
`);
  });

  it("names all pages of the documentation, and none without a sentence", () => {
    const pages = pagesOf("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs");
    const lines = llmsTxt(pages, sidebar(pages))
      .split("\n")
      .filter((line) => line.startsWith("- ["));
    expect(lines.length).toBeGreaterThanOrEqual(pages.length);
    expect(lines.filter((line) => !/^- \[[^\]]+\]\(\/\S+\.md\): \S/.test(line))).toEqual([]);
  });
});

describe("llms-full.txt", () => {
  it("has the text of what teaches, and links to what is looked up", () => {
    const text = llmsFullTxt(files, sidebar(files));
    expect(text.indexOf("# Guide")).toBeLessThan(text.indexOf("# A `b`"));
    expect(text).toContain("- [Errors](/errors.md)");
    expect(text).not.toContain("# Errors");
    expect(text).not.toContain("# 1 X");
  });

  it("has links that hold at the root", () => {
    expect(absolute(files[1] as (typeof files)[number])).toContain(
      "[it](/guide/a.md#b), [code](/source/lib/x.ts.html)",
    );
  });
});

describe("the first sentences of a page", () => {
  it("are those of its first paragraph, and no more than fit on a line", () => {
    expect(leadOf("# T\n\n```ts\nno();\n```\n\n| a |\n|---|\n\n- no\n\nOne\ntwo. Three: four.\n")).toBe(
      "One two. Three: four.",
    );
    const long = `One. ${"word ".repeat(50)}end.`;
    expect(leadOf(long)).toBe("One.");
    expect(leadOf("# T\n")).toBe("");
  });
});
