// The entries of the package, by their module in lib: `index`, `topology/index`, … Read from the exports of package.json.

import { readFileSync } from "node:fs";

const { exports } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/** @type {string[]} */
export const ENTRIES = Object.values(exports)
  .map((entry) => /^\.\/dist\/(.+)\.js$/.exec(entry.default ?? "")?.[1])
  .filter((name) => name !== undefined);
