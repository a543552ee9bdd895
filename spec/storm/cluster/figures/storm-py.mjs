// Storm's library for Python, out of the jar that Storm comes with.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { unzipSync } from "fflate";
import { within } from "../../limits.mjs";
import { Missing, STORM_VERSION } from "../home.mjs";

const pom = fileURLToPath(new URL("../../pom.xml", import.meta.url));
const DOWNLOAD_MS = 120_000;

/** Writes `storm.py` into a folder. @throws Missing without Python, or when the jar cannot be had */
export async function stormPy(folder) {
  const artifact = `-Dartifact=org.apache.storm:multilang-python:${STORM_VERSION}`;
  const copy = ["-q", "-B", "-f", pom, "dependency:copy", artifact, `-DoutputDirectory=${folder}/jars`];
  if (!(await succeeds("python3", ["--version"]))) throw new Missing("there is no python3 on this machine");
  if (!(await succeeds("mvn", ["-o", ...copy])) && !(await succeeds("mvn", copy)))
    throw new Missing("Maven cannot download storm.py");
  const jar = readFileSync(join(folder, "jars", `multilang-python-${STORM_VERSION}.jar`));
  mkdirSync(join(folder, "resources"), { recursive: true });
  writeFileSync(join(folder, "resources/storm.py"), unzipSync(jar)["resources/storm.py"]);
}

async function succeeds(command, args) {
  const { code } = await within(DOWNLOAD_MS, command, args).catch(() => ({ code: null }));
  return code === 0;
}

// By itself, it only has Maven keep the jar.
if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = mkdtempSync(join(tmpdir(), "storm-py-"));
  await stormPy(folder).catch((error) => {
    if (!(error instanceof Missing)) throw error;
  });
  rmSync(folder, { recursive: true });
}
