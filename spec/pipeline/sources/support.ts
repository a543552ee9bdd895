import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Source, SourceContext, Sourced } from "../../../lib/pipeline/definition/source.js";
import { System } from "../../../lib/system.js";

/** A file of these bytes, which the system's cleaning of its folder for temporary files removes. */
export function fileOf(content: string | Uint8Array): string {
  const path = join(mkdtempSync(join(tmpdir(), "signalbox-source-")), "file");
  writeFileSync(path, content);
  return path;
}

/** What a source gives behind a checkpoint. */
export async function read<T, C>(
  source: Source<T, C>,
  checkpoint?: C,
  more: Partial<SourceContext<C>> = {},
): Promise<Sourced<T, C>[]> {
  const { kernel } = new System({ report: false });
  const ctx = { checkpoint, input: undefined, signal: new AbortController().signal, kernel, ...more };
  const all: Sourced<T, C>[] = [];
  for await (const one of source.open(ctx)) all.push(one);
  return all;
}

export async function values<T, C>(source: Source<T, C>, checkpoint?: C): Promise<T[]> {
  return (await read(source, checkpoint)).map(({ value }) => value);
}
