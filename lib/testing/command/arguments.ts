// The arguments of the command.

/** The arguments of `signalbox replay`. */
export interface Arguments {
  readonly file: string;
  /** File to write the page to. */
  readonly html: string | undefined;
  /** Shows the recorded steps only, and runs nothing. */
  readonly show: boolean;
  readonly module: string | undefined;
  readonly export: string | undefined;
}

export const USAGE: string = `usage: signalbox replay FILE [--html OUT] [--show] [--module MODULE] [--export NAME]

Shows a failing schedule that explore has kept (option \`viewer\`). If the file says where its scenario is, or --module and
--export do, runs the schedule again and says whether it still fails in the same way.

  --html OUT        writes the schedule as a page for a browser
  --show            shows the recorded steps, and runs nothing
  --module MODULE   the module that exports the scenario
  --export NAME     the name of the export
  --help            shows this text

exit codes: 0 shown, or the schedule passes now; 1 it still fails in the same way; 2 wrong arguments, or a file or module
that cannot be used; 3 it fails in another way, or does not fit the scenario any more`;

const VALUED = ["html", "module", "export"] as const;

/** @throws Error for wrong arguments, with the usage */
export function parseArguments(args: readonly string[]): Arguments | "help" {
  const values = new Map<string, string>();
  const words: string[] = [];
  let show = false;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    const [, option = arg, inline] = /^--([a-z]+)(?:=(.*))?$/s.exec(arg) ?? [];
    if (arg === "--help" || arg === "-h") return "help";
    if (arg === "--show") show = true;
    else if ((VALUED as readonly string[]).includes(option))
      values.set(option, inline ?? valueAt(args, ++i, arg));
    else if (arg.startsWith("-")) throw wrong(`there is no option ${arg}`);
    else words.push(arg);
  }
  if (words.length === 0) return "help";
  const [verb, file, ...rest] = words;
  if (verb !== "replay") throw wrong(`there is no command ${verb}`);
  if (file === undefined) throw wrong("replay needs a FILE");
  if (rest.length > 0) throw wrong(`replay takes one FILE, and not also ${rest.join(" ")}`);
  const [html, module, name] = VALUED.map((key) => values.get(key));
  return { file, html, show, module, export: name };
}

function valueAt(args: readonly string[], index: number, option: string): string {
  const value = args[index];
  if (value === undefined || value.startsWith("--")) throw wrong(`${option} needs a value`);
  return value;
}

function wrong(problem: string): Error {
  return new Error(`${problem}\n${USAGE}`);
}
