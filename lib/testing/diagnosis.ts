// Why a schedule cannot go on: who waits for what, and where in the code.

import type { Actor } from "./actor.js";
import { StuckError, UncontrolledAwaitError } from "./errors.js";
import { host } from "./host.js";
import type { World } from "./world.js";

/** Before time passes: the host may be at work for code that awaits it, and virtual time must not overtake that. */
export function realWork(world: World): Error | undefined {
  const adrift = world.actors.find((actor) => actor.adrift);
  if (adrift === undefined) return undefined;
  const busy = host.busy();
  return busy.length === 0 ? undefined : new UncontrolledAwaitError(adrift.path, adrift.place, busy);
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
