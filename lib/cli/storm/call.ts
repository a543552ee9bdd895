// Calls of Storm's own program: where it is, which Nimbus it asks, how long it may take, and what its failure means.

import { oneLine } from "../../process/printable.js";
import { type Given, Misuse, type OptionSpec } from "../shell/arguments.js";
import { length, type ReadOption } from "../shell/values.js";
import { failureOf } from "./answers.js";
import type { StormContext } from "./context.js";
import { type StormHome, stormHome } from "./storm-home.js";

/** Where Nimbus listens. */
interface NimbusAddress {
  readonly host: string;
  readonly port: number;
}

/** The port of Nimbus in Storm's defaults. */
const NIMBUS_PORT = 6_627;
/** Storm's program starts Java three times, and a submit uploads the jar. */
const LIMIT_MS = 120_000;
const HIGHEST_PORT = 65_535;

/** Options of the commands that call Storm's program. */
export const CLUSTER: {
  readonly "storm-home": OptionSpec & { readonly value: string; readonly gives: "stormHome" };
  readonly nimbus: ReadOption<NimbusAddress>;
  readonly timeout: ReadOption<number> & { readonly gives: "timeoutMs" };
  readonly verbose: OptionSpec;
} = {
  "storm-home": {
    value: "DIR",
    help: "the installation of Storm. Default: STORM_HOME, else that of the program storm in PATH",
    gives: "stormHome",
  },
  nimbus: {
    value: "HOST:PORT",
    help: `where Nimbus listens; the port may be left out for ${NIMBUS_PORT}. Default: as storm.yaml says`,
    read: nimbusGiven,
  },
  timeout: { ...length('how long Storm\'s program may take. Default: "2 min"'), gives: "timeoutMs" },
  verbose: { help: "prints the output of Storm's program, on standard error" },
};

export type ClusterGiven = Given<typeof CLUSTER>;

/** @throws Misuse */
function nimbusGiven(text: string, option: string): NimbusAddress {
  const [, bare = "", bracketed, port = String(NIMBUS_PORT)] =
    /^(?:([^\s:[\]]+)|\[([0-9a-f:.]+)\])(?::(\d{1,5}))?$/i.exec(text) ?? [];
  const host = bracketed ?? bare;
  if (host !== "" && Number(port) >= 1 && Number(port) <= HIGHEST_PORT) return { host, port: Number(port) };
  throw new Misuse(
    `--${option} must be a host and a port, such as storm.example.com:6627; got ${JSON.stringify(text)}`,
  );
}

/** The options by which Storm's program learns where Nimbus is. */
export function nimbusArguments(nimbus: NimbusAddress | undefined): readonly string[] {
  if (nimbus === undefined) return [];
  const { host, port } = nimbus;
  return ["-c", `nimbus.seeds=${JSON.stringify([host])}`, "-c", `nimbus.thrift.port=${port}`];
}

/**
 * Calls Storm's program. `then` gets its standard output, when it has succeeded. Resolves with the exit code of the command.
 *
 * @throws Refusal when Nimbus says no. @throws Misuse when it cannot be asked
 */
export async function callStorm(
  { host }: StormContext,
  { stormHome: given, timeoutMs = LIMIT_MS, verbose }: ClusterGiven,
  argumentsIn: (home: StormHome) => readonly string[],
  then: (stdout: string) => number,
): Promise<number> {
  const home = stormHome(given, host);
  const args = argumentsIn(home);
  const { code, stdout, output, problem, interrupted } = await host.spawned(home.program, args, {
    limitMs: timeoutMs,
  });
  if (verbose) for (const line of output.trimEnd().split(/\r?\n/)) host.complain(oneLine(line));
  if (interrupted !== undefined) return interrupted;
  if (code === 0 && problem === undefined) return then(stdout);
  const call = `storm ${args[0]}`;
  const how = problem ?? (code === undefined ? "was ended by a signal" : `ended with code ${code}`);
  throw failureOf(call, how, output);
}
