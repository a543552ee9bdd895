// The parts of the site that need no build: where files go, the navigation, anchors, links, and which diagrams can be drawn.

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { api } from "../../.config/site/api.js";
import { deadLinks } from "../../.config/site/dead-links.js";
import { frontPage } from "../../.config/site/front.js";
import { description, draw, prepared } from "../../.config/site/mermaid.js";
import { unknownSyntax } from "../../.config/site/mermaid-syntax.js";
import { pageOf, pictureLink, siteLink } from "../../.config/site/paths.js";
import { sidebar, titleOf } from "../../.config/site/sidebar.js";
import { slug } from "../../.config/site/slug.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const file = (path: string, title: string) => ({ path, markdown: `# ${title}\n\ntext\n\n# another\n` });

describe("files of the repository", () => {
  it.each([
    ["docs/guide.md", "guide.md"],
    ["docs/guide/README.md", "guide/index.md"],
    ["docs/course/01-let-it-crash.md", "course/01-let-it-crash.md"],
    ["CHANGELOG.md", "changelog.md"],
    ["spec/otp/README.md", "source/spec/otp/README.md"],
  ])("%s is the page %s", (path, page) => {
    expect(pageOf(path)).toBe(page);
  });

  it.each([
    ["docs/guide/tasks.md", "../semantics.md#tasks", "/semantics.md#tasks"],
    ["docs/guide/tasks.md", "README.md", "/guide/index.md"],
    ["docs/errors.md", "../CHANGELOG.md", "/changelog.md"],
    ["README.md", "docs/guide.md#calls", "/guide.md#calls"],
    ["docs/guide.md", "#calls", "#calls"],
    ["docs/guide.md", "https://example.org/a.md#b", "https://example.org/a.md#b"],
    ["docs/guide.md", "mailto:a@example.org", "mailto:a@example.org"],
  ])("in %s the link %s leads to %s", (from, href, link) => {
    expect(siteLink(from, href)).toEqual({ href: link, code: false });
  });

  it("of code and folders have pages that VitePress does not know", () => {
    expect(siteLink("docs/errors.md", "../lib/a.ts#L3")).toEqual({
      href: "/source/lib/a.ts.html#L3",
      code: true,
    });
    expect(siteLink("README.md", "examples/shop/")).toEqual({
      href: "/source/examples/shop.html",
      code: true,
    });
  });
});

describe("pictures", () => {
  it("are found by the path that they have in docs", () => {
    expect(pictureLink("README.md", "docs/images/a.svg")).toBe("/images/a.svg");
    expect(pictureLink("docs/guide/tasks.md", "../images/a.svg")).toBe("/images/a.svg");
    expect(pictureLink("README.md", "https://example.org/a.svg")).toBe("https://example.org/a.svg");
  });
});

describe("anchors", () => {
  it.each([
    ["ERR_CALL_TIMEOUT", "err_call_timeout"],
    ["What is `kill -9`, and why?", "what-is-kill--9-and-why"],
    ["Größe: p99 (ms) — 1/2", "größe-p99-ms--12"],
  ])("of %s is %s, as on GitHub", (text, anchor) => {
    expect(slug(text)).toBe(anchor);
  });
});

describe("the sidebar", () => {
  const files = [
    file("docs/course/10-exactly-once.md", "Exactly once"),
    file("docs/course/02-first-process.md", "Your `first` process"),
    file("docs/course/README.md", "The course"),
    file("docs/guide/tasks.md", "Tasks"),
    file("docs/guide/README.md", "The guide, by chapter"),
    file("docs/guide/pools.md", "Pools"),
    file("docs/guide.md", "The guide"),
    file("docs/errors.md", "Errors"),
    file("docs/new/one.md", "New"),
    file("docs/semantics.md", "Semantics"),
    file("spec/otp/README.md", "Traces"),
  ];
  const titles = Object.fromEntries(
    sidebar(files).map(({ text, items }) => [text, items.map((item) => item.text)]),
  );

  it("has a course by its numbers, and other folders by their titles", () => {
    expect(titles.Course).toEqual(["Overview", "2. Your first process", "10. Exactly once"]);
    expect(titles.Guide).toEqual(["Overview", "The guide", "Pools", "Tasks"]);
    expect(titles.Reference).toEqual(["Semantics", "Errors"]);
  });

  it("shows a page of a folder that it does not know, and no page outside of docs", () => {
    expect(titles.More).toEqual(["New"]);
    expect(sidebar(files).flatMap(({ items }) => items)).toHaveLength(10);
  });

  it("has no empty section, and links to pages", () => {
    expect(Object.keys(titles)).toEqual(["Course", "Guide", "Reference", "More"]);
    expect(sidebar(files)[0]?.items[0]).toEqual({ text: "Overview", link: "/course/index.md" });
    expect(titleOf("text\n\n# A [link](b.md) and `code`\n")).toBe("A link and code");
  });
});

describe("the front page", () => {
  it("has the introduction and the quick start of the README as they are", () => {
    const page = frontPage("# a\n\nfor you\n\n## Quick start\n\nrun it\n\n## Next\n\nno\n", []);
    expect(page).toContain("## Whom it helps\n\nfor you\n\n## Quick start\n\nrun it\n\n## Where to go on");
    expect(() => frontPage("# a\n", [])).toThrow('README.md has no section "Quick start"');
  });
});

