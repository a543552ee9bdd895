// Explains why a schedule cannot go on: which code waits for which promise, and where.

import { StuckError, UncontrolledAwaitError } from "../report/errors.js";
import type { Actor } from "./actor.js";
import type { Actors } from "./actors.js";
import { host } from "./host.js";
import { waitsOf } from "./waits.js";

/** After this many idle turns of the event loop, the earlier work was not the code's, but for instance a test runner's. */
const IDLE_TURNS = 3;
/** Work that lasts longer than this many turns certainly belongs to some code. */
const MOST_TURNS = 100;

/**
 * Returns an error if the host works for code that awaits a promise which the simulator does not settle. If the code goes on
 * during this check, there is no error.
 */
export async function realWork(adrift: Actor): Promise<Error | undefined> {
  const { path, place } = adrift;
  const kinds = host.busy();
  if (kinds.length === 0) return undefined;
  for (let turn = 0, idle = 0; turn < MOST_TURNS && adrift.adrift && idle < IDLE_TURNS; turn++) {
    await host.turn();
    idle = host.busy().length === 0 ? idle + 1 : 0;
    if (idle === IDLE_TURNS && adrift.adrift) return undefined;
  }
  return new UncontrolledAwaitError(path, place, kinds);
}

/** The error for a schedule in which nothing can run and no timer is set. */
export function stalemate(actors: Actors): Error {
  const adrift = actors.all.find((actor) => actor.adrift && actor !== actors.main);
  if (adrift !== undefined)
    return new UncontrolledAwaitError(adrift.path, adrift.place, [], waitsOf(actors, adrift));
  return new StuckError(waitsOf(actors));
}
