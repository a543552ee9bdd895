// A cluster of Apache Storm on this machine: ZooKeeper, Nimbus and a supervisor, each a JVM, on ports that were free. They talk
// over loopback, but Storm's own daemons listen on all addresses. Each is asked whether it is ready; none is waited for by
// time alone.

import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { MARK } from "./processes.mjs";

const HOST = "127.0.0.1";
/** Limits of the readiness of a daemon, and of one question for it. */
const READY_MS = 90_000;
const ASK_MS = 2_000;
/** Two workers of each topology, and one that begins before another has ended. */
const SLOTS = 5;

/** Ports that nobody listens on. */
async function freePorts(count) {
  const servers = await Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise((resolve, reject) => {
          const server = createServer().once("error", reject);
          server.listen(0, HOST, () => resolve(server));
        }),
    ),
  );
  const ports = servers.map((server) => server.address().port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** What the server answers to a word; without a word, whether there is one. Undefined: it does not listen yet. */
function ask(port, word) {
  return new Promise((resolve) => {
    const socket = connect(port, HOST);
    let said = "";
    const answer = (text) => {
      socket.destroy();
      resolve(text);
    };
    socket.setTimeout(ASK_MS, () => answer(undefined));
    socket.on("connect", () => (word === undefined ? answer("") : socket.write(word)));
    socket.on("data", (data) => {
      said += data;
    });
    socket.on("end", () => answer(said));
    socket.on("error", () => answer(undefined));
  });
}

/** The settings of the cluster. Its intervals are shorter than Storm's, so that a kill is noticed sooner. */
function settings(folder, { zookeeper, nimbus, supervisor, slots }) {
  return {
    "storm.zookeeper.servers": [HOST],
    "storm.zookeeper.port": zookeeper,
    "storm.local.dir": join(folder, "data"),
    "storm.log.dir": join(folder, "logs"),
    "storm.workers.artifacts.dir": join(folder, "logs/workers"),
    "storm.log4j2.conf.dir": join(folder, "log4j2"),
    "storm.local.hostname": HOST,
    "nimbus.seeds": [HOST],
    "nimbus.thrift.port": nimbus,
    "nimbus.monitor.freq.secs": 1,
    "supervisor.thrift.port": supervisor,
    "supervisor.slots.ports": slots,
    "supervisor.monitor.frequency.secs": 1,
    "supervisor.heartbeat.frequency.secs": 1,
    "supervisor.worker.shutdown.sleep.secs": 1,
    "task.heartbeat.frequency.secs": 1,
    "task.refresh.poll.secs": 1,
    "worker.childopts": "-Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "topology.worker.logwriter.childopts": "-Xmx64m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "storm.daemon.metrics.reporter.plugins": [],
  };
}

const pattern = "%d{HH:mm:ss.SSS} %c{1.} %t [%p] %msg%n";
const log4j = (appender) => `<?xml version="1.0" encoding="UTF-8"?>
<configuration shutdownHook="disable">
  <appenders>${appender}</appenders>
  <loggers><root level="info"><appender-ref ref="A"/></root></loggers>
</configuration>
`;
const LOG4J = {
  "cluster.xml": log4j(
    `<Console name="A" target="SYSTEM_OUT"><PatternLayout pattern="${pattern}"/></Console>`,
  ),
  "worker.xml": log4j(
    `<File name="A" fileName="\${sys:workers.artifacts}/\${sys:storm.id}/\${sys:worker.port}/worker.log"><PatternLayout pattern="${pattern}"/></File>`,
  ),
};

/** A cluster in a folder that is empty: its configuration, its data and its logs. */
export class Cluster {
  #home;
  #mark;
  #folder;
  #settings;
  /** Ends of the daemons that ended by themselves. */
  #ended = [];

  /** @param other - settings of Storm in place of those above */
  constructor(home, folder, mark, other = {}) {
    this.#home = home;
    this.#folder = folder;
    this.#mark = mark;
    this.#settings = other;
  }

  /** For whoever uses `bin/storm` with this cluster. */
  get env() {
    return { ...process.env, [MARK]: this.#mark, STORM_CONF_DIR: join(this.#folder, "conf") };
  }

  async start() {
    const [zookeeper, nimbus, supervisor, ...slots] = await freePorts(3 + SLOTS);
    const folder = this.#folder;
    for (const name of ["conf", "log4j2", "logs", "data"]) mkdirSync(join(folder, name), { recursive: true });
    const conf = {
      ...settings(folder, { zookeeper, nimbus, supervisor, slots }),
      ...this.#settings,
    };
    writeFileSync(join(folder, "conf/storm.yaml"), `${JSON.stringify(conf, undefined, 2)}\n`);
    for (const [name, text] of Object.entries(LOG4J)) writeFileSync(join(folder, "log4j2", name), text);
    const zoo = {
      tickTime: 500,
      dataDir: join(folder, "data/zookeeper"),
      clientPort: zookeeper,
      clientPortAddress: HOST,
      "4lw.commands.whitelist": "ruok",
      "admin.enableServer": false,
    };
    writeFileSync(
      join(folder, "conf/zoo.cfg"),
      Object.entries(zoo)
        .map(([key, value]) => `${key}=${value}\n`)
        .join(""),
    );
    const shaded = "org.apache.storm.shade.org.apache.zookeeper.server.ZooKeeperServerMain";
    this.#daemon("zookeeper", [shaded, join(folder, "conf/zoo.cfg")]);
    await this.#until("zookeeper", async () => (await ask(zookeeper, "ruok")) === "imok");
    this.#daemon("nimbus", ["org.apache.storm.daemon.nimbus.Nimbus"]);
    this.#daemon("supervisor", ["org.apache.storm.daemon.supervisor.Supervisor"]);
    await this.#until("nimbus", async () => (await ask(nimbus)) !== undefined);
    await this.#until("supervisor", async () => (await ask(supervisor)) !== undefined);
  }

  #daemon(name, args) {
    const log = openSync(join(this.#folder, "logs", `${name}.log`), "a");
    const home = this.#home;
    const properties = [
      "-Xmx256m",
      "-XX:TieredStopAtLevel=1",
      "-XX:+UseSerialGC",
      `-Dstorm.home=${home}`,
      `-Dstorm.log.dir=${join(this.#folder, "logs")}`,
      "-Dstorm.conf.file=",
      `-Dlog4j.configurationFile=${join(this.#folder, "log4j2/cluster.xml")}`,
    ];
    const path = [join(home, "lib/*"), join(this.#folder, "conf")].join(":");
    const child = spawn("java", [...properties, "-cp", path, ...args], {
      cwd: this.#folder,
      env: this.env,
      detached: true,
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    child.unref();
    child.on("exit", (code, signal) => this.#ended.push(`${name} ended with ${code ?? signal}`));
    child.on("error", (error) => this.#ended.push(`${name}: ${error.message}`));
  }

  /** Throws when a daemon has ended, which none does by itself. */
  check() {
    if (this.#ended.length > 0) throw new Error(this.#ended.join("; "));
  }

  async #until(name, ready) {
    const end = performance.now() + READY_MS;
    for (;;) {
      this.check();
      if (await ready()) return;
      if (performance.now() > end) throw new Error(`${name} was not ready within ${READY_MS} ms`);
      await pause(100);
    }
  }
}
