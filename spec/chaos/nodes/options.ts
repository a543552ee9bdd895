// The command line of `npm run chaos:nodes`.

import { parseArgs } from "node:util";
import { ChaosUsageError } from "../command-line.js";

export interface ChaosOptions {
  /** How often something strikes a node, its connection or the server. */
  readonly faults: number;
  readonly seed: number;
  readonly nodes: number;
  /** Dispatches that are ordered for each fault. */
  readonly dispatches: number;
  /** Servers of NATS: 1, or a cluster of 3, of which the one that leads the leases is killed. */
  readonly servers: number;
  /** What the nodes are: processes over NATS, or threads of one. */
  readonly carrier: "nats" | "threads";
}

const USAGE =
  "npm run chaos:nodes -- [--faults N] [--seed N] [--nodes N] [--dispatches N] [--servers 1|3] [--carrier nats|threads]";
const MOST_NODES = 8;

/** @throws ChaosUsageError in one line */
export function readChaosOptions(args: readonly string[]): ChaosOptions {
  const option = (standard: number) => ({ type: "string", default: String(standard) }) as const;
  const options = {
    ...{ faults: option(100), seed: option(1), nodes: option(3), dispatches: option(1_000) },
    servers: option(1),
    carrier: { type: "string", default: "nats" } as const,
  };
  let values: Readonly<Record<keyof typeof options, string>>;
  try {
    ({ values } = parseArgs({ args: [...args], options }));
  } catch (error) {
    const [problem = ""] = (error as Error).message.split(/\.\s|\n/);
    throw new ChaosUsageError(problem, USAGE);
  }
  const whole = (name: keyof typeof options, least: number, most = 1_000_000): number => {
    const number = Number(values[name]);
    if (/^\d+$/.test(values[name]) && number >= least && number <= most) return number;
    const problem = `--${name} is ${values[name]}; it has to be a whole number from ${least} to ${most}`;
    throw new ChaosUsageError(problem, USAGE);
  };
  if (values.servers !== "1" && values.servers !== "3")
    throw new ChaosUsageError(`--servers is ${values.servers}; it has to be 1 or 3`, USAGE);
  const { carrier } = values;
  if (carrier !== "nats" && carrier !== "threads")
    throw new ChaosUsageError(`--carrier is ${carrier}; it has to be nats or threads`, USAGE);
  return {
    carrier,
    faults: whole("faults", 0),
    seed: whole("seed", 0),
    nodes: whole("nodes", 2, MOST_NODES),
    dispatches: whole("dispatches", 1),
    servers: whole("servers", 1),
  };
}