describe("dead links of the built site", () => {
  it("are those to a missing file or anchor", () => {
    const index =
      '<h1 id="top">a</h1><a href="/guide/">1</a><a href="guide/#calls">2</a><a href="#top">3</a><a href="https://a.org/x">4</a>' +
      '<a href="/guide/#none">5</a><a href="none.html">6</a><img src="/a.png"><a href="#gone">7</a>';
    const guide = '<h2 id="calls">b</h2><a href="../index.html#top">1</a><a href="./index.html">2</a>';
    const pages = new Map([
      ["index.html", index],
      ["guide/index.html", guide],
    ]);
    expect(deadLinks(pages, new Set(pages.keys()))).toEqual({
      dead: ["index.html: /guide/#none", "index.html: none.html", "index.html: /a.png", "index.html: #gone"],
      count: 9,
    });
  });
});

describe("diagrams", () => {
  const SEQUENCE =
    "sequenceDiagram\n  participant A as Ada\n  A->>B: take 2\n  loop each\n    B--xA: EXIT\n  end\n";
  const STATES =
    'stateDiagram-v2\n  direction LR\n  [*] --> idle\n  idle --> busy : work\n  state "at rest" as idle\n  busy --> [*]';
  const FLOW =
    'flowchart TD\n  A([shop]) --> B[a "b"] & C{free?}\n  C -->|no, wait| B\n  C -- yes --> D[(store)]\n  subgraph all of it\n    D -.-> E\n  end';

  it.each([SEQUENCE, STATES, FLOW.replace('a "b"', '"f(x), y"')])("are drawn: %s", (text) => {
    expect(unknownSyntax(text)).toBeUndefined();
    expect(draw(text, "a.md", 1)).toMatch(
      /^<figure class="diagram".*<svg v-pre role="img" aria-label="Diagram: /,
    );
  });

  it.each([
    ["gantt\n  a", 0],
    ["flowchart LR\n  A-->B", 1],
    ["flowchart LR\n  A --> B\n  A[open --> C", 2],
    ["flowchart LR\n  A[a <br> b] --> B", 1],
    ["flowchart LR\n  A --> B\n  style A fill:red", 2],
    ["flowchart LR\n  subgraph x\n  A --> B", 2],
    ["flowchart LR\n  A --> B\n  end", 2],
    ["sequenceDiagram\n  A=>>B: what", 1],
    ["sequenceDiagram\n  A->>B", 1],
    ["stateDiagram-v2\n  a -> b", 1],
    ["stateDiagram-v2\n  note right of a : text", 1],
  ])("that would lack a part name the line: %j", (text, line) => {
    expect(unknownSyntax(text)?.line).toBe(line);
    expect(() => draw(text, "docs/a.md", 10)).toThrow(`docs/a.md:${11 + line}: `);
  });

  it.each(
    readdirSync(`${root}docs`, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".md")),
  )("of docs/%s can be drawn", (name) => {
    const diagrams = readFileSync(`${root}docs/${name}`, "utf8").matchAll(/^```mermaid\n([\s\S]*?)^```$/gm);
    expect([...diagrams].flatMap(([, text = ""]) => unknownSyntax(text) ?? [])).toEqual([]);
  });

  it("are described by their arrows", () => {
    expect(draw(SEQUENCE, "a.md", 1)).toContain('aria-label="Diagram: Ada to B (take 2); B to Ada (EXIT)"');
    expect(draw(STATES, "a.md", 1)).toContain("start to at rest; at rest to busy (work); busy to end");
    expect(description("<svg></svg>")).toBe("Diagram: ");
  });

  it("take nothing from elsewhere, and share no id with another", () => {
    const [one, other] = [draw(FLOW.replace('a "b"', "b"), "a.md", 1), draw(STATES, "a.md", 1)];
    expect(one).not.toMatch(/https?:(?!\/\/www\.w3\.org\/2000\/svg)|<style/);
    const ids = [...`${one}${other}`.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it("have a label at the first mention of a node, and small shapes for long questions", () => {
    expect(
      prepared(
        "flowchart LR\n  A{is it the end?} -->|B| B & C\n  subgraph B\n    B[stock: 3] -- C --> C([done])\n  end\n  A --> D{x}",
      ),
    ).toBe(
      "flowchart LR\n  A{{is it the end?}} -->|B| B[stock: 3] & C([done])\n  subgraph B\n    B[stock: 3] -- C --> C([done])\n  end\n  A --> D{x}",
    );
  });
});

describe("the API reference", () => {
  const { pages, section, sources } = api(root, ["index", "otel/index"]);

  it("has a page for each kind of exports of an entry, and an overview", () => {
    expect(section.items.slice(0, 3)).toEqual([
      { text: "Overview", link: "/api/index.md" },
      { text: "signalbox: functions", link: "/api/signalbox/functions.md" },
      { text: "signalbox: classes", link: "/api/signalbox/classes.md" },
    ]);
    expect(pages.get("api/index.md")).toContain("[`supervisor`](/api/signalbox/functions.md#supervisor)");
  });

  it("shows a class with its text, its example, what it inherits, and where it is declared", () => {
    const [, system = ""] =
      /^## System$([\s\S]*?)^## /m.exec(pages.get("api/signalbox/classes.md") ?? "") ?? [];
    expect(system).toContain("class System extends ProcessSystem {");
    expect(system).toContain("It has all of `ProcessSystem`:");
    expect(system).toContain('await using system = new System({ name: "shop" });');
    expect(system).toContain("Declared in [lib/system.ts](/source/lib/system.ts.html).");
    expect(system).not.toMatch(/#private|^ *private /m);
    expect(sources).toContain("lib/system.ts");
  });

  it("leads from an error to its code, and follows names through modules", () => {
    expect(pages.get("api/signalbox/errors.md")).toContain("[ERR_OPTION](/errors.md#err_option)");
    expect(pages.get("api/otel/functions.md")).toContain("## instrument");
  });
});
