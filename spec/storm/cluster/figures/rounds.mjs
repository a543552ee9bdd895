// The word counts in turns: whichever comes first in one turn comes last in the next.

import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Cluster } from "../daemons.mjs";
import { Missing, stormHome } from "../home.mjs";
import { endAll, guard } from "../processes.mjs";
import { figuresOf } from "./measured.mjs";
import { OnStorm } from "./on-storm.mjs";
import { stormPy } from "./storm-py.mjs";

/** Time beside what is asked for: to start, to get to the first ack, and to finish what is in flight. */
const LIMIT_MS = 120_000;
/** Storm's own defaults for the JVM of a worker, in place of those by which the cluster starts soon. */
const SETTINGS = { "worker.childopts": "-Xmx768m" };

/** What the others are compared with. */
export const OURS = "ours on Storm";

const ownHost = fileURLToPath(new URL("in-our-host.mjs", import.meta.url));

/** The word count in our own host. */
async function inOurHost(env, limitMs) {
  const child = spawn(process.execPath, [ownHost], {
    env: { ...process.env, ...env, FIGURES_AT_ONCE: "1" },
    stdio: ["pipe", "inherit", "inherit"],
  });
  const ended = new Promise((resolve) => child.on("close", resolve));
  try {
    return await figuresOf(env.FIGURES_FOLDER, {
      processes: () => ({ jvms: [], programs: [child.pid] }),
      check: () => {
        if (child.exitCode !== null) throw new Error(`our host ended with ${child.exitCode}`);
      },
      limitMs,
    });
  } finally {
    child.stdin.end();
    await ended;
  }
}

/** All runs, by the name of their word count. @throws Missing where Storm cannot run */
export async function rounds(work, { count, warmMs, loadMs, lonely, only, print }) {
  rmSync(work, { recursive: true, force: true });
  const envOf = (folder) => ({
    FIGURES_FOLDER: join(work, folder),
    FIGURES_WARM_MS: String(warmMs),
    FIGURES_LOAD_MS: String(loadMs),
    FIGURES_LONELY: String(lonely),
  });
  const limitMs = warmMs + loadMs + LIMIT_MS;
  const home = await stormHome();
  const mark = randomUUID();
  const watch = guard(mark);
  try {
    mkdirSync(join(work, "cluster"), { recursive: true });
    const cluster = new Cluster(home, join(work, "cluster"), mark, SETTINGS);
    await cluster.start();
    const storm = new OnStorm({ home, cluster, mark, work, limitMs });
    const exported = (folder, module, atOnce, ...options) =>
      storm.exported(folder, module, { ...envOf(folder), FIGURES_AT_ONCE: String(atOnce) }, ...options);
    const inNode = (folder, atOnce) =>
      exported(folder, "word-count.mjs", atOnce, "--node", process.execPath, "--env", "NODE_ENV=production");
    const inPython = async () => {
      const folder = join(work, "storm-py");
      await stormPy(folder);
      return exported("python", "in-python.mjs", 1, "--resources", join(folder, "resources"));
    };
    const known = [
      ["Java on Storm", "java", () => storm.java("java", envOf("java"))],
      [OURS, "ours", () => inNode("ours", 1)],
      ["Python on Storm, by storm.py", "python", inPython],
      ["ours in our host", "host", () => () => inOurHost(envOf("host"), limitMs)],
    ];
    const all = [];
    for (const [name, folder, make] of known) {
      if (only.length > 0 && !only.includes(folder)) continue;
      try {
        all.push({ name, folder, run: await make() });
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        print(`skip  ${name}: ${error.message}`);
      }
    }
    const found = new Map(all.map(({ name }) => [name, []]));
    for (let round = 0; round < count; round++) {
      for (const { name, folder, run } of round % 2 === 0 ? all : all.toReversed()) {
        rmSync(join(work, folder), { recursive: true, force: true });
        mkdirSync(join(work, folder));
        const figures = await run();
        found.get(name).push(figures);
        print(`${round + 1}/${count} ${name}: ${JSON.stringify(figures)}`);
      }
    }
    return found;
  } finally {
    await endAll(mark);
    watch.end();
  }
}
