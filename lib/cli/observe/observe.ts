// `signalbox observe`: the page of the observer beside a running program, which needs no code for it; or on a store when no program has it open.

import type { ObserverSource } from "../../observer/feed/source.js";
import { printable } from "../../process/printable.js";
import { type Given, Misuse, type OptionSpecs, parseArguments } from "../shell/arguments.js";
import type { StoreCommandHost } from "../shell/context.js";
import { failureText } from "../shell/document.js";
import { EXIT } from "../shell/exit.js";
import { jsonText } from "../shell/json-text.js";
import { PROGRAM, type ProgramPlace } from "../shell/program-option.js";
import { storeNeeded } from "../shell/store-option.js";
import { whole } from "../shell/values.js";

/** Something to observe. */
export interface Observed extends ObserverSource {
  /** What it is, for people: a running program, or a store alone. */
  readonly through: string;
  close(): Promise<void>;
}

/** A server of the observer that runs. */
export interface ObserverServer {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

/** How the server is to run. */
export interface ServerWishes {
  readonly port: number;
  readonly actions: boolean;
  /** Told of each change that a viewer asks for. */
  readonly audit: (text: string) => void;
}

/** The surroundings of the command. */
export interface ObserveHost extends StoreCommandHost {
  /** Finds what is to be observed. Undefined: no program listens there, and there is no store. @throws Error */
  find(at: ProgramPlace, system: string | undefined): Promise<Observed | undefined>;
  /** Opens the page. @throws Error when the port is taken */
  serve(source: ObserverSource, wishes: ServerWishes): Promise<ObserverServer>;
  /** Signals by which people and machines end a command. */
  interruption(): { readonly signal: AbortSignal; readonly code: number; release(): void };
}

const MOST_PORT = 65_535;
const PORT = 4_000;

const OPTIONS = {
  store: {
    ...PROGRAM.store,
    help: "the file of a SQLite store, or the URL of a PostgreSQL database. Default: SIGNALBOX_STORE",
  },
  socket: PROGRAM.socket,
  system: PROGRAM.system,
  port: whole("PORT", 0, `the port of the page, on this machine alone. Default ${PORT}; 0: any`),
  actions: {
    help: "lets the page change things: suspend a process, cancel a flow. Each change is printed. Default: it only shows",
  },
  json: { help: "prints the address as a JSON document in one line" },
} as const satisfies OptionSpecs;

/** The help of the command. */
export const USAGE: string = `usage: signalbox observe --store STORE [--port PORT] [--actions]

Opens a page that shows a running program: what went wrong and why, its supervision tree, processes, topologies, flows, pipelines and
queues. The first line is the address to open in a browser. The page is served by this command, which asks the program over its admin
socket. When no program has the store open, the page shows what is in the store. Ends with Ctrl-C.

${optionLines()}
  --help          shows this text

exit codes: 0 ended by Ctrl-C or SIGTERM; 2 wrong arguments, nothing to observe, or the port is taken`;

function optionLines(): string {
  return Object.entries<OptionSpecs[string]>(OPTIONS)
    .map(
      ([name, { value, help }]) =>
        `  ${`--${name}${value === undefined ? "" : ` ${value}`}`.padEnd(14)}  ${help}`,
    )
    .join("\n");
}

/** Runs `signalbox observe` with these arguments. Resolves with the exit code. */
export async function observe(args: readonly string[], host: ObserveHost): Promise<number> {
  try {
    const given = optionsOf(args, host);
    if (given !== "help") return await observed(given, host);
    host.print(USAGE);
    return EXIT.fine;
  } catch (error) {
    if (args.includes("--json")) host.print(failureText(error, true));
    host.complain(printable(`signalbox: ${error instanceof Error ? error.message : String(error)}`));
    return EXIT.misuse;
  }
}

/** @throws Misuse */
function optionsOf(args: readonly string[], host: ObserveHost): Given<typeof OPTIONS> | "help" {
  try {
    const asked = parseArguments(args, OPTIONS, {}, host);
    if (asked === "help") return "help";
    const { words, given } = asked;
    if (words.length > 0) throw new Misuse(`too many arguments: ${words.join(" ")}`);
    if ((given.port ?? 0) > MOST_PORT)
      throw new Misuse(`--port must be ${MOST_PORT} or less; got ${given.port}`);
    if (given.socket !== undefined && given.store !== undefined)
      throw new Misuse("--socket cannot be combined with --store");
    return given;
  } catch (error) {
    throw error instanceof Misuse
      ? new Misuse(`observe: ${error.message}\nsignalbox observe --help shows its arguments`)
      : error;
  }
}

async function observed(given: Given<typeof OPTIONS>, host: ObserveHost): Promise<number> {
  const { socket, port = PORT, actions = false, json = false } = given;
  const at =
    socket === undefined ? { store: storeNeeded(given.store ?? host.defaultStore, "flows.db") } : { socket };
  const interrupted = host.interruption();
  try {
    const source = await host.find(at, given.system);
    if (source === undefined) throw new Misuse(`no program listens for ${at.store ?? at.socket}`);
    try {
      const audit = (text: string): void => host.complain(printable(text));
      const server = await host.serve(source, { port, actions, audit });
      try {
        announce(server, source, { json, actions }, host);
        await ended(interrupted.signal);
      } finally {
        await server.close();
      }
    } finally {
      await source.close();
    }
    return EXIT.fine;
  } finally {
    interrupted.release();
  }
}

function announce(
  { url, port }: ObserverServer,
  { name, through }: Observed,
  { json, actions }: { readonly json: boolean; readonly actions: boolean },
  host: ObserveHost,
): void {
  if (json) {
    host.print(jsonText({ url, port, name, through, actions }));
    return;
  }
  host.print(url);
  host.print(printable(`shows ${through}${actions ? ", and lets viewers change it" : ""}; Ctrl-C ends it`));
}

function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
