// The oracle answers every decision of a schedule and records the answers. The recorded answers are the schedule.

import { OptionError } from "../../process/errors.js";
import { ReplayOutdatedError } from "../report/errors.js";
import type { Chooser, PossibleStep } from "../strategies/strategy.js";

export class Oracle {
  /** The decisions so far. */
  readonly choices: number[] = [];
  /** Number of alternatives of each decision. */
  readonly sizes: number[] = [];
  chooser: Chooser;
  /** The chooser failed. The calling code may have caught the error, but the schedule is invalid in any case. */
  broken: { readonly error: unknown } | undefined = undefined;

  constructor(chooser: Chooser) {
    this.chooser = chooser;
  }

  /** Index of the task to run. With one alternative there is no decision, and nothing is recorded. */
  pick(tasks: readonly PossibleStep[]): number {
    const size = tasks.length;
    if (size < 2) return 0;
    try {
      return this.#note(size, this.chooser.pick(tasks), "task");
    } catch (error) {
      this.broken ??= { error };
      throw error;
    }
  }

  /**
   * A number from 0 to `size` - 1, where 0 is the ordinary outcome.
   *
   * @param probability - of another outcome than 0, if the caller asks for one
   * @param actor - the number of the actor that the draw is for
   * @param names - for a fault between steps: what each outcome from 1 on does
   */
  draw(size: number, label: string, probability?: number, actor?: number, names?: readonly string[]): number {
    if (size < 2) return 0;
    try {
      return this.#note(size, this.chooser.draw(size, label, probability, actor, names), label);
    } catch (error) {
      this.broken ??= { error };
      throw error;
    }
  }

  #note(size: number, choice: number, label: string): number {
    if (!(Number.isInteger(choice) && choice >= 0 && choice < size))
      throw new OptionError(`choice of ${label}`, choice, `a whole number from 0 to ${size - 1}`);
    this.choices.push(choice);
    this.sizes.push(size);
    return choice;
  }
}

/** The ordinary schedule: first come, first served, and no faults. */
export const ORDINARY: Chooser = { by: "the ordinary schedule", pick: () => 0, draw: () => 0 };

/**
 * Replays a list of choices. After its end, and where a choice does not fit, it makes the ordinary choice.
 *
 * @param sizes - alternatives of each choice other than 0, if they must be as recorded
 */
export class Script implements Chooser {
  #next = 0;
  readonly #choices: readonly number[];
  readonly #sizes: readonly number[] | undefined;

  constructor(choices: readonly number[], sizes?: readonly number[]) {
    this.#choices = choices;
    this.#sizes = sizes;
  }

  pick(tasks: readonly PossibleStep[]): number {
    return this.draw(tasks.length, "task");
  }

  draw(size: number, label: string): number {
    const index = this.#next++;
    const choice = this.#choices[index] ?? 0;
    if (this.#sizes === undefined) return choice < size ? choice : 0;
    const before = this.#sizes[index] ?? 0;
    if (choice > 0 && before !== size) throw new ReplayOutdatedError(index, label, before, size);
    return choice;
  }
}
