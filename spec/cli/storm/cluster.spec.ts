// `signalbox storm submit`, `kill`, `list` and `rebalance` over a script that plays Storm's program.

import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import * as fflate from "fflate";
import { describe, expect, test } from "vitest";
import { EXIT } from "../../../lib/cli/shell/exit.js";
import { folders } from "../../../lib/cli/shell/folders.js";
import { jarOf } from "../../../lib/cli/storm/jar.js";
import { failing, fakeStorm } from "./fake-storm.js";
import { folderWith, runStorm } from "./support.js";

/** The jar of a topology called `words`. */
function wordsJar(): string {
  const at = folderWith();
  const resources = new Map([["component.mjs", new Uint8Array()]]);
  writeFileSync(at("words.jar"), jarOf('{"name":"words"}', resources, fflate as never, folders.zipTime()));
  return at("words.jar");
}

describe("submit", () => {
  test("has Storm's program submit the jar with the jars of Flux [N1468]", async () => {
    const { home, env, calls } = fakeStorm();
    const jar = wordsJar();
    const done = await runStorm(["submit", jar, "--storm-home", home], { env });
    expect(done).toEqual({ code: EXIT.fine, printed: "submitted words", complaints: "" });
    const flux = ["flux-core", "flux-wrappers"].map((part) => `${home}/external/flux/${part}-2.8.3.jar`);
    const head = ["jar", jar, "org.apache.storm.flux.Flux", "--jars", flux.join(",")];
    const tail = ["--resource", "/topology.json"];
    expect(calls()).toEqual([[...head, "--remote", "--no-splash", ...tail]]);

    const more = ["--nimbus", "storm.example.com:6628", "--dry-run", "--inactive", "--json", "--verbose"];
    const json = await runStorm(["submit", jar, "--storm-home", home, ...more], { env });
    expect({ ...json, printed: JSON.parse(json.printed) }).toEqual({
      code: EXIT.fine,
      printed: { checked: "words" },
      complaints: "Running: java",
    });
    const nimbus = ["-c", 'nimbus.seeds=["storm.example.com"]', "-c", "nimbus.thrift.port=6628"];
    const flags = ["--remote", "--no-splash", "--dry-run", "--inactive"];
    expect(calls()[1]).toEqual([...head, ...nimbus, ...flags, ...tail]);
  });

  test("takes the jars of Flux from each folder where they may be, of Storm's own version [N1468]", async () => {
    for (const folder of ["lib", "external/flux", "extlib", "flux"]) {
      const names = [
        "flux-core-2.8.3.jar",
        "flux-wrappers-2.8.3.jar",
        "flux-core-2.6.0.jar",
        "flux-core-x.jar",
      ];
      const { home, env, calls } = fakeStorm(
        "exit 0",
        names.map((name) => `${folder}/${name}`),
      );
      await runStorm(["submit", wordsJar(), "--storm-home", home], { env });
      const [core, wrappers] = names.map((name) => `${home}/${folder}/${name}`);
      expect(calls()[0]?.[4]).toBe(`${core},${wrappers}`);
    }
  });

  test("names the artifacts of Flux that are missing, where they go, and the command [N1468]", async () => {
    const { home, env, calls } = fakeStorm("exit 0", ["external/flux/flux-core-2.8.3.jar"]);
    const { code, complaints } = await runStorm(["submit", wordsJar(), "--storm-home", home], { env });
    expect(code).toBe(EXIT.misuse);
    expect(complaints).toBe(
      `signalbox: ${home} lacks org.apache.storm:flux-wrappers:2.8.3, by which Storm builds the topology. Put the jars into ${home}/external/flux:\n` +
        `  mvn dependency:copy -Dartifact=org.apache.storm:flux-wrappers:2.8.3 -DoutputDirectory=${home}/external/flux`,
    );
    expect(calls()).toEqual([]);
  });

  test("refuses a jar that is none of ours [N1468]", async () => {
    const { home, env, calls } = fakeStorm();
    const at = folderWith({ "other.jar": "text" });
    const other = await runStorm(["submit", at("other.jar"), "--storm-home", home], { env });
    expect(other).toMatchObject({ code: EXIT.misuse });
    expect(other.complaints).toContain("is no jar that signalbox storm export has written");
    const gone = await runStorm(["submit", at("gone.jar"), "--storm-home", home], { env });
    expect(gone.complaints).toBe(`signalbox: there is no file ${at("gone.jar")}`);
    expect(gone.code).toBe(EXIT.misuse);
    expect(calls()).toEqual([]);
  });

  test("ends with 1 when the name is taken, and prints a document of the error [N1469]", async () => {
    const taken = "Topology name words is either not allowed or it already exists on the cluster";
    const { home, env } = fakeStorm(failing(`java.lang.RuntimeException: ${taken}`));
    const { code, printed, complaints } = await runStorm(
      ["submit", wordsJar(), "--storm-home", home, "--json"],
      { env },
    );
    expect(code).toBe(EXIT.no);
    expect(JSON.parse(printed)).toEqual({ error: { name: "Error", message: `Storm refused: ${taken}` } });
    expect(complaints).toBe(`signalbox: Storm refused: ${taken}`);
  });
});

