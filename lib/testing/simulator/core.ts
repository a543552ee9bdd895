// What the parts of a world share: who acts, what can run, what ran, what it touched, whose code runs, and whether it is over.

import type { Chooser } from "../strategies/strategy.js";
import { Actors } from "./actors.js";
import { Agenda } from "./agenda.js";
import { Footprints } from "./footprints.js";
import { Oracle } from "./oracle.js";
import type { Progress } from "./progress.js";
import type { Recorder } from "./recorder.js";
import { RunningCode } from "./running-code.js";
import { ScheduleRecord } from "./schedule-record.js";

/** How one schedule runs. */
export interface CoreOptions {
  readonly chooser: Chooser;
  /** Whether the strategy needs footprints. Default false. */
  readonly observe?: boolean | undefined;
  readonly freeze: boolean;
  /** Present when the schedule runs for a report. */
  readonly recorder?: Recorder | undefined;
  /** Present when the schedule counts in a search. */
  readonly progress?: Progress | undefined;
  /** Whether the process of a path may use the host's timers and I/O. */
  readonly allowed: (path: string) => boolean;
  /** Most real milliseconds that such a process may take. */
  readonly patienceMs: number;
}

export class WorldCore<Options extends CoreOptions = CoreOptions> {
  readonly options: Options;
  readonly oracle: Oracle;
  readonly agenda: Agenda = new Agenda();
  readonly record: ScheduleRecord = new ScheduleRecord();
  readonly actors: Actors = new Actors();
  readonly code: RunningCode = new RunningCode(this.actors);
  readonly footprints: Footprints;
  /** The failure of the schedule. */
  failure: { readonly error: unknown } | undefined = undefined;
  /** The schedule was cut off at `maxSteps`. */
  bounded = false;
  /** The schedule was given up at its deadline. */
  late = false;

  constructor(options: Options) {
    this.options = options;
    this.oracle = new Oracle(options.chooser);
    this.footprints = new Footprints(options.observe === true, this.oracle);
    options.recorder?.attach(this);
  }

  fail(error: unknown): void {
    this.failure ??= { error };
  }

  /** Whether the schedule is over, for any reason. */
  get over(): boolean {
    return (
      this.failure !== undefined ||
      this.bounded ||
      this.late ||
      this.oracle.chooser.redundant === true ||
      this.oracle.broken !== undefined
    );
  }
}
