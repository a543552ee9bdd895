// What `storm` of a release of Apache Storm does for the commands that the proof needs: it starts the class of the command
// with the class path of a client and with the options of the command line.

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const home = dirname(dirname(fileURLToPath(import.meta.url)));
const conf = process.env.STORM_CONF_DIR ?? join(home, "conf");
const java = process.env.JAVA_HOME === undefined ? "java" : join(process.env.JAVA_HOME, "bin/java");

const CLASSES = {
  kill: "org.apache.storm.command.KillTopology",
  list: "org.apache.storm.command.ListTopologies",
  rebalance: "org.apache.storm.command.Rebalance",
  activate: "org.apache.storm.command.Activate",
  deactivate: "org.apache.storm.command.Deactivate",
  version: "org.apache.storm.utils.VersionInfo",
};

const [command, ...given] = process.argv.slice(2);
/** Options of the cluster, and the other arguments. A class of `jar` gets all arguments after its name but these. */
const settings = [];
const rest = [];
let jars = [];
let configFile = "";
for (let at = 0; at < given.length; at++) {
  if (given[at] === "-c") settings.push(given[++at]);
  else if (given[at] === "--config") configFile = given[++at];
  else if (given[at] === "--jars" && command === "jar") jars = given[++at].split(",").filter(Boolean);
  else rest.push(given[at]);
}

function run(mainClass, classPath, properties, args) {
  const found = classPath.filter((path) => existsSync(path.replace(/\/\*$/, "")));
  const child = spawn(
    java,
    [
      "-client",
      // Options are read back as decoded from the form of a query.
      `-Dstorm.options=${settings.map((one) => encodeURIComponent(one)).join(",")}`,
      `-Dstorm.home=${home}`,
      `-Dstorm.conf.file=${configFile}`,
      `-Dstorm.log.dir=${join(home, "logs")}`,
      ...properties,
      "-cp",
      found.join(":"),
      mainClass,
      ...args,
    ],
    { stdio: "inherit" },
  );
  child.on("error", (error) => {
    console.error(`storm: cannot start ${java}: ${error.message}`);
    process.exitCode = 1;
  });
  child.on("close", (code) => {
    process.exitCode = code ?? 1;
  });
}

if (command === "jar") {
  const [jar, mainClass, ...args] = rest;
  const properties = [
    `-Dstorm.jar=${jar}`,
    `-Dstorm.dependency.jars=${jars.join(",")}`,
    "-Dstorm.dependency.artifacts={}",
  ];
  const path = [join(home, "lib-worker/*"), join(home, "extlib/*"), jar, conf, ...jars];
  run(mainClass, path, properties, args);
} else if (Object.hasOwn(CLASSES, command)) {
  run(CLASSES[command], [join(home, "lib/*"), join(home, "extlib/*"), conf], [], rest);
} else {
  console.error(`storm: there is no command ${command}: jar, ${Object.keys(CLASSES).join(", ")}`);
  process.exitCode = 2;
}
