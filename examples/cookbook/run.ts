// Runs the demonstration of a recipe: `npm run cookbook -- NAME`.

import { readdirSync } from "node:fs";
import process, { argv, stderr } from "node:process";

const recipes = readdirSync(new URL(".", import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name)
  .sort();
const [name = ""] = argv.slice(2);
if (recipes.includes(name)) await import(new URL(`${name}/main.js`, import.meta.url).href);
else {
  stderr.write(`There is no recipe "${name}". Recipes: ${recipes.join(", ")}.\n`);
  process.exitCode = 2;
}
