// Rules that the code around them relies on, checked where it relies on them: a bug stops there, and not three steps later.
// After TigerBeetle's style.

import { InvariantError } from "./errors.js";

/**
 * Throws unless the rule holds. For checks that cost no more than a comparison, and with a constant text, so that a hot path
 * may have them. A check that costs more belongs in a function that runs only where there is an `interception`: under the
 * simulator.
 *
 * @param what - the rule as a sentence that is true: "a restarting child is not in the roster"
 * @throws InvariantError
 */
export function invariant(holds: boolean, what: string): asserts holds {
  if (!holds) throw new InvariantError(what);
}
