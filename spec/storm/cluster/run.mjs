// `npm run storm:cluster`: our topologies on a real cluster of Apache Storm. A ZooKeeper, a Nimbus and a supervisor run on this
// machine, in a network of their own where there can be one; see .ci/storm-cluster. The word count and the flights of examples/
// are exported and submitted by our own command line; one of Storm's workers and one of our components are killed, and the word
// count is spread anew, while it counts. In the end, both have to be exact.
//
//   home.mjs         Storm's home, of Maven's jars     bin/            the program `storm` of that home
//   daemons.mjs      the cluster                       processes.mjs   what belongs to it, and how all of it ends
//   topologies.mjs   the topologies, and their results
//
// Without Java or Maven, it says so and passes.

import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { within } from "../limits.mjs";
import { Cluster } from "./daemons.mjs";
import { Missing, stormHome } from "./home.mjs";
import { endAll, guard, kill, marked } from "./processes.mjs";
import { flightsIn, wordCountIn } from "./topologies.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const work = join(root, ".build/storm-cluster");
const report = join(root, ".build/storm-cluster.json");
const FIRST_LINES = 3_000;
const LAST_LINES = 1_000;
/** The lines that are done when a component, a worker and the assignment are gone. */
const CHILD_AT = 300;
const WORKER_AT = 1_000;
const REBALANCE_AT = 2_000;
/** Limits of a command, and of each wait for the cluster: Storm starts a worker again within some ten seconds. */
const COMMAND_MS = 90_000;
const WAIT_MS = 120_000;
const POLL_MS = 100;
/** What is shown of a log after a failure. */
const LINES_OF_A_LOG = 12;
const LENGTH_OF_A_LINE = 240;

if (!existsSync(join(root, "dist/cli/main.js"))) throw new Error("there is no dist: npm run build");
const mark = `${process.pid}-${Date.now()}`;
const beginMs = performance.now();
let passed = 0;
const failures = [];

/** Leaves the counts for the closing line of .ci/run, and with them what is being done: whoever ends this program finds its name there. */
function leave(doing) {
  const cut =
    doing === undefined ? [] : [{ test: "Storm cluster", why: `ended while it did this: ${doing}` }];
  writeFileSync(report, JSON.stringify({ passed, failures: [...failures, ...cut] }));
}

/** One part of the proof. It gives a text for its line. */
async function check(name, run) {
  leave(name);
  const text = await run().catch((error) => {
    throw new Error(`${name}: ${error.message}`, { cause: error });
  });
  passed++;
  console.log(`ok    ${((performance.now() - beginMs) / 1_000).toFixed(1)} s  ${name}: ${text}`);
}

const seconds = (fromMs) => `${((performance.now() - fromMs) / 1_000).toFixed(1)} s`;

let cluster;
let home;

/** Waits until it gives something else than undefined and false. */
async function until(what, ask) {
  const end = performance.now() + WAIT_MS;
  for (;;) {
    cluster.check();
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (performance.now() > end) throw new Error(`not within ${WAIT_MS} ms: ${what}`);
    await pause(POLL_MS);
  }
}

/** Our command line. @returns what it printed as JSON */
async function signalbox(command, ...args) {
  const onCluster = command === "export" ? [] : ["--storm-home", home];
  const all = [join(root, "dist/cli/main.js"), "storm", command, ...args, ...onCluster, "--json"];
  const { code, stdout, stderr, late } = await within(COMMAND_MS, process.execPath, all, {
    env: cluster.env,
  });
  if (code === 0) return JSON.parse(stdout);
  const how = late ? `did not end within ${COMMAND_MS} ms` : `ended with ${code}`;
  throw new Error(`signalbox storm ${command} ${how}: ${stderr}${stdout}`.trim());
}

const jarOf = (name) => join(work, `${name}.jar`);

async function exported(name, { module, env }) {
  const pairs = Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]);
  await signalbox("export", module, "-o", jarOf(name), "--name", name, "--workers", "2", ...pairs);
}

/** The JVMs of Storm's workers of a topology. Each has a second one beside it that writes its log. */
const workersOf = (name) =>
  marked(mark).filter(
    ({ command }) =>
      command.includes("org.apache.storm.daemon.worker.Worker") &&
      !command.includes("org.apache.storm.LogWriter") &&
      command.some((word) => word.startsWith(`${name}-`)),
  );
const childrenOf = (workers) =>
  marked(mark).filter(
    ({ command, parent }) => command.includes("component.mjs") && workers.some(({ pid }) => pid === parent),
  );
const chosen = (list) => list[Math.floor(Math.random() * list.length)];

/**
 * Kills a process, and waits until its worker has ended, there are two workers with all components again, and more lines are
 * done than were on their way.
 */
async function killed({ pid }, worker, wordCount) {
  const before = wordCount.done();
  if (before + wordCount.pending >= FIRST_LINES) throw new Error("nearly all lines were done before");
  const from = performance.now();
  kill(pid);
  await until("its worker has ended", () => workersOf("wordcount").every((one) => one.pid !== worker));
  await until("its worker is replaced", () => isWhole(workersOf("wordcount"), 2, wordCount));
  const after = Math.min(wordCount.done() + wordCount.pending, FIRST_LINES);
  await until("lines are done after a kill", () => wordCount.done() >= after);
  return `${before} of ${FIRST_LINES} lines were done; all works again after ${seconds(from)}`;
}

