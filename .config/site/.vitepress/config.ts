// The site: `npm run docs` builds it from docs into .build/site, `npm run docs:dev` serves it while one writes.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { ENTRIES } from "../../entries.mjs";
import { api } from "../api.js";
import { deadLinks } from "../dead-links.js";
import { frontPage } from "../front.js";
import { absolute, llmsFullTxt, llmsTxt } from "../llms.js";
import { markdown, searchable } from "../markdown.js";
import { pageOf } from "../paths.js";
import { serve } from "../serve.js";
import { sidebar } from "../sidebar.js";
import { sourcePages } from "../source-pages.js";
import { stage, write } from "../stage.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const pages = `${root}.build/site-pages`;
const site = stage(root, pages);
const reference = api(root, ENTRIES);
for (const [page, text] of reference.pages) write(`${pages}/${page}`, text);
const sections = sidebar(site.files, reference.section);
write(`${pages}/index.md`, frontPage(readFileSync(`${root}README.md`, "utf8"), sections));
const first = (text: string): string => sections.find((section) => section.text === text)?.items[0]?.link ?? "/readme.md";

/** A signal that shows green. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect x="3" width="10" height="16" rx="5" fill="#26303a"/><circle cx="8" cy="4.7" r="2.6" fill="#6b2a2a"/><circle cx="8" cy="11.3" r="2.6" fill="#3fd07a"/></svg>';

/** Adds the pages of code and the texts for language models, and fails when a link of the site leads nowhere. */
function finish(outDir: string): void {
  sourcePages(root, [...new Set([...site.sources, ...reference.sources])], outDir);
  write(join(outDir, "llms.txt"), llmsTxt(site.files, sections));
  write(join(outDir, "llms-full.txt"), llmsFullTxt(site.files, sections));
  for (const file of site.files) write(join(outDir, pageOf(file.path)), absolute(file));
  const files = readdirSync(outDir, { recursive: true, encoding: "utf8" });
  const html = files.filter((name) => name.endsWith(".html"));
  const texts = new Map(html.map((name) => [name, readFileSync(join(outDir, name), "utf8")]));
  const { dead, count } = deadLinks(texts, new Set(files));
  if (dead.length > 0) throw new Error(`${dead.length} links lead nowhere:\n${dead.join("\n")}`);
  console.log(`${count} links on ${html.length} pages lead somewhere`);
}

export default defineConfig({
  title: "signalbox",
  description: "Fault-tolerant services on Node",
  lang: "en",
  head: [["link", { rel: "icon", href: `data:image/svg+xml,${encodeURIComponent(ICON)}` }]],
  srcDir: pages,
  outDir: `${root}.build/site`,
  cacheDir: `${root}.build/site-cache`,
  markdown: markdown(new Map([...site.shown, ["index.md", "README.md"]])),
  vite: { build: { chunkSizeWarningLimit: 4_000 }, plugins: [serve(root, pages)] },
  buildEnd: ({ outDir }) => finish(outDir),
  themeConfig: {
    search: { provider: "local", options: { _render: searchable } },
    outline: [2, 3],
    nav: ["Course", "Guide", "Cookbook", "Reference", "API"].flatMap((text) =>
      sections.some((section) => section.text === text) ? [{ text, link: first(text) }] : [],
    ),
    // A section that can be folded is a link, too: a button within a button cannot be reached by a keyboard.
    sidebar: sections.map((section) =>
      section.collapsed === undefined ? section : { ...section, link: section.items[0]?.link },
    ),
  },
});
