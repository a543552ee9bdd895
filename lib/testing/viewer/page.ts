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
<body>
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
