// A home of Apache Storm made of Maven's artifacts: the class paths of a release, and a `bin/storm` of our own. The jars are
// kept in the home folder of the user, so that only the first run downloads them.

import { chmodSync, copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { within } from "../limits.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
export const STORM_VERSION = "2.8.3";
/** Some 90 MB are downloaded at the first run. */
const DOWNLOAD_MS = 240_000;
const QUICK_MS = 30_000;

/** Something that the proof needs is not on this machine, and cannot be downloaded. */
export class Missing extends Error {}

/** Each folder of jars, and the goals of Maven that fill it. */
const FOLDERS = [
  ["lib", ["-Pdaemons", "dependency:copy-dependencies", "-DincludeScope=runtime"]],
  ["lib-worker", ["dependency:copy-dependencies", "-DincludeScope=runtime"]],
  ["external/flux", ["dependency:copy"]],
];

async function has(command) {
  const { code } = await within(QUICK_MS, command, ["-version"]).catch(() => ({ code: null }));
  if (code !== 0) throw new Missing(`there is no ${command} on this machine`);
}

/** Copies the jars; Maven is asked to download only what it does not have. */
async function fill(folder, goals) {
  const pom = ["-q", "-B", "-f", join(here, "pom.xml"), ...goals, `-DoutputDirectory=${folder}`];
  const offline = await within(DOWNLOAD_MS, "mvn", ["-o", ...pom]);
  if (offline.code === 0) return;
  rmSync(folder, { recursive: true, force: true });
  const { code, stdout, stderr, late } = await within(DOWNLOAD_MS, "mvn", pom);
  if (code === 0) return;
  const said = `${stderr}${stdout}`.trim().split("\n")[0] || `mvn ended with ${code}`;
  throw new Missing(
    `Apache Storm could not be had: ${(late ? `not within ${DOWNLOAD_MS} ms` : said).slice(0, 300)}`,
  );
}

/**
 * The folder of Storm's home. It is complete or not there: the jars are copied beside it, and the folder is renamed.
 * @throws Missing without Java or Maven, or when the jars cannot be downloaded
 */
export async function stormHome(cache = join(homedir(), ".cache/signalbox")) {
  await has("java");
  const home = join(cache, `storm-${STORM_VERSION}`);
  if (!existsSync(home)) {
    await has("mvn");
    const beside = `${home}.${process.pid}`;
    try {
      for (const [folder, goals] of FOLDERS) await fill(join(beside, folder), goals);
      for (const folder of ["extlib", "extlib-daemon"]) mkdirSync(join(beside, folder));
      writeFileSync(join(beside, "RELEASE"), `${STORM_VERSION}\n`);
      renameSync(beside, home);
    } catch (error) {
      rmSync(beside, { recursive: true, force: true });
      // Another run was faster.
      if (!existsSync(home)) throw error;
    }
  }
  // These are ours, and not Maven's: those of this version of the proof.
  mkdirSync(join(home, "bin"), { recursive: true });
  for (const file of ["storm", "storm.mjs"]) {
    const [from, to] = [join(here, "bin", file), join(home, "bin", file)];
    copyFileSync(from, `${to}.${process.pid}`);
    chmodSync(`${to}.${process.pid}`, 0o755);
    renameSync(`${to}.${process.pid}`, to);
  }
  return home;
}

// By itself, it only makes the home.
if (process.argv[1] === fileURLToPath(import.meta.url))
  await stormHome().catch((error) => {
    if (!(error instanceof Missing)) throw error;
  });
