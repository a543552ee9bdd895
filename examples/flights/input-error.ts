// What the person at the keyboard got wrong: told in one line, with exit code 2.

export class InputError extends Error {
  override readonly name = "InputError";

  /** Whatever is quoted from a file or an argument, it stays one line, and does nothing to the terminal. */
  constructor(message: string) {
    super(message.replace(/[\s\p{Cc}]+/gu, " ").trim());
  }
}
