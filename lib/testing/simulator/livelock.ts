// Judges a schedule that was cut off before it ended: what repeats in it, and whether its order of steps was fair.

import { type Cycling, LivelockError } from "../report/errors.js";
import { happening } from "../report/render.js";
import type { TraceStep } from "../report/trace.js";
import { type Cycle, findCycle } from "./cycle.js";
import type { Recorder } from "./recorder.js";
import { labelOf } from "./schedule-record.js";
import type { World } from "./world.js";

/** Steps of the cycle that the error shows. The report shows all. */
const MOST_LINES = 12;
/** Processes that the error names when nothing repeats. */
const MOST_NAMES = 8;
/** What may differ from round to round in any cycle: numbers of steps and messages, the time, and places, which may be unknown. */
const EACH_ITS_OWN: ReadonlySet<string> = new Set(["number", "at", "letter", "place", "changes"]);

/**
 * Whether no process was kept from running through the second half of the schedule: in a fair schedule, a task that is possible for
 * long enough runs.
 *
 * @see Musuvathi and Qadeer, "Fair Stateless Model Checking", 2008
 */
export function isFair({ agenda, halfway, record }: World): boolean {
  const ran = new Set(record.trail.slice(record.trail.length >> 1));
  return halfway.every((task) => !agenda.tasks.includes(task) || ran.has(labelOf(task)));
}

/** The repeating end of a schedule, by which processes ran. A restarted process counts as the one before. */
export function cycleOf(world: World): Cycle | undefined {
  const numbers = new Map<string, number>();
  const kinds = world.actors.all.map((actor) => {
    const path = sameIfRestarted(actor.path);
    const known = numbers.get(path) ?? numbers.size;
    numbers.set(path, known);
    return known;
  });
  return findCycle(
    world.record.trail.map((label) => (label < 0 ? label : (kinds[label >> 2] as number) * 4 + (label & 3))),
  );
}

/** A schedule of fewer steps is not cut off to save time. */
const LEAST_STEPS = 200;

/**
 * Steps after which a schedule that shrinks from one with this cycle is cut off: enough for a longer way to the cycle, and for
 * several rounds. Few enough that thousands of endless schedules can be tried.
 */
export function enoughSteps({ start, period }: Cycle): number {
  return Math.max(LEAST_STEPS, 2 * start + 8 * period);
}

/** The error for a schedule that was cut off. Of a recorded schedule only the steps up to the end of the first round remain. */
export function livelock(world: World): LivelockError {
  const next = world.time.next;
  const cycling = cyclingOf(world);
  const still = cycling !== undefined && cycling.ms === 0 && next !== undefined;
  return new LivelockError(world.record.steps, cycling, namesOf(world), still ? next : undefined);
}

/** What repeats at the end of a recorded schedule. The steps after the first round are dropped from the record. */
export function cyclingOf(world: World): Cycling | undefined {
  const { recorder } = world.options;
  return recorder === undefined ? undefined : showCycle(world, recorder);
}

function showCycle(world: World, recorder: Recorder): Cycling | undefined {
  const { steps } = recorder;
  const texts = steps.map((step) =>
    JSON.stringify(step, (key, value) => (EACH_ITS_OWN.has(key) ? undefined : value)),
  );
  const exact = findCycle(texts);
  const found = exact ?? findCycle(texts.map(withoutNumbers)) ?? cycleOf(world);
  if (found === undefined) return undefined;
  const { start, period, times } = found;
  const round = steps.slice(start, start + period);
  const after = steps[start + period] as TraceStep;
  steps.length = start + period;
  recorder.remark(`from step ${start + 1} on this repeats, ${times} times`);
  const lines = round.slice(0, MOST_LINES).map((step) => `${step.process}: ${happening(step)}`);
  if (period > MOST_LINES) lines.push(`… and ${period - MOST_LINES} more`);
  const ms = after.at - (round[0] as TraceStep).at;
  return { first: start + 1, last: start + period, times, exact: exact !== undefined, ms, lines };
}

/** The processes that ran at the end. */
function namesOf(world: World): readonly string[] {
  const labels = world.record.trail.slice(world.record.trail.length >> 1).filter((label) => label >= 0);
  const names = new Set(labels.map((label) => sameIfRestarted(world.actors.all[label >> 2]?.path ?? "")));
  const shown = [...names].sort();
  return shown.length > MOST_NAMES
    ? [...shown.slice(0, MOST_NAMES), `${shown.length - MOST_NAMES} more`]
    : shown;
}

function sameIfRestarted(path: string): string {
  return path.replace(/#\d+/g, "");
}

function withoutNumbers(text: string): string {
  return text.replace(/#\d+/g, "").replace(/\d+/g, "0");
}
