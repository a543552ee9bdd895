// Which nats-server the tests use: the newest of those on the machine. `.ci/nats` builds one into the cache of the user. The environment
// variable NATS_SERVER names another one, to run the tests on an older release.

import { execFileSync } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { describe } from "vitest";

/** A server that can be started. */
export interface NatsProgram {
  readonly path: string;
  /** Such as `2.12.15`. */
  readonly version: string;
}

/** The release from which on a message may have a time to live of its own, which leases need. */
export const LEASES = "2.11";

function programs(): NatsProgram[] {
  const cache = process.env.XDG_CACHE_HOME || join(homedir(), ".cache");
  const folders = [
    join(cache, "signalbox", "bin"),
    ...(process.env.PATH ?? "").split(delimiter),
    "/usr/sbin",
  ].map((folder) => join(folder, "nats-server"));
  const { NATS_SERVER: only } = process.env;
  return [...new Set(only === undefined ? folders : [only])].flatMap((path) => {
    try {
      accessSync(path, constants.X_OK);
      const [, version] =
        /v(\d+\.\d+\.\d+)/.exec(execFileSync(path, ["--version"], { encoding: "utf8" })) ?? [];
      return version === undefined ? [] : [{ path, version }];
    } catch {
      return [];
    }
  });
}

/** Whether a release is this one or a later one. */
export function isFrom(version: string, least: string): boolean {
  return version.localeCompare(least, "en", { numeric: true }) >= 0;
}

/** The newest server of this machine. */
export const natsProgram: NatsProgram | undefined = programs().reduce<NatsProgram | undefined>(
  (best, one) => (best === undefined || !isFrom(best.version, one.version) ? one : best),
  undefined,
);

/** Why there can be no server here. Undefined: there can. */
export const noNats: string | undefined =
  natsProgram === undefined
    ? "no nats-server on this machine (Debian: apt-get install nats-server)"
    : undefined;

/** Why there can be no leases over JetStream here. Undefined: there can. */
export const noLeases: string | undefined =
  natsProgram === undefined || isFrom(natsProgram.version, LEASES)
    ? noNats
    : `nats-server ${natsProgram.version}, and leases need ${LEASES}: .ci/nats builds one where Go is`;

/** As `describe`, for tests that need a server. Where there is none they are skipped, and the title says why. */
export function describeNats(title: string, tests: () => void): void {
  describeUnless(noNats, title, tests);
}

/** As `describe`, for tests that need a server whose messages may have a time to live of their own. */
export function describeNatsLeases(title: string, tests: () => void): void {
  describeUnless(noLeases, title, tests);
}

function describeUnless(why: string | undefined, title: string, tests: () => void): void {
  if (why === undefined) describe(title, tests);
  else describe.skip(`${title} [skipped: ${why}]`, tests);
}
