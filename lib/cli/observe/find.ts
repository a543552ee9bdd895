// Finds what `signalbox observe` shows: the program that listens, or the store when none does.

import { after } from "../shell/host.js";
import type { ProgramPlace } from "../shell/program-option.js";
import { contextOf, existing, hostAt, hostOf } from "../shell/reach.js";
import type { Observed } from "./observe.js";
import { openProgram } from "./program-source.js";
import { openStoreAlone } from "./store-source.js";

/** @param warn - takes warnings of a store that is opened here. @throws Error */
export async function findObserved(
  at: ProgramPlace,
  system: string | undefined,
  warn: (text: string) => void,
): Promise<Observed | undefined> {
  const reach = (): ReturnType<typeof hostAt> => ("store" in at ? hostOf(at.store) : hostAt(at.socket));
  const first = await reach();
  if (first !== undefined) {
    let given: typeof first | undefined = first;
    const again = async (): Promise<typeof first> => {
      const client = given ?? (await reach());
      given = undefined;
      if (client === undefined) throw new Error("the program does not listen any more");
      return client;
    };
    return openProgram({ after, reach: again }, system);
  }
  if (!("store" in at)) return undefined;
  const store = existing(at.store);
  const source = await openStoreAlone(store, contextOf(warn));
  return Object.assign(source, { through: `${source.name}, which no program has open` });
}