describe("an installation of Storm", () => {
  test("is that of the option, of STORM_HOME, or of the program in PATH, behind its links [N1476]", async () => {
    const { home, env, calls } = fakeStorm('echo "No topologies running."');
    const at = folderWith();
    mkdirSync(at("bin"));
    symlinkSync(`${home}/bin/storm`, at("bin/storm"));
    const fine = { code: EXIT.fine, printed: "the cluster has no topology", complaints: "" };
    expect(await runStorm(["list", "--storm-home", home], { env })).toEqual(fine);
    expect(await runStorm(["list"], { env: { ...env, STORM_HOME: home } })).toEqual(fine);
    expect(await runStorm(["list"], { env: { PATH: `${env.PATH}:${at("bin")}` } })).toEqual(fine);
    expect(calls()).toEqual([["list"], ["list"], ["list"]]);
  });

  test("that is not there is an error, and so is a missing Java [N1476]", async () => {
    const { home, env } = fakeStorm();
    const at = folderWith();
    const list = (variables: Readonly<Record<string, string>>, ...args: string[]) =>
      runStorm(["list", ...args], { env: variables });
    const none = await list(env);
    expect(none.complaints).toContain("there is no program storm in PATH: install Apache Storm");
    const empty = await list(env, "--storm-home", at());
    expect(empty.complaints).toBe(
      `signalbox: ${at()} is no installation of Apache Storm: there is no bin/storm in it`,
    );
    const javaless = await list({ PATH: "", STORM_HOME: home });
    expect(javaless.complaints).toContain(
      "there is no Java: Storm's program needs java in PATH, or JAVA_HOME",
    );
    const wrong = await list({ ...env, STORM_HOME: home, JAVA_HOME: at("jdk") });
    expect(wrong.complaints).toContain(`there is no Java in JAVA_HOME: ${at("jdk")}/bin/java is no program`);
    expect([none, empty, javaless, wrong].map(({ code }) => code)).toEqual([2, 2, 2, 2]);
    const other = await list({ PATH: "", STORM_HOME: home, JAVA_HOME: `${home}/java` });
    expect(other.complaints).toBe("signalbox: storm list printed no list of topologies");
  });
});

