// The command line of `npm run chaos:flows`.

import { CommandLine, SHARED_USAGE, type SharedOptions } from "../command-line.js";

export interface ChaosOptions extends SharedOptions {
  readonly store: "sqlite" | "postgres";
  /** How often the way of a host to its server is cut, or loses everything. Needs several hosts. */
  readonly cuts: number;
}

const USAGE = `npm run chaos:flows -- [--store sqlite|postgres] [--cuts N] ${SHARED_USAGE}`;

/** @throws ChaosUsageError in one line */
export function readChaosOptions(args: readonly string[]): ChaosOptions {
  const line = new CommandLine(args, USAGE, "store", { store: "sqlite", cuts: "0" });
  const store = line.one("store", ["sqlite", "postgres"]);
  const shared = line.shared(store === "postgres", 1);
  const cuts = line.whole("cuts", 0);
  if (cuts > 0 && shared.hosts === 1) throw line.wrong("--cuts needs --hosts 2 or more");
  return { ...shared, store, cuts };
}
