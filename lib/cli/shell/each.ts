// Commands that do the same with each of the ids that they are given.

import { oneLine, printable } from "../../process/printable.js";
import type { Printer } from "./commands.js";
import { EXIT } from "./exit.js";
import { jsonText } from "./json-text.js";

interface Each {
  readonly host: Printer;
  readonly json: boolean;
  /** The text behind an id when all went well. */
  readonly done: string;
  /** The exit code of a failure. */
  exitOf(error: unknown): number;
}

/** Says of each id whether it was done. One that fails does not keep the others from it. Resolves with the worst exit code. */
export async function forEach(
  ids: readonly string[],
  { host, json, done, exitOf }: Each,
  act: (id: string) => Promise<void>,
): Promise<number> {
  const results: { id: string; ok: boolean; error?: string }[] = [];
  let exit = EXIT.fine;
  for (const id of ids) {
    try {
      await act(id);
      results.push({ id, ok: true });
      if (!json) host.print(oneLine(`${id}: ${done}`));
    } catch (error) {
      const { message } = error as Error;
      exit = Math.max(exit, exitOf(error));
      results.push({ id, ok: false, error: message });
      if (!json) host.complain(printable(`signalbox: ${message}`));
    }
  }
  if (json) host.print(jsonText(results));
  return exit;
}
