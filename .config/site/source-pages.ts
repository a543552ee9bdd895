// Pages of the files of code that other pages link to. They are plain HTML in the style of the site: hundreds of files as pages of
// VitePress would take minutes.

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { sourcePageOf } from "./paths.js";
import { filesIn, write } from "./stage.js";

const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** The text of a file, each line with an anchor. */
function code(text: string): string {
  const lines = text
    .trimEnd()
    .split("\n")
    .map((line, at) => `<a class="line-number" id="L${at + 1}" href="#L${at + 1}">${at + 1}</a>${escape(line)}`);
  return `<pre tabindex="0"><code>${lines.join("\n")}</code></pre>`;
}

function folder(root: string, path: string): string {
  const links = filesIn(root, path).map(
    (file) => `<li><a href="/${sourcePageOf(file)}">${escape(file.slice(path.length + 1))}</a></li>`,
  );
  return `<ul>${links.join("\n")}</ul>`;
}

/** The page of a file or folder. @param head - what its head has besides the title */
export function sourcePage(root: string, path: string, head: string): string {
  const full = join(root, path);
  const body = statSync(full).isDirectory() ? folder(root, path) : code(readFileSync(full, "utf8"));
  return `<!DOCTYPE html>
<html lang="en" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${escape(path)} | signalbox</title>
${head}
</head>
<body class="source-page">
<header><a href="/">signalbox</a></header>
<main><h1>${escape(path)}</h1>
${body}</main>
</body>
</html>
`;
}

/** Writes a page for each file and folder. @param outDir - where the site has been built */
export function sourcePages(root: string, paths: readonly string[], outDir: string): void {
  const style = readdirSync(join(outDir, "assets")).find((name) => /^style\..*\.css$/.test(name));
  // The script that sets the colours before the page is shown; the site's own pages have it inline, too.
  const appearance = /<script id="check-dark-mode">.*?<\/script>/s.exec(
    readFileSync(join(outDir, "404.html"), "utf8"),
  )?.[0];
  const head = `<link rel="stylesheet" href="/assets/${style}">\n${appearance ?? ""}`;
  for (const path of paths) write(join(outDir, sourcePageOf(path)), sourcePage(root, path, head));
}
