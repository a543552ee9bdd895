// The command `signalbox pipelines` as a terminal has it, with what it prints kept.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { PipelinesHost } from "../../../lib/cli/pipelines/context.js";
import { pipelines } from "../../../lib/cli/pipelines/pipelines.js";
import { reach } from "../../../lib/cli/pipelines/reach.js";
import { sourceOf } from "../../../lib/cli/shell/reach.js";
import type { StoreSource } from "../../../lib/store/index.js";
import { type Ran, ran } from "../support/ran.js";

/** A folder that is gone after the test, with these files. */
export function folderWith(contents: Readonly<Record<string, string>> = {}): (name: string) => string {
  const folder = mkdtempSync(join(tmpdir(), "pipelines-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(contents)) writeFileSync(join(folder, name), text);
  return (name) => join(folder, name);
}

/** @param host - what differs from this program's own terminal */
export async function runCommand(
  args: readonly string[],
  host: Partial<PipelinesHost> = {},
): Promise<Ran & { readonly drawn: readonly string[] }> {
  const drawn: string[] = [];
  const found = await ran<PipelinesHost>(pipelines, args, (complain) => ({
    source: sourceOf,
    open: (store, known) => reach(store, complain, known),
    draw: (line) => void (line === undefined || drawn.push(line)),
    interruption: () => ({ signal: new AbortController().signal, code: 0, release: () => undefined }),
    ...host,
  }));
  return { ...found, drawn };
}

/** One open store for all commands of a test, as if it were a file. */
export async function inStore(source: StoreSource): Promise<Partial<PipelinesHost>> {
  const { openOperations } = await import("../../../lib/pipeline/open-operations.js");
  const { storeContext } = await import("../../support/store-context.js");
  const keep = await source.open([], storeContext());
  onTestFinished(() => keep.close());
  return {
    source: () => source,
    open: async (_, known) => {
      const operations = await openOperations(source, storeContext(), known);
      return { operations, close: () => operations.close() };
    },
  };
}
