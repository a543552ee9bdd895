// The standard streams of this program as the way to a host of topologies: the only file of multilang that reaches them.

import { node } from "../../../process/node-modules.js";
import { MultilangError } from "../protocol/errors.js";

interface Events {
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  off(event: string, listener: (...args: unknown[]) => void): unknown;
}

/** What is used of a stream of Node to read from: stated here, so that its types are nobody's business who has none. */
export interface InputStream extends Events {
  pause(): unknown;
  resume(): unknown;
}

/** What is used of a stream of Node to write to. */
export interface OutputStream extends Events {
  write(text: string): boolean;
}

/** Where a component is to read and write; the standard streams unless given. */
export interface StdioOptions {
  readonly input?: InputStream;
  readonly output?: OutputStream;
}

export interface StdioEvents {
  data(bytes: Uint8Array): void;
  /** The host is gone, or wants this program to end. */
  ended(): void;
  /** The output has room again. */
  drained(): void;
  /** Somebody wrote this line to the standard output. */
  stray(line: string): void;
}

export interface StdioPort {
  /** Writes to the host. False: there is no more room, `drained` tells when. */
  write(text: string): boolean;
  /** Reads no more until `resume`. */
  pause(): void;
  resume(): void;
  /** Puts a file named after the process id into a directory, and gives that id. */
  touch(directory: string): number;
  /** Writes lines to the standard error, when the output was the standard output: the host never heard of them. */
  complain(lines: readonly string[]): void;
  /** Lets go of the streams, and leaves them as they were. */
  close(): void;
}

export type OpenStdio = (options: StdioOptions, events: StdioEvents) => StdioPort;

/**
 * Listens to the host. On the standard streams it ends at SIGTERM too, and what others write there goes to `stray`.
 *
 * @throws MultilangError when the standard output was written to before: the host takes that for a broken message
 */
export const openStdio: OpenStdio = (
  { input = node.process.stdin, output = node.process.stdout },
  events,
) => {
  const own = output === node.process.stdout;
  // A file has no such count, and a terminal no host at its other end.
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
  // The host has closed its end.
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
      // Paused, it does not keep this program alive.
      input.pause();
      // The handler of its errors stays: what was written last may yet meet a closed pipe.
    },
  };
};

/** Characters of a line; what is longer is told in parts. */
const MOST_OF_LINE = 8_192;

/** Sends what is written to the standard output elsewhere, by lines. The function that it gives ends that. */
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
    if (rest.length > MOST_OF_LINE) {
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
