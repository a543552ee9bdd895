// Drills of answers: a program asks for one thing and dies at the answer, and the next one finds its effect.

import type { System } from "signalbox";
import type { StoreSource } from "signalbox/store";

/** One thing that is asked for, in a program of its own. */
export interface AnswerDrill {
  /** Fulfilled at the answer, which is the last that the program gets. */
  ask(system: System, store: StoreSource): Promise<unknown>;
  /** What the next program finds, at once or after a while. */
  look(system: System, store: StoreSource): Promise<unknown>;
  readonly expected: unknown;
}

export type NamedDrills = readonly (readonly [string, AnswerDrill])[];

/** An operation that needs no drill: nothing is different after it, or nobody gets an answer. */
export type NoDrill = "reads";

/** The drills of tables that name all operations of a part. */
export function drillsOf<D>(
  tables: Readonly<Record<string, Readonly<Record<string, D | NoDrill>>>>,
  drillOf: (drill: D) => AnswerDrill,
): NamedDrills {
  return Object.entries(tables).flatMap(([of, table]) =>
    Object.entries(table).flatMap(([name, drill]) =>
      drill === "reads" ? [] : [[`${of}.${name}`, drillOf(drill as D)] as const],
    ),
  );
}
