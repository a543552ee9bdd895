// The error of a component of ours that cannot go on under another host.

import { SignalboxError } from "../../../process/errors.js";

/**
 * A component that runs under another host crashed more often than its configuration allows. `cause` is the
 * last crash.
 *
 * @remedy Mend the cause, or raise `intensity` or `periodMs` of the component. The other host restarts the
 * program.
 */
export class ComponentFailedError extends SignalboxError {
  static override readonly name: string = "ComponentFailedError";
  readonly code = "ERR_COMPONENT_FAILED";
  /** Name of the component. */
  readonly component: string;
  constructor(component: string, restarts: number, periodMs: number, options: ErrorOptions) {
    super(
      `${component} crashed more than ${restarts} times within ${periodMs} ms (intensity and periodMs of its configuration)`,
      options,
    );
    this.component = component;
  }
}
