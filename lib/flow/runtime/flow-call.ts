// A call of a flow's code that waits for its outcome, and what is committed with that outcome.

import type { Settler } from "../../process/interception.js";
import type { WorkTap } from "../../process/taps.js";
import type { WriteSet } from "../../store/index.js";
import type { FlowWrites } from "../journal/changes.js";
import type { Stored } from "../journal/entry.js";
import type { How } from "../machine/state.js";
import type { FlowStepOutcome } from "./taps.js";

/** Further parts of an ask. */
export interface AskOptions {
  /** Written with the outcome of a body. */
  readonly extraOf?: () => FlowWrites | undefined;
  /** Makes what the code gets of the outcome. */
  readonly finish?: (value: unknown) => unknown;
}

/** The body of an ask of type `run`. */
export interface Running {
  /** Ends it early: its outcome does not count any more. */
  abort(reason: unknown): void;
}

/** A call of the flow's code. */
export interface Call extends Settler {
  readonly kind: string;
  readonly key: string;
  readonly how: How;
  /** Type `run`: starts an attempt. */
  readonly start?: ((attempt: number) => Running | undefined) | undefined;
  running?: Running | undefined;
  /** Follows its attempt. */
  tap?: WorkTap<FlowStepOutcome> | undefined;
  /** Under the simulator: its promise, which settles in a step of its own. */
  going?: Promise<unknown> | undefined;
  /** The writes that are committed with its outcome, or with its begin if it prepares. */
  extra?: FlowWrites | undefined;
  /** Type `run` that commits: hands the transaction its write set, and the value that was encoded for it. */
  grant?: ((set: WriteSet) => void) | undefined;
  encoded?: Stored;
  /** Makes of the decoded outcome what the code gets. Throws what the code gets as an error. */
  readonly finish?: ((value: unknown) => unknown) | undefined;
}

/** Something that the code of a flow waits for, for people. */
export interface FlowAskInfo {
  readonly kind: string;
  readonly key: string;
  /** A body of it runs. */
  readonly isRunning: boolean;
  /** When it ends by itself, or is tried again, in milliseconds since 1970. */
  readonly dueAt: number | undefined;
}
