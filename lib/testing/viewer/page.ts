// The viewer of a trace: one HTML page that needs nothing else, and no network.

import type { Trace } from "../report/trace.js";
import { pictureOf } from "./picture.js";
import { SCRIPT } from "./script.js";
import { STYLE } from "./style.js";

/**
 * Writes a schedule as an HTML page for a browser: a lane for each process, messages as arrows, and the state after each step,
 * forwards and backwards. The page is self-contained.
 *
 * @example
 * const page = renderViewer({ steps: [], failure: "the shop never opened" });
 * console.log(page.startsWith("<!doctype html>")); // true
 */
export function renderViewer(trace: Trace): string {
  const [title = ""] = (trace.failure ?? "nothing failed").split("\n");
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${markup(title)}</title>
<style>${STYLE}</style>
<header>
  <h1>${markup(title)}</h1>
  <nav aria-label="Steps">
    <button type="button" id="first" title="First step (Home)" aria-label="First step">|◀</button>
    <button type="button" id="back" title="One step back (←)" aria-label="One step back">◀</button>
    <input type="range" id="slider" min="1" max="1" aria-label="Step">
    <button type="button" id="on" title="One step on (→)" aria-label="One step on">▶</button>
    <button type="button" id="end" title="Last step (End)" aria-label="Last step">▶|</button>
  </nav>
  <nav aria-label="Search">
    <input type="search" id="search" placeholder="search (/), Enter for the next" aria-label="Search in the steps">
    <output id="found"></output>
  </nav>
</header>
<main id="diagram" tabindex="0" aria-label="Steps by process">
  <div id="lanes"></div>
  <div id="canvas"></div>
  <svg width="0" height="0" aria-hidden="true"><defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"
    markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="context-stroke"/></marker></defs></svg>
</main>
<aside tabindex="0" aria-label="The present step">
  <div aria-live="polite"><h2 id="heading"></h2><div id="about"></div></div>
  <div id="state"></div>
</aside>
<script type="application/json" id="trace">${json(pictureOf(trace))}</script>
<script>${SCRIPT}</script>
</html>
`;
}

/** JSON in which nothing ends a script element, or begins a comment. */
function json(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>&\u2028\u2029]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** A text as HTML. */
function markup(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
