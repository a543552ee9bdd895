// An installation of Apache Storm on this machine: its program, and the jars of Flux, which is a part of Storm that clusters lack.

import { Misuse } from "../shell/arguments.js";
import type { StormHost } from "./context.js";

/** The part of the surroundings that finds programs and files. */
type Finder = Pick<StormHost, "folders" | "env" | "absolute">;

export interface StormHome {
  readonly folder: string;
  /** The program `storm`. */
  readonly program: string;
}

/** @param given - the value of `--storm-home`. @throws Misuse when there is no Storm, or no Java */
export function stormHome(given: string | undefined, { folders, env, absolute }: Finder): StormHome {
  const named = given ?? (env.STORM_HOME || undefined);
  const inPath = named === undefined ? folders.inPath("storm", env.PATH ?? "") : undefined;
  if (named === undefined && inPath === undefined)
    throw new Misuse(
      "there is no program storm in PATH: install Apache Storm (https://storm.apache.org/downloads.html), and pass --storm-home DIR or set STORM_HOME",
    );
  const folder = named === undefined ? folders.resolve(inPath as string, "../..") : absolute(named);
  const program = folders.resolve(folder, "bin/storm");
  if (folders.bytes(program) === undefined)
    throw new Misuse(`${folder} is no installation of Apache Storm: there is no bin/storm in it`);
  checkJava({ folders, env });
  return { folder, program };
}

/** Storm's program takes Java from there. @throws Misuse */
function checkJava({ folders, env }: Pick<Finder, "folders" | "env">): void {
  if (env.JAVA_HOME) {
    if (folders.inPath("java", folders.resolve(env.JAVA_HOME, "bin")) === undefined)
      throw new Misuse(`there is no Java in JAVA_HOME: ${env.JAVA_HOME}/bin/java is no program`);
  } else if (folders.inPath("java", env.PATH ?? "") === undefined)
    throw new Misuse("there is no Java: Storm's program needs java in PATH, or JAVA_HOME");
}

/** Where releases of Storm, and their users, put the jars of Flux. */
const FLUX_FOLDERS = ["lib", "external/flux", "extlib", "flux"];
/** In the order in which `storm jar --jars` gets them. */
const FLUX_PARTS = ["flux-core", "flux-wrappers"];

/** The jars of Flux. @throws Misuse that names the artifacts and where they go */
export function fluxJars({ folder }: StormHome, { folders }: Finder): readonly string[] {
  const version = versionOf(folder, folders);
  const jars = FLUX_PARTS.map((part) => jarOfPart(folder, part, version, folders));
  const missing = FLUX_PARTS.filter((_, i) => jars[i] === undefined);
  if (missing.length === 0) return jars as string[];
  const wanted = version ?? "VERSION";
  const place = folders.resolve(folder, "external/flux");
  const commands = missing.map(
    (part) =>
      `  mvn dependency:copy -Dartifact=org.apache.storm:${part}:${wanted} -DoutputDirectory=${place}`,
  );
  const names = missing.map((part) => `org.apache.storm:${part}:${wanted}`).join(" and ");
  throw new Misuse(
    [
      `${folder} lacks ${names}, by which Storm builds the topology. Put the jars into ${place}:`,
      ...commands,
    ].join("\n"),
  );
}

/** The version of Storm. Undefined: its jars have none. */
function versionOf(folder: string, folders: Finder["folders"]): string | undefined {
  for (const lib of ["lib", "lib-worker"])
    for (const name of folders.namesIn(folders.resolve(folder, lib))) {
      const version = /^storm-client-(\d.*)\.jar$/.exec(name)?.[1];
      if (version !== undefined) return version;
    }
  return undefined;
}

/** The jar of Storm's own version, if there are several. */
function jarOfPart(
  folder: string,
  part: string,
  version: string | undefined,
  folders: Finder["folders"],
): string | undefined {
  const found = FLUX_FOLDERS.flatMap((one) => {
    const path = folders.resolve(folder, one);
    return folders
      .namesIn(path)
      .filter((name) => name.startsWith(`${part}-`) && /^\d[^/]*\.jar$/.test(name.slice(part.length + 1)))
      .map((name) => folders.resolve(path, name));
  });
  return found.find((path) => path.endsWith(`${part}-${version}.jar`)) ?? found.at(-1);
}
