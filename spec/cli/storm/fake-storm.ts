// An installation of Storm, played by a script: it keeps its arguments, and answers as the test says.

import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { folderWith } from "./support.js";

export interface FakeStorm {
  readonly home: string;
  /** The variables of the shell: with Java in PATH. */
  readonly env: Readonly<Record<string, string>>;
  /** The arguments of its calls. */
  calls(): readonly (readonly string[])[];
}

const FLUX = ["external/flux/flux-core-2.8.3.jar", "external/flux/flux-wrappers-2.8.3.jar"];

/** A program of the shell at a path. */
function program(path: string, script: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
}

/**
 * @param answer - commands of the shell that play the answer
 * @param jars - the jars of the installation
 */
export function fakeStorm(answer = "exit 0", jars: readonly string[] = FLUX): FakeStorm {
  const files = Object.fromEntries([...jars, "lib/storm-client-2.8.3.jar"].map((jar) => [jar, ""]));
  const at = folderWith(files);
  const keep = `for one in "$@"; do printf '%s\\n' "$one" >> ${at("calls")}; done; echo "" >> ${at("calls")}`;
  program(at("bin/storm"), `${keep}\necho "Running: java"\n${answer}`);
  program(at("java/bin/java"), "exit 0");
  return {
    home: at(),
    env: { PATH: at("java/bin") },
    calls: () =>
      existsSync(at("calls"))
        ? readFileSync(at("calls"), "utf8")
            .split("\n\n")
            .filter((call) => call !== "")
            .map((call) => call.split("\n"))
        : [],
  };
}

/** A failure as Java prints it, as a command of the shell. */
export const failing = (exception: string): string =>
  `printf '%s\\n' 'Exception in thread "main" ${exception}' '\tat a.B.c(B.java:1)' >&2; exit 1`;
