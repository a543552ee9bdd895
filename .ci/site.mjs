// The site of the documentation: it is built without a network, it is whole, and it takes nothing from elsewhere.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { once, root, run } from "./support.mjs";

const site = join(root, ".build/site");

/** A program without a network, where the system can do that. */
async function offline(command, ...args) {
  const alone = ["--map-root-user", "--net"];
  try {
    await run("unshare", [...alone, "true"]);
  } catch {
    return run(command, args);
  }
  return run("unshare", [...alone, command, ...args]);
}

/** Builds the site; what it has printed. */
export const build = once(() => offline("npm", "run", "-s", "docs"));

/** Text of a file of the built site. */
async function page(path) {
  await build();
  return readFileSync(join(site, path), "utf8");
}

export const checks = {
  "the site has the texts for language models, and the Markdown that they link to": async () => {
    const links = [...(await page("llms.txt")).matchAll(/\]\((\/[^)]+)\)/g)].map(([, link]) => link);
    if (links.length < 100 || !links.includes("/llms-full.txt"))
      throw new Error(`llms.txt has ${links.length} links`);
    for (const link of links) await page(link);
    if ((await page("llms-full.txt")).length < 200_000) throw new Error("llms-full.txt is not full");
  },
  "the site builds offline, and each of its links leads to a page and an anchor": async () => {
    const built = await build();
    const [, links, pages] = /^(\d+) links on (\d+) pages lead somewhere$/m.exec(built) ?? [];
    if (!(links > 10_000 && pages > 300))
      throw new Error(`the links of the site were not looked at: ${built}`);
  },
  "the front page of the site has its title, and the quick start": async () => {
    const text = await page("index.html");
    for (const part of ["<title>Fault-tolerant services on Node | signalbox</title>", 'id="quick-start"'])
      if (!text.includes(part)) throw new Error(`the front page has no ${part}`);
  },
  "no page, style or script of the site loads from another server": async () => {
    await build();
    const names = readdirSync(site, { recursive: true }).filter((name) => /\.(html|css)$/.test(name));
    const elsewhere = names.filter((name) =>
      /<(?:script|link|img|iframe)[^>]* (?:src|href)="(?:https?:)?\/\/|@import|url\(["']?(?:https?:)?\/\//.test(
        readFileSync(join(site, name), "utf8").replaceAll(/<pre[\s\S]*?<\/pre>/g, ""),
      ),
    );
    if (elsewhere.length > 0) throw new Error(`these load from elsewhere: ${elsewhere.join(", ")}`);
  },
};
