// Every relative link of the documentation leads to a file, and every anchor to a heading.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import type { Nodes, Root } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

const pages = [
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
  ...["docs", "spec/otp"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${folder}/${name}`),
  ),
];

const parsed = new Map<string, Root>();

/** The tree of a page. Long pages are parsed once, however many links lead to them. */
function treeOf(markdown: string): Root {
  const tree = parsed.get(markdown) ?? fromMarkdown(markdown);
  parsed.set(markdown, tree);
  return tree;
}

/** All nodes of a page, parents before children. */
function* nodesOf(node: Nodes): Generator<Nodes> {
  yield node;
  if ("children" in node) for (const child of node.children) yield* nodesOf(child);
}

const textOf = (node: Nodes): string =>
  "value" in node ? node.value : "children" in node ? node.children.map(textOf).join("") : "";

/** The anchors that GitHub gives to the headings of a page. */
function anchorsOf(markdown: string): Set<string> {
  const anchors = new Set<string>();
  for (const node of nodesOf(treeOf(markdown)))
    if (node.type === "heading")
      anchors.add(
        textOf(node)
          .toLowerCase()
          .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
          .replaceAll(/\s/g, "-"),
      );
  return anchors;
}

const anchorsByText = new Map<string, Set<string>>();

/** The same, kept: many links lead to one page. */
function anchorsIn(markdown: string): Set<string> {
  const anchors = anchorsByText.get(markdown) ?? anchorsOf(markdown);
  anchorsByText.set(markdown, anchors);
  return anchors;
}

const read = (target: string): string =>
  target.endsWith(".md") ? readFileSync(join(root, target), "utf8") : "";

/** Links of a page that lead nowhere. */
function deadLinks(page: string, markdown: string): string[] {
  const dead: string[] = [];
  for (const node of nodesOf(treeOf(markdown))) {
    if (node.type !== "link" && node.type !== "image") continue;
    if (/^[a-z]+:/.test(node.url)) continue;
    const [path = "", anchor] = node.url.split("#");
    const target = path === "" ? page : relative(root, join(root, dirname(page), path));
    const known = path === "" || existsSync(join(root, target));
    const anchors =
      anchor === undefined ? new Set() : anchorsIn(path === "" ? markdown : known ? read(target) : "");
    if (!known || (anchor !== undefined && !anchors.has(anchor))) dead.push(`${page}: ${node.url}`);
  }
  return dead;
}

describe("the documentation", () => {
  it.each(pages)("%s has no dead link", (page) => {
    expect(deadLinks(page, readFileSync(join(root, page), "utf8"))).toEqual([]);
  });

  it("is searched for links to files and to headings", () => {
    const markdown =
      "# One two\n[a](#one-two) [b](#three) [c](docs/guide.md) [d](docs/none.md) [e](docs/guide.md#calls) [f](docs/guide.md#x)";
    expect(deadLinks("README.md", markdown)).toEqual([
      "README.md: #three",
      "README.md: docs/none.md",
      "README.md: docs/guide.md#x",
    ]);
  });
});
