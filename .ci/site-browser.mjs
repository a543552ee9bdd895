// The site in a browser: its pages at phone and desktop width, light and dark, its search, and what axe finds.

import { existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { chromium, withPage } from "./chromium.mjs";
import { until, violations, WIDE } from "./page-looks.mjs";
import { build } from "./site.mjs";
import { root } from "./support.mjs";

const SITE = join(root, ".build/site");
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".json": "application/json",
  ".txt": "text/plain; charset=utf-8",
  ".md": "text/markdown; charset=utf-8",
};
/** One page of each kind. */
const PAGES = [
  ["the front page", "/"],
  ["a page of the course", "/course/04-supervisors.html"],
  ["a chapter of the guide", "/guide/servers.html"],
  ["a recipe", "/cookbook/batching.html"],
  ["a page for those who come from elsewhere", "/coming-from/bullmq.html"],
  ["the errors", "/errors.html"],
  ["the guarantees", "/semantics.html"],
  ["the charts", "/charts.html"],
  ["the page with a replay", "/testing.html"],
  ["a replay", "/replay/sells-three.html"],
  ["a file of code", "/source/lib/index.ts.html"],
];
/** The errors and the guarantees have thousands of elements, alike in each colour: axe looks at them once. */
const LONG = new Set(["/errors.html", "/semantics.html"]);
const SIZES = [
  { name: "phone", width: 390, height: 844, phone: true },
  { name: "desktop", width: 1280, height: 800, phone: false },
];
const SCHEMES = ["light", "dark"];

/** Serves the built site on loopback while `work` runs. */
async function served(work) {
  const server = createServer((request, response) => {
    const path = normalize(decodeURIComponent(new URL(request.url, "http://site").pathname));
    const file = [join(SITE, path), join(SITE, path, "index.html"), join(SITE, `${path}.html`)].find(
      (one) => existsSync(one) && statSync(one).isFile(),
    );
    // Browsers ask for it where a page names no icon.
    if (path === "/favicon.ico") return response.writeHead(204).end();
    response.writeHead(file === undefined ? 404 : 200, {
      "content-type": TYPES[extname(file ?? ".html")] ?? "",
    });
    response.end(file === undefined ? "not found" : readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await work(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

async function looksGood(page, address, path, problems) {
  for (const size of SIZES) {
    await page.size(size);
    await page.open(address + path);
    for (const scheme of SCHEMES) {
      await page.prefer(scheme);
      await page.settled();
      const once = LONG.has(path) && (scheme === "dark") !== size.phone;
      const found = [...(await page.value(WIDE)), ...(once ? [] : await violations(page))];
      problems.push(...found.map((text) => `${path}, ${size.name}, ${scheme}: ${text}`));
    }
  }
}

/** Types a word into the search, and sees that a page about it is found. */
async function search(page, address, size) {
  await page.size(size);
  await page.open(`${address}/guide/servers.html`);
  // The button does nothing until the script of the page has begun.
  await until(
    page,
    "the search box",
    "document.querySelector('.VPLocalSearchBox input') !== null || (document.querySelector('.DocSearch-Button').click(), false)",
  );
  await page.type("supervisor");
  await until(page, "the results", "document.querySelectorAll('.VPLocalSearchBox .result').length > 0");
  const first = await page.value("document.querySelector('.VPLocalSearchBox .result').innerText");
  if (!/supervis/i.test(first)) throw new Error(`the search for "supervisor" finds ${JSON.stringify(first)}`);
}

export const checks = {
  "the pages of the site fit phones and desktops, light and dark, and axe finds nothing": async () => {
    await chromium();
    await build();

    await served(async (address) => {
      await withPage("about:blank", async (page) => {
        const problems = [];
        await page.watch();
        for (const [, path] of PAGES) await looksGood(page, address, path, problems);
        for (const size of SIZES)
          await search(page, address, size).catch((error) => problems.push(`${size.name}: ${error.message}`));
        problems.push(...page.problems);
        if (problems.length > 0) throw new Error([...new Set(problems)].join("\n"));
      });
    });
  },
};
