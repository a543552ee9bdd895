// The standard streams of this program as the connection to a host. No other file of multilang uses these streams.

import { node } from "../../../process/node-modules.js";
import { MultilangError } from "../protocol/errors.js";

interface Events {
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  off(event: string, listener: (...args: unknown[]) => void): unknown;
}

/** The part of a readable stream of Node that is used. Declared here, so that users need no types of Node. */
export interface InputStream extends Events {
  /** Stops the event `data` until `resume`. */
  pause(): unknown;
  /** Starts the event `data` again. */
  resume(): unknown;
}

/** The part of a writable stream of Node that is used. */
export interface OutputStream extends Events {
  /** Writes text. Returns false when the stream's buffer is full; the event `drain` follows when it is not. */
  write(text: string): boolean;
}

/** The streams to read from and write to. Default: the standard streams. */
export interface StdioOptions {
  /** The stream to read from. Default: the standard input. */
  readonly input?: InputStream;
  /** The stream to write to. Default: the standard output. */
  readonly output?: OutputStream;
}

export interface StdioEvents {
  data(bytes: Uint8Array): void;
  /** The host is gone, or asks this program to end. */
  ended(): void;
  /** The output takes more again. */
  drained(): void;
  /** Other code of this program wrote this line to the standard output. */
  stray(line: string): void;
}

export interface StdioPort {
  /** Writes to the host. Returns false when the output is full, until `drained`. */
  write(text: string): boolean;
  /** Reads no more until `resume`. */
  pause(): void;
  resume(): void;
  /** Creates a file named after the process id in a directory, and returns that id. */
  touch(directory: string): number;
  /** Writes lines that the host never got to the standard error, unless the output is another stream. */
  complain(lines: readonly string[]): void;
  /** Releases the streams, and restores them. */
  close(): void;
}

/**
 * Connects to the host. On the standard streams, SIGTERM also ends the connection, and output of other code goes to
 * `stray`.
 *
 * @throws MultilangError when the standard output was written to before, because the host takes that for a message
 */
export function openStdio(
  { input = node.process.stdin, output = node.process.stdout }: StdioOptions,
  events: StdioEvents,
): StdioPort {
  const own = output === node.process.stdout;
  // A file does not count its bytes, and at a terminal there is no host.
  const before = own && !node.process.stdout.isTTY ? node.process.stdout.bytesWritten : 0;
  if (before > 0)
    throw new MultilangError(
      "output",
      `${before} bytes were written to the standard output before runComponent was called, and the host takes them ` +
        "for a message; load what prints within: runComponent(async () => (await import(…)).topology)",
    );
  const write = output.write.bind(output) as (text: string) => boolean;
  const restore = own ? redirect(events.stray) : () => undefined;
  const data = (chunk: unknown): void =>
    events.data(typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Uint8Array));
  const { ended, drained } = events;
  input.on("data", data);
  for (const event of ["end", "close", "error"]) input.on(event, ended);
  output.on("drain", drained);
  // An error means that the host has closed its end.
  output.on("error", ended);
  if (own) node.process.once("SIGTERM", ended);
  return {
    write,
    pause: () => void input.pause(),
    resume: () => void input.resume(),
    touch: (directory) => {
      node.fs.writeFileSync(node.path.join(directory, String(node.process.pid)), "");
      return node.process.pid;
    },
    complain: (lines) => {
      if (own && lines.length > 0) node.process.stderr.write(`${lines.join("\n")}\n`);
    },
    close: () => {
      restore();
      input.off("data", data);
      for (const event of ["end", "close", "error"]) input.off(event, ended);
      output.off("drain", drained);
      if (own) node.process.off("SIGTERM", ended);
      // A paused input does not keep this program alive.
      input.pause();
      // The handler of output errors stays: the last message may still meet a closed pipe.
    },
  };
}

/** Characters of a line. Longer lines are reported in parts. */
const MAX_LINE = 8_192;

/** Redirects the standard output to `stray`, line by line. Returns the function that ends the redirection. */
function redirect(stray: (line: string) => void): () => void {
  const { stdout } = node.process;
  const before = stdout.write;
  const decoder = new TextDecoder();
  let rest = "";
  const write = (chunk: string | Uint8Array, second?: unknown, third?: unknown): boolean => {
    const encoding = typeof second === "string" ? (second as BufferEncoding) : "utf8";
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk;
    const lines = (rest + decoder.decode(bytes, { stream: true })).split(/\r?\n/);
    rest = lines.pop() as string;
    if (rest.length > MAX_LINE) {
      lines.push(rest);
      rest = "";
    }
    for (const line of lines) stray(line);
    const done = typeof second === "function" ? second : third;
    if (typeof done === "function") node.process.nextTick(done as () => void);
    return true;
  };
  stdout.write = write as typeof stdout.write;
  return () => {
    stdout.write = before;
    if (rest !== "") stray(rest);
  };
}
