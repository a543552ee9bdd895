// What a planted bug is: a small service that is right, or wrong in one place, and a scenario that can tell which. Each file of
// this folder besides this one exports planted bugs and nothing else; `spec/testing/exploration/planted.spec.ts` finds them there.

import { readdirSync } from "node:fs";
import type { ExploreOptions, Scenario, SimulateOptions } from "signalbox/testing";

export interface Planted {
  readonly bug: string;
  /** What the wrong service does. */
  readonly wrong: string;
  /** The error that a failing schedule ends with: its code, and words of its text. */
  readonly code: string;
  readonly says: string;
  readonly faults?: SimulateOptions["faults"];
  /** Further options of the exploration, if the scenario needs any. */
  readonly options?: Omit<SimulateOptions, "faults"> & Pick<ExploreOptions, "sometimes">;
  /** The ordinary schedule shows the bug too. By default it passes, as it does with most bugs of this kind. */
  readonly plain?: true;
  scenario(wrong: boolean): Scenario;
}

/** The options of every exploration of a planted bug. */
export function optionsOf({ faults, options }: Planted): SimulateOptions {
  return { ...options, ...(faults === undefined ? {} : { faults }) };
}

/** All planted bugs, by the names of their files. */
export async function allPlanted(): Promise<readonly Planted[]> {
  const files = readdirSync(new URL(".", import.meta.url)).filter(
    (name) => name.endsWith(".ts") && name !== "planted.ts",
  );
  const modules = await Promise.all(
    files
      .sort()
      .map((name) => import(new URL(name, import.meta.url).href) as Promise<Record<string, Planted>>),
  );
  return modules.flatMap((module) => Object.values(module));
}
