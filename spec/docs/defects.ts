// The pages of defects found elsewhere: their rows, and the titles of the tests that the rows name.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A row: its number, and in its last column a file, or a file with the title of a test. */
export interface DefectRow {
  readonly number: number;
  readonly file: string;
  readonly title: string | undefined;
}

const ROW = /^\| (\d+) \| .+ \| `(spec\/[\w/-]+\.spec\.ts)`(?:: "(.+)")? \|$/gm;

/** The rows of a page of docs. */
export function defectRows(page: string): DefectRow[] {
  return [...readFileSync(join(root, page), "utf8").matchAll(ROW)].map(([, number, file, title]) => ({
    number: Number(number),
    file: file as string,
    title,
  }));
}

/** Whether the test that a row names is there: by its title, or by a title that begins with the number of the row. */
export function hasTest({ number, file, title }: DefectRow): boolean {
  const titles = titlesIn(file);
  return title === undefined ? titles.some((one) => one.startsWith(`${number}: `)) : titles.includes(title);
}

/** The titles of tests, without the numbers of the guarantees at their ends. */
function titlesIn(file: string): string[] {
  const source = readFileSync(join(root, file), "utf8");
  return [...source.matchAll(/\b(?:it|test)(?:\.\w+\([^;]*?\))?\(\s*(["'`])(.+?)\1,/g)].map(([, , title]) =>
    (title as string).replace(/(?: \(bug \d+\)| \(\d+\))?(?: \[[A-Z]\d+\])?$/, ""),
  );
}
