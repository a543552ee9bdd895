// Apache Storm and the libraries of its users against ours: our components inside Storm, and storm.py, pystorm and
// streamparse inside our host. Prints a line of counts for each word count, and the counts of all at the end. A tool that
// is not on this machine, or cannot be downloaded, is skipped with a message. Everything listens on loopback only.

import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { inOurHost } from "./in-our-host.mjs";
import { underStorm } from "./under-storm.mjs";

const run = promisify(execFile);
const here = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));
const work = join(root, ".build/storm");
const dist = join(root, "dist/");
const report = join(root, ".build/storm.json");
/** Time for all downloads: some 60 MB at the first run. */
const DOWNLOAD_MS = 180_000;

class Missing extends Error {}

async function has(command, ...args) {
  try {
    await run(command, args);
  } catch {
    throw new Missing(`there is no ${command} on this machine`);
  }
}

async function fetched(what, command, args) {
  try {
    return await run(command, args, { timeout: DOWNLOAD_MS, maxBuffer: 1 << 24 });
  } catch (error) {
    const said = `${error.stderr ?? ""}${error.stdout ?? ""}`.trim().split("\n")[0];
    const why = error.killed ? `not within ${DOWNLOAD_MS} ms` : said || error.message;
    throw new Missing(`${what} could not be had: ${why.slice(0, 300)}`);
  }
}

/** Class path of Storm, and of our topologies for Storm. */
async function java() {
  await has("java", "-version");
  await has("javac", "-version");
  await has("mvn", "-version");
  const list = join(work, "classpath");
  const args = [
    "-q",
    "-B",
    "-f",
    join(here, "pom.xml"),
    "dependency:build-classpath",
    `-Dmdep.outputFile=${list}`,
  ];
  await fetched("Apache Storm", "mvn", args);
  const storm = readFileSync(list, "utf8").trim();
  const classes = join(work, "classes");
  const source = join(here, "src/main/java/signalbox/LocalStorm.java");
  await run("javac", ["--release", "17", "-proc:none", "-d", classes, source], {
    env: { ...process.env, CLASSPATH: storm },
  });
  return { classpath: [classes, storm].join(delimiter), storm };
}

/** A virtual environment with the libraries; storm.py comes with Storm. */
async function python(storm) {
  await has("python3", "--version");
  const venv = join(work, "venv");
  if (!existsSync(join(venv, "bin/streamparse_run"))) {
    await run("python3", ["-m", "venv", venv]);
    const wanted = ["-q", "--disable-pip-version-check", "-r", join(here, "python/requirements.txt")];
    await fetched("pystorm and streamparse", join(venv, "bin/pip"), ["install", ...wanted]);
  }
  const jar = storm.split(delimiter).find((path) => path.includes("multilang-python"));
  const { stdout } = await run("unzip", ["-p", jar, "resources/storm.py"]).catch(() => {
    throw new Missing("there is no unzip on this machine, for storm.py in its jar");
  });
  writeFileSync(join(work, "storm.py"), stdout);
  return { venv };
}

const counts = { passed: 0, failed: 0 };
function print({ name, text, complaints }) {
  if (complaints.length === 0) counts.passed++;
  else counts.failed++;
  console.log(`${complaints.length === 0 ? "ok   " : "FAIL "} ${name}: ${text}`);
  for (const complaint of complaints) console.log(`      ${complaint}`);
}

if (!existsSync(dist)) throw new Error("there is no dist: npm run build");
mkdirSync(work, { recursive: true });
// The report says "failed" until the run has succeeded, because the run may not reach its end.
writeFileSync(report, JSON.stringify({ passed: 0, failed: 1 }));
try {
  const { classpath, storm } = await java();
  for (const result of await underStorm(work, { classpath, dist })) print(result);
  for (const result of await inOurHost(work, { dist, ...(await python(storm)) })) print(result);
} catch (error) {
  if (!(error instanceof Missing)) throw error;
  console.log(`skip  ${error.message}`);
}
writeFileSync(report, JSON.stringify(counts));
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.failed === 0 ? 0 : 1;
