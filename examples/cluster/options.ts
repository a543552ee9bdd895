// The command line: what may be asked for, what it is when it is not, and what is wrong with it.

import { HELP_FLAG, parsed, TEXT, whole } from "../flights/command-line.js";

export interface Options {
  /** The flights of vega-datasets when undefined. */
  readonly file: string | undefined;
  readonly nodes: number;
  readonly kills: number;
  readonly seed: number;
}

const DEFAULTS = { nodes: 3, kills: 5, seed: 1 } as const;
const MOST_NODES = 16;
const MOST_KILLS = 1_000;
const OPTIONS = { file: TEXT, nodes: TEXT, kills: TEXT, seed: TEXT, help: HELP_FLAG };

export const HELP: string = `npm run cluster -- [options]

Dispatches every flight of a file to the nodes of a cluster, which are processes that are killed
(kill -9) at random, and checks that each flight was counted exactly once. It starts the
nats-server of this machine on loopback, and ends it.

  --nodes N     how many nodes (default: ${DEFAULTS.nodes})
  --kills N     how many kills (default: ${DEFAULTS.kills})
  --seed N      seeds the choice of when and whom to kill (default: ${DEFAULTS.seed})
  --file FILE   JSON, an array of { delay, distance, time } (default: 200,000 flights of vega-datasets)
  --help        this text

Exit code: 0 when every flight was counted exactly once, 1 when not, 2 when an option or the file is wrong,
3 when there is no nats-server, 130 after Ctrl-C.
`;

/** @throws InputError */
export function parseOptions(args: readonly string[]): Options | "help" {
  const { values } = parsed({ args: [...args], options: OPTIONS });
  if (values.help === true) return "help";
  return {
    file: values.file,
    nodes: whole("--nodes", values.nodes, 1, MOST_NODES) ?? DEFAULTS.nodes,
    kills: whole("--kills", values.kills, 0, MOST_KILLS) ?? DEFAULTS.kills,
    seed: whole("--seed", values.seed, 0) ?? DEFAULTS.seed,
  };
}
