// Errors of services.

import { SignalboxError } from "../../process/errors.js";
import type { Ending } from "./ending.js";

/** One thing that is wrong with a configuration. */
export interface ConfigurationProblem {
  /** Where it is, such as `DATABASE_URL` or `http.port`. Empty when the whole is wrong. */
  readonly path: string;
  /** The faults, in the words of the schema, without the values given. */
  readonly message: string;
}

/**
 * The configuration of a service does not fit its schema. `problems` lists everything that is wrong, without the values given,
 * since these may be secrets.
 *
 * @remedy Correct the settings that the message names; each line is a path and what is wrong there.
 */
export class ConfigurationError extends SignalboxError {
  static override readonly name: string = "ConfigurationError";
  readonly code = "ERR_CONFIGURATION";
  /** All that is wrong, in the order of the schema. */
  readonly problems: readonly ConfigurationProblem[];
  constructor(problems: readonly ConfigurationProblem[]) {
    const lines = problems.map(({ path, message }) => `\n  ${path === "" ? "(whole)" : path}: ${message}`);
    super(`the configuration is invalid:${lines.join("")}`);
    this.problems = problems;
  }
}

/**
 * A service did not start, or ended before it had started. `ending` says why, and `cause` is the error of the part that failed.
 *
 * @remedy The message names the part of the tree that failed and its reason. Mend its `init`, or raise `startTimeoutMs`.
 */
export class ServiceStartError extends SignalboxError {
  static override readonly name: string = "ServiceStartError";
  readonly code = "ERR_SERVICE_START";
  /** The end of the service. */
  readonly ending: Ending;
  constructor(ending: Ending) {
    const { cause } = ending;
    super(
      ending.text,
      cause.type === "start" && cause.reason.type === "crash"
        ? { cause: cause.reason.error }
        : cause.type === "configuration"
          ? { cause: cause.error }
          : undefined,
    );
    this.ending = ending;
  }
}
