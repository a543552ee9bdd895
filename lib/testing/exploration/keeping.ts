// The files that a failing schedule leaves behind: a page for a browser, and a file for `npx signalbox replay`.

import { OptionError } from "../../process/errors.js";
import { only } from "../../process/known-options.js";
import { text } from "../../process/options.js";
import { deepEqual } from "../kit/inspect.js";
import { ScheduleFailedError } from "../report/failure.js";
import { type KeptFailure, type ScenarioSource, writeFailure } from "../report/failure-file.js";
import { host } from "../simulator/host.js";
import { renderViewer } from "../viewer/page.js";

/** Where a failure goes, and what is known of its scenario. */
export interface KeepPlan {
  /** Path of both files, without their ending. */
  readonly path: string;
  readonly name: string;
  readonly source: KeptFailure["source"];
}

interface KeepOptions {
  readonly viewer?: string;
  readonly source?: ScenarioSource;
}

/** @param kept - the options that a run of the schedule needs @throws OptionError */
export function planKeeping<Key extends string>(
  options: KeepOptions & { readonly [key in Key]?: unknown },
  name: string,
  kept: readonly Key[],
): KeepPlan | undefined {
  const { viewer, source } = options;
  const known = source === undefined ? undefined : { ...sourceOf(source), options: plain(options, kept) };
  if (viewer === undefined) return undefined;
  const path = text("viewer", viewer);
  const file = name.replace(/[^\p{L}\p{N}._-]+/gu, "-");
  const bare = /\.html$/.test(path)
    ? path.slice(0, -".html".length)
    : `${path.replace(/[\\/]+$/, "")}/${file}`;
  return { path: bare, name, source: known };
}

/** @throws OptionError */
export function sourceOf(source: ScenarioSource): ScenarioSource {
  only("source", source, ["module", "export"]);
  return { module: text("source.module", source.module), export: text("source.export", source.export) };
}

/** The options as a file can hold them, or another thread get them. @throws OptionError */
export function plain<Key extends string>(
  options: { readonly [key in Key]?: unknown },
  keys: readonly Key[],
): object {
  const held: { [key: string]: unknown } = {};
  for (const key of keys) {
    const value = options[key];
    if (value === undefined) continue;
    if (!deepEqual(JSON.parse(JSON.stringify(value) ?? "null"), value))
      throw new OptionError(
        key,
        value,
        "plain data when there is a `source`: patterns as texts, and no Infinity",
      );
    held[key] = value;
  }
  return held;
}

/** The same result. A failing schedule is written to files first, which its error names. */
export async function keeping<T>(result: Promise<T>, { path, name, source }: KeepPlan): Promise<T> {
  try {
    return await result;
  } catch (error) {
    if (!(error instanceof ScheduleFailedError)) throw error;
    const { token, trace } = error;
    host.write(`${path}.html`, renderViewer(trace));
    host.write(`${path}.json`, writeFailure({ name, token, trace, ...(source !== undefined && { source }) }));
    mention(error, `viewer: ${path}.html`);
    throw error;
  }
}

/** Adds a line to the text of an error, also where it is printed with its stack. */
function mention(error: Error, line: string): void {
  const { message, stack } = error;
  error.message = `${message}\n${line}`;
  if (stack !== undefined) error.stack = stack.replace(message, () => error.message);
}
