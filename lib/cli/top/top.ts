// `signalbox top`: a running program on a screen, as `top` of Unix shows a machine; or as text and JSON for pipes. It asks two operations of the
// program's admin socket, and changes nothing.

import { toJson } from "../../admin/json-view.js";
import { remoteOperations } from "../../admin/system/system-table.js";
import { printable } from "../../process/printable.js";
import { type Given, Misuse, type OptionSpecs, parseArguments } from "../shell/arguments.js";
import type { StoreCommandHost } from "../shell/context.js";
import { failureText } from "../shell/document.js";
import { EXIT } from "../shell/exit.js";
import { indentedJson, jsonText } from "../shell/json-text.js";
import { PROGRAM, type ProgramReach, programAt } from "../shell/program-option.js";
import type { Screen, ScreenEvents } from "../shell/screen.js";
import { styleOf } from "../shell/style.js";
import { among, length, most } from "../shell/values.js";
import { ORDERS, type Sample, type TopQuestion } from "./top-machine.js";
import { inTurn, onScreen, ReachedProgram } from "./top-process.js";
import { sampleText } from "./view.js";

/** The surroundings of the command. */
export interface TopHost extends StoreCommandHost, ProgramReach {
  /** Takes the terminal. Undefined: standard output is none, or one that cannot be drawn over. */
  readonly openScreen: ((events: ScreenEvents) => Screen) | undefined;
  /** Calls `fn` after so many milliseconds; returns the call that cancels it. */
  after(ms: number, fn: () => void): () => void;
  /** Signals by which people and machines end a command. */
  interruption(): { readonly signal: AbortSignal; readonly code: number; release(): void };
}

/** Without `--interval`. */
const INTERVAL_MS = 1_000;
/** Shorter ones cost the program more than they show. */
const LEAST_INTERVAL_MS = 100;
/** Without `--limit`: on a screen, and in a text. */
const LIMIT = { screen: 200, text: 20 } as const;
/** Of the operation. */
const MOST_LIMIT = 500;

const OPTIONS = {
  by: among("ORDER", ORDERS, `the order of the processes: ${ORDERS.join(", ")}. Default: mailbox`),
  find: { value: "TEXT", help: "only processes with this in their pid, name, label or kind" },
  kind: { value: "KIND", help: "only processes of this kind, such as server" },
  limit: most(
    `most processes, ${MOST_LIMIT} at most. Default: ${LIMIT.screen} on a screen, else ${LIMIT.text}`,
  ),
  interval: {
    ...length(
      'time between two looks, such as "5 seconds". Default 1 second. Not on a screen: prints until it is ended',
    ),
    gives: "intervalMs",
  },
  count: most(
    "prints so many samples as text, also on a terminal, and ends. Default without --interval: one",
  ),
  ...PROGRAM,
  json: { help: "prints a JSON document, or one on each line with --interval or --count" },
} as const satisfies OptionSpecs;

type Options = Given<typeof OPTIONS>;

/** The help of the command. */
export const USAGE: string = `usage: signalbox top --store STORE [options]

Shows what a running program does: its processes by mailbox, growth, messages a second, busy time or age, and what went wrong. On a
terminal it draws a screen: m g h b a choose the order, / searches, arrows scroll, space holds the picture, q quits. Elsewhere it prints
text once. It asks the program over its admin socket, and changes nothing.

${optionLines()}
  --help             shows this text

exit codes: 0 success; 2 wrong arguments, or no program listens; 130, 143 or 129 when a signal ends it`;

function optionLines(): string {
  return Object.entries<OptionSpecs[string]>(OPTIONS)
    .map(
      ([name, { value, help }]) =>
        `  ${`--${name}${value === undefined ? "" : ` ${value}`}`.padEnd(17)}  ${help}`,
    )
    .join("\n");
}

/** Runs `signalbox top` with these arguments. Resolves with the exit code. */
export async function top(args: readonly string[], host: TopHost): Promise<number> {
  try {
    const given = optionsOf(args, host);
    if (given !== "help") return await shown(given, host);
    host.print(USAGE);
    return EXIT.fine;
  } catch (error) {
    if (args.includes("--json")) host.print(failureText(error));
    host.complain(printable(`signalbox: ${error instanceof Error ? error.message : String(error)}`));
    return EXIT.misuse;
  }
}

/** @throws Misuse */
function optionsOf(args: readonly string[], host: TopHost): Options | "help" {
  try {
    const asked = parseArguments(args, OPTIONS, {}, host);
    if (asked === "help") return "help";
    const { words, given } = asked;
    if (words.length > 0) throw new Misuse(`too many arguments: ${words.join(" ")}`);
    if ((given.limit ?? 1) > MOST_LIMIT)
      throw new Misuse(`--limit must be ${MOST_LIMIT} or less; got ${given.limit}`);
    if ((given.intervalMs ?? INTERVAL_MS) < LEAST_INTERVAL_MS)
      throw new Misuse(`--interval must be ${LEAST_INTERVAL_MS} ms or more; got ${given.intervalMs} ms`);
    return given;
  } catch (error) {
    throw error instanceof Misuse
      ? new Misuse(`top: ${error.message}\nsignalbox top --help shows its arguments`)
      : error;
  }
}

async function shown(given: Options, host: TopHost): Promise<number> {
  const { by = "mailbox", find = "", kind, json = false, intervalMs = INTERVAL_MS, system } = given;
  const openScreen = json || given.count !== undefined ? undefined : host.openScreen;
  const { limit = openScreen === undefined ? LIMIT.text : LIMIT.screen } = given;
  const question: TopQuestion = { by, find, limit, ...(kind !== undefined && { kind }) };
  const program = new ReachedProgram(
    () => programAt(given, host),
    ({ ask }, asked, signal) =>
      sampleOf(
        remoteOperations((op, args) => ask(op, args, signal), system),
        asked,
      ),
  );
  const interrupted = host.interruption();
  const { signal } = interrupted;
  try {
    if (openScreen === undefined) {
      const { count = given.intervalMs === undefined ? 1 : Number.POSITIVE_INFINITY } = given;
      const isOne = given.intervalMs === undefined && given.count === undefined;
      await inTurn(
        program,
        question,
        { intervalMs, count, after: host.after },
        printer(question, host, json, isOne),
        signal,
      );
    } else {
      const first = await program.sample(question, signal);
      const paint = styleOf(host.colours, {});
      await onScreen(
        program,
        first,
        { ...question, intervalMs },
        { open: openScreen, after: host.after, paint },
        signal,
      );
    }
    return signal.aborted ? interrupted.code : EXIT.fine;
  } catch (error) {
    if (signal.aborted) return interrupted.code;
    throw error;
  } finally {
    interrupted.release();
    program.close();
  }
}

/** Prints samples. @param isOne - there is one, as a document of several lines */
function printer(question: TopQuestion, host: TopHost, json: boolean, isOne: boolean) {
  return (sample: Sample, isFirst: boolean): void => {
    if (json) {
      host.print((isOne ? indentedJson : jsonText)(toJson(sample)));
      return;
    }
    const text = sampleText(sample, question, host.columns);
    host.print(isFirst ? text : `\n${text}`);
  };
}

async function sampleOf(
  on: ReturnType<typeof remoteOperations>,
  { find, ...question }: TopQuestion,
): Promise<Sample> {
  const top = await on.top({ ...question, ...(find !== "" && { find }) });
  return { overview: await on.overview(), top };
}
