// The jar of a topology: a zip with the same bytes for the same entries, at any time and in any time zone.

import type { Folders } from "../shell/folders.js";

type ZipTime = ReturnType<Folders["zipTime"]>;

/** The part of the package fflate that writes a zip. */
export interface Zip {
  zipSync(
    entries: Record<string, [Uint8Array, { mtime: ZipTime; os: number; attrs: number; level: 6 }]>,
  ): Uint8Array;
}

/** The part of the package fflate that reads a zip. */
export interface Unzip {
  unzipSync(
    bytes: Uint8Array,
    options: { filter(file: { readonly name: string }): boolean },
  ): Readonly<Record<string, Uint8Array>>;
}

/** The Flux definition of the topology. JSON is YAML. */
export const DEFINITION = "topology.json";
/** Storm unpacks this folder; it is the working folder of every component. */
export const RESOURCES = "resources/";
/** The program of every component of ours. */
export const COMPONENT = "component.mjs";
/** The module of the topology, with everything that it imports. */
export const BUNDLE = "topology.mjs";

const MANIFEST = "META-INF/MANIFEST.MF";
/** `unzip` makes files that their owner may write and all may read. */

const UNIX = 3;
const PLAIN_FILE = 0o100644 * 0x10000;

/**
 * @param definition - the text of the Flux definition
 * @param resources - the files of the components, by their path below `resources/`
 * @param time - the time of every entry
 */
export function jarOf(
  definition: string,
  resources: ReadonlyMap<string, Uint8Array>,
  { zipSync }: Zip,
  time: ZipTime,
): Uint8Array {
  const utf8 = new TextEncoder();
  const entries = new Map<string, Uint8Array>([
    [MANIFEST, utf8.encode("Manifest-Version: 1.0\r\nCreated-By: signalbox\r\n\r\n")],
    [DEFINITION, utf8.encode(definition)],
    ...[...resources].map(([path, bytes]) => [RESOURCES + path, bytes] as const),
  ]);
  const names = [...entries.keys()].sort();
  const settings = { mtime: time, os: UNIX, attrs: PLAIN_FILE, level: 6 } as const;
  return zipSync(
    // A name such as `7` would move to the front of an object; each of ours has a dot or a slash.
    Object.fromEntries(names.map((name) => [name, [entries.get(name) as Uint8Array, settings]])),
  );
}

/** The name of the topology in a jar that `signalbox storm export` has written. Undefined: the jar is another one. */
export function topologyIn(jar: Uint8Array, { unzipSync }: Unzip): string | undefined {
  try {
    const wanted = [DEFINITION, RESOURCES + COMPONENT];
    const found = unzipSync(jar, { filter: ({ name }) => wanted.includes(name) });
    if (wanted.some((name) => found[name] === undefined)) return undefined;
    const { name } = JSON.parse(new TextDecoder().decode(found[DEFINITION])) as { name?: unknown };
    return typeof name === "string" ? name : undefined;
  } catch {
    return undefined;
  }
}
