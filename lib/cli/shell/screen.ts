// The whole terminal as a screen that is drawn over and over. It is given back as it was on every way out of the program: at the end of the
// command, at an error, at a signal and at `process.exit`. One of the files of this floor that reach Node.

import type { ReadStream, WriteStream } from "node:tty";

/** What a screen tells its command. */
export interface ScreenEvents {
  /** Bytes of keys. */
  input(text: string): void;
  resized(): void;
  /** Nothing can be drawn any more. */
  lost(error: Error): void;
}

/** A screen. */
export interface Screen {
  readonly columns: number;
  readonly rows: number;
  /** Draws lines from the top. While the terminal is behind, only the newest picture is kept. */
  draw(lines: readonly string[]): void;
  /** Gives the terminal back. May be called again. */
  close(): void;
}

/** The streams of a terminal, and the end of the program. */
export interface ScreenStreams {
  readonly stdin: Pick<
    ReadStream,
    "isTTY" | "on" | "off" | "setRawMode" | "setEncoding" | "pause" | "resume"
  >;
  readonly stdout: Pick<WriteStream, "columns" | "rows" | "write" | "on" | "off" | "once">;
  onExit(end: () => void): void;
  offExit(end: () => void): void;
}

/** The alternate screen, without a cursor and without wrapping: a line that is too wide is cut. */
const BEGIN = "\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J";
const END = "\u001b[?7h\u001b[?25h\u001b[?1049l";
/** The terminal shows a picture when it has all of it. Terminals that do not know this ignore it. */
const [ALL, SHOWN] = ["\u001b[?2026h", "\u001b[?2026l"];
/** For a terminal that does not say its size. */
const USUAL = { columns: 80, rows: 24 };

const process_: ScreenStreams = {
  stdin: process.stdin,
  stdout: process.stdout,
  onExit: (end) => void process.on("exit", end),
  offExit: (end) => void process.off("exit", end),
};

/** Whether standard output is a terminal that can be drawn over. */
export function hasScreen(): boolean {
  return process.stdout.isTTY === true && process.env.TERM !== "dumb";
}

/** Takes the terminal. */
export function openScreen(events: ScreenEvents, streams: ScreenStreams = process_): Screen {
  const { stdin, stdout } = streams;
  const keys = stdin.isTTY === true;
  const input = (text: string | Uint8Array): void => events.input(String(text));
  const resized = (): void => events.resized();
  const lost = (error: Error): void => events.lost(error);
  let isClosed = false;
  let isBehind = false;
  let newest: readonly string[] | undefined;

  const write = (lines: readonly string[]): void => {
    // Cleared before it is written: behind a line that fills the window, the cursor stands on its last character.
    const text = lines.map((line) => `\u001b[K${line}`).join("\r\n");
    const below = lines.length < (stdout.rows || USUAL.rows) ? "\r\n\u001b[J" : "";
    isBehind = !stdout.write(`${ALL}\u001b[H${text}${below}${SHOWN}`);
    if (isBehind) stdout.once("drain", caughtUp);
  };
  const caughtUp = (): void => {
    isBehind = false;
    const lines = newest;
    newest = undefined;
    if (lines !== undefined && !isClosed) write(lines);
  };
  const close = (): void => {
    if (isClosed) return;
    isClosed = true;
    streams.offExit(close);
    stdout.off("resize", resized);
    stdout.off("error", lost);
    stdout.off("drain", caughtUp);
    if (keys) {
      stdin.off("data", input);
      stdin.setRawMode(false);
      stdin.pause();
    }
    stdout.write(END);
  };

  streams.onExit(close);
  stdout.on("resize", resized);
  stdout.on("error", lost);
  stdout.write(BEGIN);
  if (keys) {
    stdin.setEncoding("utf8");
    stdin.setRawMode(true);
    stdin.on("data", input);
    stdin.resume();
  }
  return {
    get columns() {
      return stdout.columns || USUAL.columns;
    },
    get rows() {
      return stdout.rows || USUAL.rows;
    },
    draw: (lines) => {
      if (isClosed) return;
      if (isBehind) newest = lines;
      else write(lines);
    },
    close,
  };
}
