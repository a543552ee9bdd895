// Storm's library for Python, out of the jar that Storm comes with.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { unzipSync } from "fflate";
import { within } from "../../limits.mjs";
import { STORM_VERSION } from "../home.mjs";

const pom = fileURLToPath(new URL("../../pom.xml", import.meta.url));
const DOWNLOAD_MS = 120_000;

/** Writes `storm.py` into a folder. @returns false without Python, or when the jar cannot be had */
export async function stormPy(folder) {
  mkdirSync(folder, { recursive: true });
  const artifact = `-Dartifact=org.apache.storm:multilang-python:${STORM_VERSION}`;
  const copy = ["-q", "-B", "-f", pom, "dependency:copy", artifact, `-DoutputDirectory=${folder}/jars`];
  if (!(await succeeds("python3", ["--version"]))) return false;
  if (!(await succeeds("mvn", ["-o", ...copy])) && !(await succeeds("mvn", copy))) return false;
  const jar = readFileSync(join(folder, "jars", `multilang-python-${STORM_VERSION}.jar`));
  mkdirSync(join(folder, "resources"));
  writeFileSync(join(folder, "resources/storm.py"), unzipSync(jar)["resources/storm.py"]);
  return true;
}

async function succeeds(command, args) {
  const { code } = await within(DOWNLOAD_MS, command, args).catch(() => ({ code: null }));
  return code === 0;
}
