// The text: its files, its lines, and the words of a line.

import { constants, createReadStream, existsSync } from "node:fs";
import { access, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { InputError } from "../flights/input-error.js";

/** A sequence of texts that may be cut anywhere: a stream with an encoding, an array. */
export type Chunks = Iterable<string> | AsyncIterable<string>;

/** Letters and digits of any script, with apostrophes between them. */
const WORD = /[\p{L}\p{M}\p{N}]+(?:['’][\p{L}\p{M}\p{N}]+)*/gu;

export function wordsOf(line: string): readonly string[] {
  return line.toLowerCase().match(WORD) ?? [];
}

/** Checks every file before anything starts. @throws InputError that names the first unreadable file */
export async function checkFiles(files: readonly string[]): Promise<void> {
  for (const file of files) {
    if (file === "-") continue;
    try {
      await access(file, constants.R_OK);
      if ((await stat(file)).isDirectory()) throw new Error("it is a directory");
    } catch (error) {
      throw new InputError(`cannot read ${file}: ${(error as Error).message}`);
    }
  }
}

/**
 * The lines of these files, one file after the other, at most `limit` lines.
 *
 * @param input - opens standard input, which is called `-`
 * @throws InputError when a file cannot be read to its end
 */
export async function* linesOf(
  files: readonly string[],
  limit: number,
  input: () => Chunks,
): AsyncGenerator<string, void, undefined> {
  let left = limit;
  for (const file of files) {
    try {
      for await (const line of splitLines(file === "-" ? input() : createReadStream(file, "utf8"))) {
        if (left-- <= 0) return;
        yield line;
      }
    } catch (error) {
      throw new InputError(`cannot read ${file}: ${(error as Error).message}`);
    }
  }
}

/** Lines end with a line feed, which a carriage return may precede; the last one may lack it. */
export async function* splitLines(chunks: Chunks): AsyncGenerator<string, void, undefined> {
  let rest = "";
  for await (const chunk of chunks) {
    const lines = chunk.split("\n");
    lines[0] = rest + lines[0];
    rest = lines.pop() as string;
    for (const line of lines) yield line.endsWith("\r") ? line.slice(0, -1) : line;
  }
  if (rest !== "") yield rest;
}

/** The Markdown files of the installed packages, in the same order on every machine. @throws InputError */
export async function bundledFiles(): Promise<readonly string[]> {
  const folder = nodeModules(dirname(fileURLToPath(import.meta.url)));
  const files = folder === undefined ? [] : await markdownIn(folder);
  if (files.length === 0)
    throw new InputError("there are no installed packages to read: run npm ci, or name a FILE");
  return files;
}

function nodeModules(from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules");
    if (existsSync(candidate)) return candidate;
    if (folder === dirname(folder)) return undefined;
  }
}

/** Does not follow links, because a package may link to itself. */
export async function markdownIn(folder: string): Promise<string[]> {
  const files: string[] = [];
  const entries = await readdir(folder, { withFileTypes: true });
  entries.sort((a, b) => (a.name < b.name ? -1 : 1)); // by code units, whatever the locale
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) files.push(...(await markdownIn(path)));
    else if (entry.isFile() && /\.md$/i.test(entry.name)) files.push(path);
  }
  return files;
}
