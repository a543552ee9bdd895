// The application: takes arguments, runs, and writes one last line and an exit code.

import { repaintDashboard } from "signalbox/topology";
import { command, type Output } from "../flights/command-line.js";
import { HELP, parseOptions } from "./options.js";
import { type RunResult, run } from "./run.js";
import { progressLine, type Show, screenLines, type View } from "./screen.js";
import { bundledFiles, type Chunks, checkFiles, linesOf } from "./text.js";
import { compare, top } from "./totals.js";

export interface Streams {
  readonly out: Output;
  readonly err: Output;
  /** Opens standard input. */
  readonly input: () => Chunks;
}

/** @returns the exit code: 0 for success, 1 for wrong counts, 2 for wrong options or a wrong file */
export function main(args: readonly string[], { out, err, input }: Streams): Promise<number> {
  return command(args, out, err, {
    parse: parseOptions,
    help: HELP,
    run: async (options) => {
      const files = options.files.length === 0 ? await bundledFiles() : options.files;
      await checkFiles(files);
      const lines = linesOf(files, options.limit, input);
      const result = await run({ ...options, lines, show: showOn(out) });
      out.write(topTen(result.counts));
      const { line, good } = lastLine(result, options.dedupe);
      out.write(`${line}\n`);
      return good ? 0 : 1;
    },
  });
}

/** A terminal is redrawn four times a second. Any other output gets one line a second. */
function showOn(out: Output): Show {
  if (out.isTTY !== true) return { everyMs: 1_000, show: (view) => out.write(`${progressLine(view)}\n`) };
  let drawn = 0;
  let before: View | undefined;
  return {
    everyMs: 250,
    show: (view) => {
      const lines = screenLines(view, before, out.columns ?? 80, out.rows ?? 24);
      out.write(repaintDashboard(lines, drawn));
      drawn = lines.length;
      before = view;
    },
  };
}

function topTen(counts: ReadonlyMap<string, number>): string {
  const rows = top(counts, 10);
  const width = String(rows[0]?.[1] ?? "").length;
  return rows.map(([word, count]) => `${String(count).padStart(width)} ${word}\n`).join("");
}

/** Without dedupe a word may be counted twice, which is reported as such. A word may never be lost. */
export function lastLine(
  { straight, counts, done, kills, replayed }: Omit<RunResult, "mostOpen">,
  dedupe: boolean,
): { readonly line: string; readonly good: boolean } {
  const { lost, surplus } = compare(straight.counts, counts);
  const exact = lost === 0 && surplus === 0;
  const unfinished = straight.lines - done;
  return {
    line:
      `${straight.lines} lines, ${straight.words} words, ${counts.size} distinct, ${kills} kills, ` +
      `${replayed} replayed, lost ${lost}, counts ${exact ? "exact" : "differ"}` +
      (surplus > 0 ? `, ${surplus} counted again` : "") +
      (unfinished > 0 ? `, ${unfinished} lines not done` : ""),
    good: lost === 0 && unfinished === 0 && (exact || !dedupe),
  };
}
