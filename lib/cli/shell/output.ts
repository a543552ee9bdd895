// Standard output, which may be lost: its disk is full, or its reader has gone.

import { EXIT } from "./exit.js";

/**
 * Why output is lost. The next `print` throws it, so that the command ends as after any failure, and closes its store first: to exit
 * while the thread of a SQLite driver is at work aborts the program.
 */
let lost: (Error & { readonly code?: string }) | undefined;

/** Prints a text. @throws why output is lost, once it is */
export function print(text: string): void {
  if (lost !== undefined) throw lost;
  console.log(text);
}

/** Prints a complaint, unless it is about lost output: the program ends with that one. */
export function complain(text: string): void {
  if (lost === undefined) console.error(text);
}

/** While code of the user runs, its prints go to standard error: standard output may hold one document. */
export async function printingAside<T>(work: () => Promise<T>): Promise<T> {
  const { stdout, stderr } = process;
  const write = stdout.write;
  stdout.write = stderr.write.bind(stderr) as typeof write;
  try {
    return await work();
  } finally {
    stdout.write = write;
  }
}

/** Node's exit code for a program whose modules await something while nothing is left that could happen. */
const UNSETTLED = 13;
/** Higher codes are those of signals. */
const HIGHEST_OWN = 128;

/** While code of the user runs, the end of this program is a failure: its exit code would say that the command is done. */
export async function notEnding<T>(failure: string, work: () => Promise<T>): Promise<T> {
  const ended = (given: number): void => {
    // Node's own listener comes first, and sets the code of an await.
    const code = Number(process.exitCode ?? given);
    if (code > HIGHEST_OWN) return;
    const why =
      code === UNSETTLED ? "it awaits something that never comes" : `it ended the program, with code ${code}`;
    complain(`signalbox: ${failure}: ${why}`);
    process.exitCode = EXIT.misuse;
  };
  process.on("exit", ended);
  try {
    return await work();
  } finally {
    process.off("exit", ended);
  }
}

/**
 * Runs the program, and exits with its code when all output has gone out. A reader that has seen enough, such as `head`, is no failure.
 * Output that is lost for another reason is one.
 */
export async function runAndExit(program: () => Promise<number>): Promise<void> {
  const { stdout } = process;
  const lose = (error: Error): void => {
    lost ??= error;
  };
  stdout.on("error", lose);
  const code = await program().catch((error: unknown) => {
    if (lost === undefined) throw error;
    return EXIT.misuse;
  });
  // A module that a command has loaded may hold timers or connections open. All output is written first.
  stdout.write("", (error) => {
    if (error) lose(error);
    if (lost === undefined) process.exit(code);
    if (lost.code === "EPIPE") process.exit(EXIT.fine);
    console.error(`signalbox: the output could not be written: ${lost.message}`);
    process.exit(EXIT.misuse);
  });
}
