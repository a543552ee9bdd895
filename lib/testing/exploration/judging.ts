// Calls the functions of a test that look at the state of the moment: checks, which explain what is wrong, and conditions.

import { show } from "../../process/show.js";
import { isThenable } from "../../process/thenable.js";
import { ModelError, SimulationInvariantError } from "../report/errors.js";

/** A check. It fails by throwing, by returning `false`, or by returning a text that explains the failure. */
export type SimulationCheck = () => unknown;

export interface NamedCheck {
  readonly name: string;
  readonly check: SimulationCheck;
}

/** The error that the check finds; undefined when it holds. @throws ModelError for a check that is none */
export function wrongBy({ name, check }: NamedCheck): SimulationInvariantError | undefined {
  try {
    const said = answer(`the check "${name}"`, check());
    // Assertions of some libraries return an object for chaining.
    if (said === undefined || said === true || (typeof said === "object" && said !== null)) return undefined;
    if (said !== false && typeof said !== "string")
      throw new ModelError(
        `the check "${name}"`,
        `returned ${show(said)}`,
        "it holds with `true` or nothing, and fails with `false`, a text that says what is wrong, or a throw",
      );
    return new SimulationInvariantError(name, said || undefined, undefined);
  } catch (error) {
    if (error instanceof ModelError) throw error;
    return new SimulationInvariantError(name, error instanceof Error ? error.message : String(error), error);
  }
}

/** Whether a condition holds now. @throws ModelError */
export function isMet(name: string, condition: () => boolean): boolean {
  const what = `the condition "${name}"`;
  let said: unknown;
  try {
    said = condition();
  } catch (error) {
    throw new ModelError(what, "threw", error);
  }
  return answer(what, said) === true;
}

/** The result of a test's function. A promise is an error, because the schedule does not wait for it. */
function answer(what: string, said: unknown): unknown {
  if (!isThenable(said)) return said;
  // A rejection of the promise does not matter any more.
  said.then(undefined, () => undefined);
  throw new ModelError(what, "returned a promise", "it must answer at once, from the state at this moment");
}
