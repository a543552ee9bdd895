// How a page looks to people: what axe finds on it, whether it fits its window, and a wait for what is to come.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./support.mjs";

const AXE = readFileSync(join(root, "node_modules/axe-core/axe.min.js"), "utf8");

/** What axe finds on the page: the rule, and where. */
export async function violations(page) {
  if (!(await page.value("'axe' in window"))) await page.value(`${AXE};0`);
  // Frames are pages of their own.
  return page.value(`axe.run(document, { iframes: false, resultTypes: ["violations"] }).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ": " + nodes.slice(0, 3).map(({ target, any }) =>
      target.join(" ") + (any[0] === undefined ? "" : " (" + any[0].message + ")")).join("; ") + (nodes.length > 3 ? " and " + (nodes.length - 3) + " more" : "")))`);
}

/** Elements that make the page wider than its window. */
export const WIDE = `(() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const wide = [...document.body.querySelectorAll("*")].filter((e) => e.getBoundingClientRect().right > width + 1);
  return ["the page is " + document.documentElement.scrollWidth + " wide: " + wide.slice(0, 5).map((e) => e.tagName + "." + e.className).join(", ")];
})()`;

/** Waits for a condition in the page, at most ten seconds. */
export async function until(page, what, condition) {
  for (let tries = 0; tries < 100; tries++) {
    if (await page.value(condition)) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`${what}: it did not come`);
}
