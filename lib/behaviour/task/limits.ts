// Every limit of tasks, with its name and default, in one table. Those of Elixir, except for `concurrency`.

/** The defaults of tasks, task supervisors and task streams. */
export const TASK_DEFAULTS: {
  /** How many milliseconds `value` and `result` wait for a task. */
  readonly awaitTimeoutMs: number;
  /** How many milliseconds a task has to stop, until it is killed. */
  readonly shutdownMs: number;
  /** How many tasks of a stream run at once. */
  readonly concurrency: number;
  /** How many milliseconds the task of one item of a stream may take. */
  readonly itemTimeoutMs: number;
} = { awaitTimeoutMs: 5_000, shutdownMs: 5_000, concurrency: 16, itemTimeoutMs: 5_000 };
