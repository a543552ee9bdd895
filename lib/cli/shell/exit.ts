// The exit codes of the command.

/** The exit codes that all subcommands share. */
export const EXIT: {
  readonly fine: number;
  /** The command worked, and its answer is no: a failure that still fails, a flow that does not fit its new code. */
  readonly no: number;
  /** Wrong arguments, or a file, host or module that cannot be used. */
  readonly misuse: number;
} = { fine: 0, no: 1, misuse: 2 };
