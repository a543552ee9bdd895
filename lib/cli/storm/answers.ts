// The answers of Storm's program: a table of topologies, or exceptions of Java. Their texts are those of Storm 2.8.

import { Refusal } from "../shell/answer.js";
import { Misuse } from "../shell/arguments.js";

/** A topology of a cluster. */
export interface ListedTopology {
  readonly name: string;
  readonly status: string;
  readonly tasks: number;
  readonly workers: number;
  readonly uptimeSecs: number;
  readonly id: string;
  readonly owner: string;
}

/** The id of a topology is its name, a number and the second in which it was submitted. */
const ROW = /^(.+?) +([A-Z]+) +(\d+) +(\d+) +(\d+) +(\1-\d+-\d+) *(.*?) *$/;

/** The table that `storm list` prints, behind its log. @throws Misuse when there is none */
export function topologiesOf(stdout: string): readonly ListedTopology[] {
  const lines = stdout.split(/\r?\n/);
  const start = lines.findIndex((line) => line.startsWith("Topology_name "));
  if (start < 0) {
    if (lines.some((line) => line.trim() === "No topologies running.")) return [];
    throw new Misuse("storm list printed no list of topologies");
  }
  return lines.slice(start + 1).flatMap((line) => {
    const row = ROW.exec(line);
    if (row === null) return [];
    const [, name, status, tasks, workers, uptime, id, owner] = row as unknown as string[];
    return [
      {
        name: name as string,
        status: status as string,
        tasks: Number(tasks),
        workers: Number(workers),
        uptimeSecs: Number(uptime),
        id: id as string,
        owner: owner as string,
      },
    ];
  });
}

/** An exception that ended a program of Java, and those that caused it; the first cause is the last. */
export interface JavaException {
  /** The class without its package. */
  readonly name: string;
  readonly text: string;
}

/** Exceptions of Thrift write their fields and no package: `NotAliveException(msg:word-count is not alive)`. */
const EXCEPTION =
  /^(?:Exception in thread "[^"]*"|Caused by:) (?:[\w$]+\.)*([\w$]+)(?:\(msg:(.*)\)|: ?(.*))?$/;

export function exceptionsIn(output: string): readonly JavaException[] {
  // What was logged before may be an exception that was overcome.
  const last = output.lastIndexOf('\nException in thread "');
  return output
    .slice(Math.max(0, last))
    .split(/\r?\n/)
    .flatMap((line) => {
      const [, name, message, text = ""] = EXCEPTION.exec(line) ?? [];
      return name === undefined ? [] : [{ name, text: message ?? text }];
    });
}

/** Classes by which Nimbus says no. */
const NO = /^(Wrapped)?(AlreadyAlive|NotAlive|InvalidTopology|Authorization)Exception$/;
const UNREACHABLE = /^(NimbusLeaderNotFoundException|TTransportException|ConnectException)$/;

/**
 * The error for a call of Storm's program that has failed.
 *
 * @param call - such as `storm kill`
 * @param how - such as `ended with code 1`
 */
export function failureOf(call: string, how: string, output: string): Error {
  const exceptions = exceptionsIn(output);
  const no = exceptions.find(({ name }) => NO.test(name));
  if (no !== undefined) return new Refusal(`Storm refused: ${no.text || no.name}`);
  const taken = exceptions.find(({ text }) => text.includes("already exists on the cluster"));
  if (taken !== undefined) return new Refusal(`Storm refused: ${taken.text}`);
  const lost = exceptions.find(({ name }) => UNREACHABLE.test(name));
  if (lost !== undefined)
    return new Misuse(`Nimbus cannot be reached: ${lost.text}\n--nimbus HOST:PORT says where it is`);
  const first = exceptions.at(-1);
  const last = output.trimEnd().split("\n").slice(-LAST_LINES).join("\n");
  const why = first === undefined ? `\n${last}` : ` ${first.name}${first.text && `: ${first.text}`}`;
  return new Misuse(`${call} ${how}:${why}`);
}

/** Lines of an output that no rule explains. */
const LAST_LINES = 10;
