// Where a process is in its life.

/**
 * `SUSPENDED`: the code of the process awaits something that is not its mailbox. `HELD`: an inspector has suspended the
 * process; it takes no messages.
 */
export const STARTING = 0;
export const IDLE = 1;
export const READY = 2;
export const RUNNING = 3;
export const SUSPENDED = 4;
export const TERMINATING = 5;
export const DEAD = 6;
export const HELD = 7;
export type State =
  | typeof STARTING
  | typeof IDLE
  | typeof READY
  | typeof RUNNING
  | typeof SUSPENDED
  | typeof TERMINATING
  | typeof DEAD
  | typeof HELD;
