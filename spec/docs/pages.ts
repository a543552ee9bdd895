// Lists the pages that people read.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

export interface MarkdownPage {
  /** From the root of the repository. */
  readonly path: string;
  readonly markdown: string;
}

/** The pages of these files and folders, those of a folder's folders included. What does not exist has none. */
export function pagesOf(...places: readonly string[]): MarkdownPage[] {
  return places
    .filter((place) => existsSync(join(root, place)))
    .flatMap((place) =>
      place.endsWith(".md")
        ? [place]
        : readdirSync(join(root, place), { recursive: true, encoding: "utf8" })
            .filter((name) => name.endsWith(".md"))
            .sort()
            .map((name) => `${place}/${name.replaceAll("\\", "/")}`),
    )
    .map((path) => ({ path, markdown: readFileSync(join(root, path), "utf8") }));
}