describe("kill, list and rebalance", () => {
  test("hand their options to Storm's program [N1477]", async () => {
    const { home, env, calls } = fakeStorm();
    const run = (...args: string[]) => runStorm([...args, "--storm-home", home], { env });
    expect(await run("kill", "words")).toMatchObject({ code: EXIT.fine, printed: "words: Storm ends it" });
    const killed = await run("kill", "words", "--wait", "0", "--nimbus", "[::1]:7000", "--json");
    expect(JSON.parse(killed.printed)).toEqual({ killed: "words" });
    const more = ["--wait", "5", "--workers", "2", "--executors", "split=4", "--executors", "count=1"];
    const spread = await run("rebalance", "words", ...more, "--nimbus", "storm", "--json");
    expect(JSON.parse(spread.printed)).toEqual({ rebalanced: "words" });
    expect(calls()).toEqual([
      ["kill", "words"],
      ["kill", "words", "-w", "0", "-c", 'nimbus.seeds=["::1"]', "-c", "nimbus.thrift.port=7000"],
      [
        ...["rebalance", "words", "-w", "5", "-n", "2", "-e", "split=4", "-e", "count=1"],
        ...["-c", 'nimbus.seeds=["storm"]', "-c", "nimbus.thrift.port=6627"],
      ],
    ]);
  });

  test("list shows a table, or the topologies as JSON [N1471]", async () => {
    const rows = [
      "Topology_name        Status     Num_tasks  Num_workers  Uptime_secs  Topology_Id          Owner",
      "----------------------------------------------------------------------------------------",
      "words                ACTIVE     12         1            3601         words-3-1764428400   storm",
    ];
    const { home, env } = fakeStorm(`printf '%s\\n' ${rows.map((line) => `'${line}'`).join(" ")}`);
    const { printed } = await runStorm(["list", "--storm-home", home], { env });
    expect(printed).toBe(
      "NAME   STATUS  TASKS  WORKERS  UPTIME  ID                  OWNER\n" +
        "words  ACTIVE     12        1  1 h     words-3-1764428400  storm",
    );
    const json = await runStorm(["list", "--storm-home", home, "--json"], { env });
    const [first] = JSON.parse(json.printed).topologies;
    expect(first).toMatchObject({ name: "words", tasks: 12, uptimeSecs: 3_601, id: "words-3-1764428400" });
  });

  test.each([
    [["kill", "words"], "org.apache.storm.utils.WrappedNotAliveException: words is not alive"],
    [["rebalance", "words"], "NotAliveException(msg:words is not alive)"],
  ])("%j ends with 1 when there is no such topology [N1469]", async (args, exception) => {
    const { home, env } = fakeStorm(failing(exception));
    const { code, complaints } = await runStorm([...args, "--storm-home", home], { env });
    expect({ code, complaints }).toEqual({
      code: EXIT.no,
      complaints: "signalbox: Storm refused: words is not alive",
    });
  });

  test.each([
    [["kill", "--", "-w"], 'there is no topology called "-w"'],
    [["kill", "words", "--wait", "-1"], "--wait must be a whole number"],
    [["rebalance", "words", "--executors", "split"], "--executors must be COMPONENT=COUNT, such as split=4"],
    [["rebalance", "words", "--executors", "split=0"], "--executors must be COMPONENT=COUNT"],
    [["list", "--nimbus", "a:b"], "--nimbus must be a host and a port"],
    [["list", "--nimbus", "storm:70000"], "--nimbus must be a host and a port"],
    [["list", "--timeout", "soon"], "--timeout must be a length of time"],
  ])("%j: exit code 2", async (args, text) => {
    const { home, env, calls } = fakeStorm();
    const { code, complaints } = await runStorm([...args], { env: { ...env, STORM_HOME: home } });
    expect(code).toBe(EXIT.misuse);
    expect(complaints).toContain(text);
    expect(calls()).toEqual([]);
  });

  test("a program that does not start, or ends by a signal, is an error", async () => {
    const killed = fakeStorm("kill -9 $$");
    const { code, complaints } = await runStorm(["list", "--storm-home", killed.home], { env: killed.env });
    expect(code).toBe(EXIT.misuse);
    expect(complaints).toBe("signalbox: storm list was ended by a signal:\nRunning: java");
    const broken = fakeStorm();
    rmSync(`${broken.home}/bin/storm`);
    writeFileSync(`${broken.home}/bin/storm`, "");
    const unstarted = await runStorm(["list", "--storm-home", broken.home], { env: broken.env });
    expect(unstarted.complaints).toContain("storm list could not be started: ");
  });

  test("an interrupted one ends with the code of its signal", async () => {
    const { home, env } = fakeStorm();
    const end = { code: undefined, stdout: "", output: "", problem: "was interrupted", interrupted: 130 };
    const { code } = await runStorm(["list", "--storm-home", home], { env, spawned: async () => end });
    expect(code).toBe(130);
  });
});
