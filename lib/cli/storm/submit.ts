// `signalbox storm submit JAR`: hands a jar to Storm's program, which has Flux build the topology and uploads all to Nimbus.

import { Misuse } from "../shell/arguments.js";
import { EXIT } from "../shell/exit.js";
import { CLUSTER, callStorm, nimbusArguments } from "./call.js";
import { kit, type StormCommands } from "./context.js";
import { DEFINITION, topologyIn } from "./jar.js";
import { fluxJars } from "./storm-home.js";

const FLUX = "org.apache.storm.flux.Flux";

const submit = kit.command({
  words: ["JAR"],
  summary: "submits a jar that `signalbox storm export` has written to a cluster",
  options: {
    "dry-run": { help: "has Flux build the topology, and submits nothing; asks no Nimbus", gives: "dryRun" },
    inactive: { help: "submits the topology with its spouts at rest, until `storm activate NAME`" },
    ...CLUSTER,
  },
  run: async ([jar], given, context) => {
    const { host } = context;
    const { dryRun, inactive, nimbus } = given;
    const bytes = host.folders.bytes(host.absolute(jar));
    if (bytes === undefined) throw new Misuse(`there is no file ${jar}`);
    const name = topologyIn(bytes, await host.zip());
    if (name === undefined) throw new Misuse(`${jar} is no jar that signalbox storm export has written`);
    return callStorm(
      context,
      given,
      (home) => [
        "jar",
        host.absolute(jar),
        FLUX,
        "--jars",
        fluxJars(home, host).join(","),
        ...nimbusArguments(nimbus),
        "--remote",
        "--no-splash",
        ...(dryRun ? ["--dry-run"] : []),
        ...(inactive ? ["--inactive"] : []),
        "--resource",
        `/${DEFINITION}`,
      ],
      () => {
        const told = dryRun ? { checked: name } : { submitted: name, active: !inactive };
        context.show(told, () =>
          dryRun ? `Flux can build ${name}` : `submitted ${name}${inactive ? ", inactive" : ""}`,
        );
        return EXIT.fine;
      },
    );
  },
});

export const SUBMIT: StormCommands = { submit };
