// Apache Storm and the libraries of its users against ours: our components inside Storm, and storm.py, pystorm and
// streamparse inside our host. Prints a line of counts for each word count, and the counts of all at the end. A tool that
// is not on this machine, or cannot be downloaded, is skipped with a message. Everything listens on loopback only.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { FLUX_JARS, fluxDryRun } from "./flux-dry-run.mjs";
import { inOurHost } from "./in-our-host.mjs";
import { within } from "./limits.mjs";
import { underStorm } from "./under-storm.mjs";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = fileURLToPath(new URL("../..", import.meta.url));
const work = join(root, ".build/storm");
const dist = join(root, "dist/");
const report = join(root, ".build/storm.json");
/** Time for the downloads of one tool: some 60 MB for Storm, at the first run. */
const DOWNLOAD_MS = 150_000;
const QUICK_MS = 60_000;
/** Time for all word counts under Storm, and for those in our host; they take some 40 and 30 seconds. */
const STORM_MS = 210_000;
const HOST_MS = 150_000;
/** Time for Flux to read all definitions; it takes two seconds. */
const FLUX_MS = 60_000;

class Missing extends Error {}

/** Output of a command that is quick on every machine. */
async function run(command, ...args) {
  const { code, stdout, stderr, late } = await within(QUICK_MS, command, args);
  if (code === 0) return stdout;
  throw new Error(
    `${command} ${late ? `did not end within ${QUICK_MS} ms` : `ended with ${code}`}: ${stderr}`,
  );
}

async function has(command, ...args) {
  try {
    await run(command, ...args);
  } catch {
    throw new Missing(`there is no ${command} on this machine`);
  }
}

async function fetched(what, command, args) {
  const { code, stdout, stderr, late } = await within(DOWNLOAD_MS, command, args);
  if (code === 0) return;
  const said = `${stderr}${stdout}`.trim().split("\n")[0];
  const why = late ? `not within ${DOWNLOAD_MS} ms` : said || `${command} ended with ${code}`;
  throw new Missing(`${what} could not be had: ${why.slice(0, 300)}`);
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
  await run("javac", "--release", "17", "-proc:none", "-cp", storm, "-d", classes, source);
  return { classpath: [classes, storm].join(delimiter), storm };
}

/** Class path of Flux. Its artifacts name a parent that Maven does not find, so that it copies the jars alone. */
async function flux() {
  const folder = join(work, "flux");
  for (const jar of FLUX_JARS) {
    if (existsSync(join(folder, jar))) continue;
    const artifact = `org.apache.storm:${jar.replace(/-([\d.]+)\.jar$/, ":$1")}`;
    await fetched("Flux", "mvn", [
      ...["-q", "-B", "dependency:copy"],
      ...[`-Dartifact=${artifact}`, `-DoutputDirectory=${folder}`],
    ]);
  }
  return FLUX_JARS.map((jar) => join(folder, jar)).join(delimiter);
}

/** A virtual environment with the libraries; storm.py comes with Storm. */
async function python(storm) {
  await has("python3", "--version");
  const venv = join(work, "venv");
  if (!existsSync(join(venv, "bin/streamparse_run"))) {
    await run("python3", "-m", "venv", venv);
    const wanted = ["-q", "--disable-pip-version-check", "-r", join(here, "python/requirements.txt")];
    await fetched("pystorm and streamparse", join(venv, "bin/pip"), ["install", ...wanted]);
  }
  const jar = storm.split(delimiter).find((path) => path.includes("multilang-python"));
  const text = await run("unzip", "-p", jar, "resources/storm.py").catch(() => {
    throw new Missing("there is no unzip on this machine, for storm.py in its jar");
  });
  writeFileSync(join(work, "storm.py"), text);
  return { venv };
}

let passed = 0;
const failures = [];

/** Leaves the counts for the closing line of .ci/run, and with them what is being done: whoever ends this program finds its name there. */
function leave(doing) {
  const cut = doing === undefined ? [] : [{ test: "Apache Storm", why: `ended while it did this: ${doing}` }];
  writeFileSync(report, JSON.stringify({ passed, failures: [...failures, ...cut] }));
}

function print({ name, text, complaints }) {
  if (complaints.length === 0) passed++;
  else failures.push({ test: name, why: complaints.join("\n") });
  console.log(`${complaints.length === 0 ? "ok   " : "FAIL "} ${name}: ${text}`);
  for (const complaint of complaints) console.log(`      ${complaint}`);
}

if (!existsSync(dist)) throw new Error("there is no dist: npm run build");
mkdirSync(work, { recursive: true });
try {
  leave("downloads of Storm");
  const { classpath, storm } = await java();
  leave("definitions that Flux reads");
  await fluxDryRun(work, { classpath: [storm, await flux()].join(delimiter), limitMs: FLUX_MS }, print);
  leave("word counts under Storm");
  await underStorm(work, { classpath, dist, limitMs: STORM_MS }, print);
  leave("downloads of the Python libraries");
  const setup = await python(storm);
  leave("word counts in our host");
  await inOurHost(work, { dist, ...setup, limitMs: HOST_MS }, print);
} catch (error) {
  if (!(error instanceof Missing)) throw error;
  console.log(`skip  ${error.message}`);
}
leave();
console.log(`${passed} passed, ${failures.length} failed`);
process.exitCode = failures.length === 0 ? 0 : 1;
