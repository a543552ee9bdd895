// Describes waits for schedules that cannot go on: the process, the event that it waits for, since when, and the obstacle.

import { isGone, plain } from "../../process/entries.js";
import { Pid } from "../../process/pid.js";
import type { Process } from "../../process/process.js";
import { PendingReceive } from "../../process/receive.js";
import { Request } from "../../process/request.js";
import { messageText } from "../report/message.js";
import type { Actor, Wait } from "./actor.js";
import type { Actors } from "./actors.js";

/** Lines that are shown. The scenario's own waits come first. */
const MOST_LINES = 12;

/**
 * A line for each wait, and for each process that is paused.
 *
 * @param known - an actor of which the reader knows that it awaits something that the simulator does not settle
 */
export function waitsOf(actors: Actors, known?: Actor): readonly string[] {
  const lines = actors.all.flatMap((actor) =>
    actor === known && actor.adrift ? [] : linesOf(actors, actor),
  );
  if (lines.length <= MOST_LINES) return lines;
  return [...lines.slice(0, MOST_LINES), `… and ${lines.length - MOST_LINES} more waits`];
}

function linesOf(actors: Actors, actor: Actor): string[] {
  const queued = queueOf(actors, actor);
  const line = (what: string, place: string | undefined): string =>
    `${actor.path} ${what}${place === undefined ? "" : ` at ${place}`}${queued}`;
  if (actor.adrift) return [line("awaits something of its own", actor.place)];
  const lines = [...actor.waits].map((wait) => {
    const since = `since step ${wait.step} (${wait.at} ms)`;
    return line(`awaits ${whatOf(actors, wait)}, ${since}${untilOf(wait)}`, wait.place);
  });
  if (actor.parked !== undefined) lines.push(line("is paused by a fault", undefined));
  return lines;
}

function whatOf(actors: Actors, { what, of, about }: Wait): string {
  if (about !== undefined) return `${what} of ${actors.pathOf(about)}`;
  if (!(of instanceof Request)) return what;
  const { callee, to } = of;
  const name = callee !== undefined ? actors.pathOf(callee.pid) : to instanceof Pid ? actors.pathOf(to) : to;
  const message = messageText(of, (pid) => actors.pathOf(pid)).replace(/^call /, "");
  return `${what} to ${name}: ${message}${callee !== undefined && isQueued(callee, of) ? ", not taken yet" : ""}`;
}

function untilOf({ of }: Wait): string {
  const timer = of instanceof Request || of instanceof PendingReceive ? of.timer : undefined;
  return timer?.pending === true ? `, until ${timer.deadline} ms` : "";
}

function isQueued(callee: Process, request: Request): boolean {
  for (let index = 0; index < callee.length; index++) if (plain(callee.peek(index)) === request) return true;
  return false;
}

/** The messages that a waiting process has not taken. */
function queueOf(actors: Actors, { process, alive }: Actor): string {
  if (process === undefined || !alive) return "";
  const items: unknown[] = [];
  for (let index = 0; index < process.length; index++) {
    const item = process.peek(index);
    if (!isGone(item)) items.push(plain(item));
  }
  if (items.length === 0) return "";
  const first = messageText(items[0], (pid) => actors.pathOf(pid));
  return `; ${items.length === 1 ? "1 message is" : `${items.length} messages are`} queued, the first ${first}`;
}
