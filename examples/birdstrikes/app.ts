// The application: arguments in, a run, one last line and an exit code out.

import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogUpdate } from "log-update";
import { command, type Output } from "../flights/command-line.js";
import { bundledFile } from "../flights/data-file.js";
import { InputError } from "../flights/input-error.js";
import { DAMAGED_LINES, withDamage } from "./damage.js";
import { HELP, type Options, parseOptions } from "./options.js";
import { type Left, readLeft } from "./report.js";
import { run } from "./run.js";
import { progressLine, type Show, screenLines } from "./screen.js";
import { differences, type Straight, straightTotals } from "./straight.js";

/**
 * @param service - what Node is given to run the process of the pipeline
 * @returns the exit code: 0 all is well, 1 something differs, 2 the options are wrong
 */
export function main(
  args: readonly string[],
  out: Output,
  err: Output,
  service: readonly string[],
): Promise<number> {
  return command(args, out, err, {
    parse: parseOptions,
    help: HELP,
    run: (options) => withFolder(options.store, (folder) => job(options, folder, out, service)),
  });
}

async function withFolder(
  store: string | undefined,
  body: (folder: string) => Promise<number>,
): Promise<number> {
  if (store !== undefined) {
    if (existsSync(store)) throw new InputError(`--store: ${store} is there already, expected a new folder`);
    await mkdir(store, { recursive: true }).catch((error: Error) => {
      throw new InputError(`--store: ${error.message}`);
    });
    return body(store);
  }
  const folder = await mkdtemp(join(tmpdir(), "birdstrikes-"));
  try {
    return await body(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function job(
  options: Options,
  folder: string,
  out: Output,
  service: readonly string[],
): Promise<number> {
  const { kills, seed, limit, json } = options;
  const text = readFileSync(bundledFile("birdstrikes.csv"), "utf8");
  const straight = straightTotals(text, limit);
  await writeFile(join(folder, "strikes.csv"), withDamage(text, limit, seed));
  const { records, reported } = straight;
  // Each record is parsed and validated at least, and most are located.
  const calls = 2 * records + reported;
  if (kills > calls)
    throw new InputError(`--kills is ${kills}, and ${records} records are enough for ${calls}`);
  if (!json)
    out.write(`${records} records, and ${DAMAGED_LINES} damaged lines that this example puts among them\n`);
  const killed = await run({
    ...{ service, folder, airports: bundledFile("airports.csv"), kills, seed },
    lines: records + DAMAGED_LINES,
    calls,
    show: json ? { everyMs: 0, show: () => undefined } : showOn(out),
  });
  const left = await readLeft(folder);
  const wrong = differences(straight, DAMAGED_LINES, left);
  out.write(json ? `${JSON.stringify(jsonOf(straight, left, killed, wrong))}\n` : summary(left));
  if (!json) for (const line of wrong) out.write(`${line}\n`);
  if (!json) out.write(`${lastLine(straight, left, killed, wrong)}\n`);
  return wrong.length === 0 ? 0 : 1;
}

/** A terminal is drawn over, ten times a second; anything else gets a line each second. */
function showOn(out: Output): Show {
  if (out.isTTY !== true) return { everyMs: 1_000, show: (view) => out.write(`${progressLine(view)}\n`) };
  const draw = createLogUpdate(out as NodeJS.WriteStream, { showCursor: true });
  return { everyMs: 100, show: (view) => draw(screenLines(view, out.columns ?? 80).join("\n")) };
}

const total = (numbers: Iterable<number>): number => [...numbers].reduce((sum, number) => sum + number, 0);
const reportedOf = ({ airports }: Left): number => total(airports.map(({ strikes }) => Number(strikes)));

/** Airports with the most strikes, and why records are dead letters. */
export function summary(left: Left): string {
  const top = left.airports.slice(0, 5).map(({ iata, strikes, damaging, cost, speeds, knots }) => {
    const speed = speeds === 0 ? "no speeds" : `${(knots / speeds).toFixed(1)} knots on average`;
    return `  ${iata}  ${strikes} strikes, ${damaging} with damage, ${cost} dollars, ${speed}`;
  });
  const reasons = [...left.dead].sort().map(([reason, times]) => `${reason} ${times}`);
  return [
    `report: ${left.airports.length} airports, most strikes at`,
    ...top,
    `dead letters: ${reasons.join(", ")}`,
    "",
  ].join("\n");
}

export function lastLine(
  { records }: Straight,
  left: Left,
  killed: number,
  wrong: readonly string[],
): string {
  const verdict =
    wrong.length === 0
      ? "totals equal to the straight computation"
      : `${wrong.length} totals differ from the straight computation`;
  return `${records} records, ${reportedOf(left)} reported, ${total(left.dead.values())} dead letters, killed ${killed} times: ${verdict}`;
}

function jsonOf({ records }: Straight, left: Left, killed: number, wrong: readonly string[]): object {
  return {
    ...{ records, damagedLines: DAMAGED_LINES, reported: reportedOf(left) },
    deadLetters: Object.fromEntries(left.dead),
    ...{ killed, isEqual: wrong.length === 0, differences: wrong, airports: left.airports },
  };
}
