// Word counts on the cluster: jars that are made once, and submitted for each run.

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { within } from "../../limits.mjs";
import { Missing } from "../home.mjs";
import { marked } from "../processes.mjs";
import { withDescendants } from "./cpu.mjs";
import { figuresOf } from "./measured.mjs";
import { PENDING, TASKS } from "./word-count.mjs";

const CALL_MS = 120_000;
const POLL_MS = 50;
const WORKER = "org.apache.storm.daemon.worker.Worker";

const fileOf = (path) => fileURLToPath(new URL(path, import.meta.url));
const signalbox = fileOf("../../../../dist/cli/main.js");
const source = fileOf("../java/signalbox/JavaWordCount.java");

export class OnStorm {
  #home;
  #cluster;
  #mark;
  #work;
  #limitMs;

  constructor({ home, cluster, mark, work, limitMs }) {
    this.#home = home;
    this.#cluster = cluster;
    this.#mark = mark;
    this.#work = work;
    this.#limitMs = limitMs;
  }

  /** Compiles the word count in Java. @returns what runs it @throws Missing without a compiler */
  async java(name, env) {
    for (const tool of ["javac", "jar"]) await this.#has(tool);
    const classes = join(this.#work, "classes");
    const jar = join(this.#work, `${name}.jar`);
    mkdirSync(classes);
    const path = join(this.#home, "lib-worker/*");
    await this.#call("javac", ["--release", "17", "-proc:none", "-cp", path, "-d", classes, source]);
    await this.#call("jar", ["--create", "--file", jar, "-C", classes, "."]);
    const {
      FIGURES_FOLDER: folder,
      FIGURES_WARM_MS: warm,
      FIGURES_LOAD_MS: load,
      FIGURES_LONELY: lonely,
    } = env;
    const args = [name, folder, warm, load, lonely, String(PENDING), String(TASKS)];
    const storm = join(this.#home, "bin/storm");
    return () =>
      this.#run(name, folder, () => this.#call(storm, ["jar", jar, "signalbox.JavaWordCount", ...args]));
  }

  /** Exports a topology. @param more - options of the export @returns what runs it */
  async exported(name, module, env, ...more) {
    const jar = join(this.#work, `${name}.jar`);
    const given = Object.entries(env).flatMap(([key, value]) => ["--env", `${key}=${value}`]);
    await this.#signalbox("export", fileOf(module), "-o", jar, "--name", name, ...given, ...more);
    return () => this.#run(name, env.FIGURES_FOLDER, () => this.#signalbox("submit", jar, ...this.#where()));
  }

  async #run(name, folder, submit) {
    await submit();
    let ids = [];
    const figures = await figuresOf(folder, {
      processes: () => {
        const found = this.#processesOf(name);
        ids = [...found.jvms, ...found.programs];
        return found;
      },
      check: () => this.#cluster.check(),
      limitMs: this.#limitMs,
    });
    await this.#signalbox("kill", name, "--wait", "0", ...this.#where());
    for (const end = performance.now() + this.#limitMs; ids.some(isThere); await pause(POLL_MS))
      if (performance.now() > end) throw new Error(`${name} was killed, and its worker goes on`);
    return figures;
  }

  /** The worker of a topology, what keeps its log, and the components that are programs. */
  #processesOf(name) {
    const workers = marked(this.#mark).filter(
      ({ command }) => command.includes(WORKER) && command.some((part) => part.startsWith(`${name}-`)),
    );
    const jvms = workers.map(({ pid }) => pid);
    return { jvms, programs: withDescendants(jvms).filter((pid) => !jvms.includes(pid)) };
  }

  #where() {
    return ["--storm-home", this.#home];
  }

  #signalbox(...args) {
    return this.#call(process.execPath, [signalbox, "storm", ...args]);
  }

  async #has(command) {
    const { code } = await within(CALL_MS, command, ["--version"]).catch(() => ({ code: null }));
    if (code !== 0) throw new Missing(`there is no ${command} on this machine`);
  }

  async #call(command, args) {
    const { code, stdout, stderr, late } = await within(CALL_MS, command, args, { env: this.#cluster.env });
    if (code === 0) return;
    const how = late ? `did not end within ${CALL_MS} ms` : `ended with ${code}`;
    throw new Error(`${command} ${args[0]} ${args[1]} ${how}:\n${stderr}${stdout}`);
  }
}

const isThere = (pid) => existsSync(`/proc/${pid}`);
