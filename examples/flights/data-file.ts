// Files of data that the examples read: those of vega-datasets, and JSON that the user names.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { InputError } from "./input-error.js";

/** Where a file of vega-datasets is. @param remedy - what helps when it is not there @throws InputError */
export function bundledFile(name: string, remedy = "run npm ci"): string {
  try {
    const entry = createRequire(import.meta.url).resolve("vega-datasets");
    return `${entry.slice(0, entry.lastIndexOf("build"))}data/${name}`;
  } catch {
    throw new InputError(`vega-datasets is not installed: ${remedy}`);
  }
}

/** @throws InputError */
export async function flightsText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new InputError(`cannot read the flights: ${(error as Error).message}`);
  }
}

/** The records of a text, unchecked. @throws InputError */
export function recordsOf(file: string, text: string): readonly unknown[] {
  let records: unknown;
  try {
    records = JSON.parse(text);
  } catch (error) {
    throw new InputError(`${file} is not JSON: ${(error as Error).message}`);
  }
  if (!Array.isArray(records)) throw new InputError(`${file} is not an array of flights`);
  return records;
}
