// Why a schedule cannot go on: who waits for what, and where in the code.

import { StuckError, UncontrolledAwaitError } from "../report/errors.js";
import type { Actor } from "./actor.js";
import { host } from "./host.js";
import type { World } from "./world.js";

/** Turns of the host's loop without any work after which what it had was none of the code's, but a test runner's. */
const IDLE_TURNS = 3;
/** Turns that the host may work on before that is certainly for somebody. */
const MOST_TURNS = 100;

/**
 * Whether the host is at work for code that awaits what nobody in the simulation has settled yet. Code that goes on by
 * itself while that is looked into has told.
 */
export async function realWork(adrift: Actor): Promise<Error | undefined> {
  const { path, place } = adrift;
  const kinds = host.busy();
  if (kinds.length === 0) return undefined;
  for (let turn = 0, idle = 0; turn < MOST_TURNS && adrift.adrift && idle < IDLE_TURNS; turn++) {
    await host.drain();
    idle = host.busy().length === 0 ? idle + 1 : 0;
    if (idle === IDLE_TURNS && adrift.adrift) return undefined;
  }
  return new UncontrolledAwaitError(path, place, kinds);
}

/** Nothing can run, and no timer is set. */
export function stalemate(world: World): Error {
  const adrift = world.actors.find((actor) => actor.adrift && actor !== world.main);
  if (adrift !== undefined) return new UncontrolledAwaitError(adrift.path, adrift.place, []);
  return new StuckError(world.actors.flatMap((actor) => waitsOf(actor)));
}

function waitsOf(actor: Actor): string[] {
  const line = (what: string, place: string | undefined): string =>
    `${actor.path} awaits ${what}${place === undefined ? "" : ` at ${place}`}`;
  if (actor.adrift) return [line("something of its own", actor.place)];
  return [...actor.waits].map((wait) => line(wait.what, wait.place));
}