/** Whether there are so many workers, each with components, that have all components. */
function isWhole(workers, count, { tasks }) {
  const components = workers.map((worker) => childrenOf([worker]).length);
  return (
    components.length === count &&
    !components.includes(0) &&
    components.reduce((sum, one) => sum + one, 0) === tasks
  );
}

async function prove() {
  await check("ZooKeeper, Nimbus and a supervisor", async () => {
    await cluster.start();
    const { topologies } = await signalbox("list");
    return `ready, ${topologies.length} topologies`;
  });
  const wordCount = await wordCountIn(join(work, "wordcount"), FIRST_LINES);
  const flights = await flightsIn(join(work, "flights"));

  let submittedMs;
  await check("submit", async () => {
    await exported("wordcount", wordCount);
    await exported("flights", flights);
    submittedMs = performance.now();
    await Promise.all(["wordcount", "flights"].map((name) => signalbox("submit", jarOf(name))));
    const { topologies } = await signalbox("list");
    const names = topologies.map(({ name, status }) => `${name} ${status}`).sort();
    if (names.join() !== "flights ACTIVE,wordcount ACTIVE") throw new Error(`listed: ${names.join()}`);
    return names.join(", ");
  });
  await check("two workers", async () => {
    await until("the first line is done", () => wordCount.done() > 0);
    const text = `first line done ${seconds(submittedMs)} after the submit`;
    await until("two workers with components", () => isWhole(workersOf("wordcount"), 2, wordCount));
    return text;
  });
  await check("a component is killed", async () => {
    await until("lines are done", () => wordCount.done() >= CHILD_AT);
    const child = chosen(childrenOf(workersOf("wordcount")));
    return killed(child, child.parent, wordCount);
  });
  await check("a worker is killed", async () => {
    await until("lines are done", () => wordCount.done() >= WORKER_AT);
    const worker = chosen(workersOf("wordcount"));
    return killed(worker, worker.pid, wordCount);
  });
  let rebalancedMs;
  await check("rebalance to one worker, and to two tasks in an executor", async () => {
    await until("lines are done", () => wordCount.done() >= REBALANCE_AT);
    const before = workersOf("wordcount").map(({ pid }) => pid);
    // The spout reads them when it begins anew.
    wordCount.add(LAST_LINES);
    rebalancedMs = performance.now();
    await signalbox("rebalance", "wordcount", "--workers", "1", "--executors", "count=2", "--wait", "2");
    await until("one new worker with all components", () =>
      isWhole(
        workersOf("wordcount").filter(({ pid }) => !before.includes(pid)),
        1,
        wordCount,
      ),
    );
    const text = `one worker after ${seconds(rebalancedMs)}`;
    const { topologies } = await signalbox("list");
    const listed = topologies.find(({ name }) => name === "wordcount");
    if (listed?.workers !== 1) throw new Error(`listed: ${JSON.stringify(topologies)}`);
    return text;
  });
  await check("word count", async () => {
    await until("all lines are done", () => wordCount.done() === wordCount.lines);
    const wrong = wordCount.differences();
    if (wrong.length > 0) throw new Error(wrong.join("; "));
    return `exact ${seconds(rebalancedMs)} after the rebalance, ${seconds(submittedMs)} after the submit`;
  });
  await check("flights", async () => {
    await until("all flights are done", () => flights.done() >= flights.flights);
    // The results were written before the acks that ended the flights.
    const wrong = flights.differences();
    if (wrong.length > 0) throw new Error(wrong.join("; "));
    return `${flights.flights} flights, ${flights.hours} hours of an airport, ${flights.windows} windows, exact`;
  });
  await check("kill", async () => {
    await Promise.all(["wordcount", "flights"].map((name) => signalbox("kill", name, "--wait", "0")));
    await until("no worker is left", () => workersOf("wordcount").length + workersOf("flights").length === 0);
    await until(
      "no component is left",
      () => !marked(mark).some(({ command }) => command.includes("component.mjs")),
    );
    await until("no topology is listed", async () => (await signalbox("list")).topologies.length === 0);
    return "no topology, worker or component is left";
  });
  return { wordCount };
}

/** The ends of the daemons' logs, for whoever sees only what was printed. */
function tails() {
  for (const name of ["zookeeper", "nimbus", "supervisor"]) {
    const file = join(work, "logs", `${name}.log`);
    if (!existsSync(file)) continue;
    console.log(`----- ${file}`);
    const lines = readFileSync(file, "utf8").trimEnd().split("\n").slice(-LINES_OF_A_LOG);
    console.log(lines.map((line) => line.slice(0, LENGTH_OF_A_LINE)).join("\n"));
  }
}

const watch = guard(mark);
try {
  leave("Storm's home");
  home = await stormHome();
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  cluster = new Cluster(home, work, mark);
  const { wordCount } = await prove();
  leave("the end of the cluster");
  const left = await endAll(mark);
  if (left.length > 0) throw new Error(`processes that cannot be ended: ${left.join("; ")}`);
  console.log(
    `storm cluster: ${wordCount.lines} lines, ${wordCount.words} words, exact; worker killed, child killed, rebalanced`,
  );
} catch (error) {
  if (error instanceof Missing) console.log(`skip  ${error.message}`);
  else {
    failures.push({ test: "Storm cluster", why: error.message });
    tails();
    console.log(`FAIL  ${error.message}\nstorm cluster: failed; the logs are in ${join(work, "logs")}`);
  }
} finally {
  await endAll(mark);
  watch.end();
  leave();
}
process.exitCode = failures.length === 0 ? 0 : 1;
