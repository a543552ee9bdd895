// Another revision of the library, built in a folder of its own, with today's benchmarks beside it.

import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { UsageError } from "./options.js";

/** A built revision; what is in its folder goes with `close`. */
export interface Revision {
  /** Its commit, shortened. */
  readonly commit: string;
  /** Today's programs, which find that revision's library. */
  readonly bench: URL;
  /** The programs of that time, for those of today's that need what the library did not have. */
  readonly ownBench: URL | undefined;
  close(): void;
}

/** The benchmarks are a script of the package: npm runs them at its root. */
const root = process.cwd();

/** @throws UsageError when git does not know the revision, or the revision does not build */
export function buildRevision(name: string): Revision {
  const commit = git("rev-parse", "--verify", "--short", "--end-of-options", `${name}^{commit}`).trim();
  const folder = mkdtempSync(join(tmpdir(), "signalbox-revision-"));
  const close = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const archive = join(folder, "archive.tar");
    git("archive", "--format=tar", "-o", archive, commit);
    run("tar", ["-xf", archive, "-C", folder], folder);
    if (readFileSync(join(folder, "package-lock.json")).equals(readFileSync(join(root, "package-lock.json"))))
      symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    else run("npm", ["ci", "--no-audit", "--no-fund"], folder);
    run("npm", ["run", "-s", "build:run"], folder);
    const own = join(folder, ".build/spec/bench");
    const today = join(folder, ".build/spec/bench-of-today");
    cpSync(join(root, ".build/spec/bench"), today, { recursive: true });
    // Its own programs are run by today's child, which measures the time of the processor too.
    for (const file of ["child.js", "program.js"])
      if (existsSync(own)) cpSync(join(today, file), join(own, file));
    return { commit, bench: folderUrl(today), ownBench: existsSync(own) ? folderUrl(own) : undefined, close };
  } catch (error) {
    close();
    throw error;
  }
}

const folderUrl = (path: string): URL => pathToFileURL(`${path}/`);

function git(...args: readonly string[]): string {
  return run("git", args, root);
}

function run(command: string, args: readonly string[], cwd: string): string {
  try {
    return execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    const [first = "it cannot be run"] = `${stderr}\n${stdout}`.trim().split("\n");
    throw new UsageError(`${command} ${args[0] ?? ""} failed: ${first}`);
  }
}
