// How Markdown becomes a page: as GitHub shows it, with links within the site, files as captions of code, and drawn diagrams.

import type { MarkdownOptions, MarkdownRenderer } from "vitepress";
import { draw } from "./mermaid.js";
import { pictureLink, siteLink, sourcePageOf } from "./paths.js";
import { slug } from "./slug.js";

interface Env {
  readonly relativePath?: string;
  /** Set while the search index is made: it holds no code and no diagrams. */
  readonly search?: boolean;
}

/** The text of a page for the search index. */
export const searchable = (source: string, env: object, md: MarkdownRenderer): string =>
  md.render(source, { ...env, search: true });

/** @param shown - pages of the site, and the file of the repository that each one shows */
export function markdown(shown: ReadonlyMap<string, string>): MarkdownOptions {
  return {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    languages: ["ts", "js", "json", "sh", "yaml", "docker", "python", "elixir", "erlang", "java", "sql"],
    languageAlias: { dockerfile: "docker", mts: "ts", tsx: "ts" },
    // GitHub knows neither attributes nor shortcodes of themes, and pages hold types such as `Pid<T>`.
    html: false,
    attrs: { disable: true },
    anchor: { slugify: slug },
    config: (md) => {
      md.core.ruler.disable("emoji");
      links(md, shown);
      mustaches(md);
      fences(md, shown);
      emptyHeads(md);
      replays(md);
    },
  };
}

/** Links between files of the repository become links between pages; pictures are those of docs. */
function links(md: MarkdownRenderer, shown: ReadonlyMap<string, string>): void {
  md.core.ruler.push("signalbox_links", ({ tokens, env }) => {
    const from = shown.get((env as Env).relativePath ?? "");
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      if (token.type === "image" && from !== undefined) token.attrSet("src", pictureLink(from, token.attrGet("src") ?? ""));
      const href = token.type === "link_open" ? token.attrGet("href") : null;
      if (href === null) continue;
      // Pages that the site makes itself have links of the site.
      const link = from === undefined ? { href, code: href.startsWith("/source/") } : siteLink(from, href);
      token.attrSet("href", link.href);
      if (link.code) token.attrSet("target", "_self");
    }
  });
}

/** Two braces in a text or in code are two braces, and no expression of a template. */
function mustaches(md: MarkdownRenderer): void {
  for (const name of ["text", "code_inline"] as const) {
    const rule = md.renderer.rules[name];
    md.renderer.rules[name] = (tokens, at, options, env, self) =>
      (rule?.(tokens, at, options, env, self) ?? "").replaceAll("{{", "&#123;&#123;");
  }
}

/** The cell at the head of a table that has no text is no head. */
function emptyHeads(md: MarkdownRenderer): void {
  md.core.ruler.push("signalbox_empty_heads", ({ tokens }) => {
    for (const [at, token] of tokens.entries()) {
      const end = tokens[at + 2];
      if (token.type !== "th_open" || tokens[at + 1]?.content !== "" || end === undefined) continue;
      token.tag = "td";
      end.tag = "td";
    }
  });
}

/** A replay that is linked on a line of its own can be stepped through on the page, too. */
function replays(md: MarkdownRenderer): void {
  const close = md.renderer.rules.paragraph_close;
  md.renderer.rules.paragraph_close = (tokens, at, options, env, self) => {
    const closed = close?.(tokens, at, options, env, self) ?? self.renderToken(tokens, at, options);
    const [link, text, ...rest] = tokens[at - 1]?.children ?? [];
    const href = link?.attrGet("href") ?? "";
    if (rest.length !== 1 || (env as Env).search || !/^\/replay\/[\w-]+\.html$/.test(href)) return closed;
    const title = md.utils.escapeHtml(text?.content ?? "");
    return `${closed}<iframe class="replay" src="${href}" title="${title}" loading="lazy"></iframe>\n`;
  };
}

/** Diagrams, and code whose first line tells where it is from. */
function fences(md: MarkdownRenderer, shown: ReadonlyMap<string, string>): void {
  const fence = md.renderer.rules.fence;
  // Indented code looks and scrolls like fenced code.
  md.renderer.rules.code_block = (tokens, at, options, env, self) => {
    const token = tokens[at];
    if (token === undefined || fence === undefined || (env as Env).search) return "";
    token.info = "text";
    return fence(tokens, at, options, env, self);
  };
  md.renderer.rules.fence = (tokens, at, options, env, self) => {
    const token = tokens[at];
    if (token === undefined || fence === undefined || (env as Env).search) return "";
    const [language = "", ...rest] = token.info.trim().split(/\s+/);
    const page = (env as Env).relativePath ?? "";
    const line = (token.map?.[0] ?? 0) + 1;
    if (language === "mermaid") return draw(token.content, shown.get(page) ?? page, line);
    token.info = language;
    const code = fence(tokens, at, options, env, self);
    const file = rest.map((word) => /^file=(.+)$/.exec(word)?.[1]).find((word) => word !== undefined);
    if (file === undefined) return code;
    const [path = "", region] = file.split("#");
    const of = region === undefined ? "" : ` (part of it: ${region})`;
    const caption = `<a href="/${sourcePageOf(path)}" target="_self">${path}</a>${of}`;
    return `<figure class="from-file"><figcaption>${caption}</figcaption>${code}</figure>\n`;
  };
}
