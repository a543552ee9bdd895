// The command line of `npm run chaos:flows`.

import { CommandLine, SHARED_USAGE, type SharedOptions } from "../command-line.js";

export interface ChaosOptions extends SharedOptions {
  readonly store: "sqlite" | "postgres";
  /** How often the way of a host to its server is cut, or loses everything. Needs several hosts. */
  readonly cuts: number;
  /** Between how many accounts the flows move money, each transfer in one serializable transaction. 0: random programs run instead. Needs several hosts. */
  readonly accounts: number;
  /** How many loops without end keep the machine busy meanwhile. Needs several hosts. */
  readonly busy: number;
}

const USAGE = `npm run chaos:flows -- [--store sqlite|postgres] [--cuts N] [--accounts N] [--busy N] ${SHARED_USAGE}`;

const MOST_LOOPS = 64;

/** @throws ChaosUsageError in one line */
export function readChaosOptions(args: readonly string[]): ChaosOptions {
  const line = new CommandLine(args, USAGE, "store", {
    ...{ store: "sqlite", cuts: "0", accounts: "0", busy: "0" },
  });
  const store = line.one("store", ["sqlite", "postgres"]);
  const shared = line.shared(store === "postgres", 1);
  const own = {
    cuts: line.whole("cuts", 0),
    accounts: line.whole("accounts", 0),
    busy: line.whole("busy", 0, MOST_LOOPS),
  };
  for (const [name, value] of Object.entries(own))
    if (value > 0 && shared.hosts === 1) throw line.wrong(`--${name} needs --hosts 2 or more`);
  if (own.accounts === 1) throw line.wrong("--accounts is 1; money moves between 2 or more");
  return { ...shared, store, ...own };
}
