// A topology made ready for Storm: bundled, loaded from the bundle as a component will load it, and with the files of its components.

import { type StormFinding, shellPrograms, stormFindings } from "../../topology/storm/index.js";
import type { Topology } from "../../topology/topology.js";
import type { OptionSpec } from "../shell/arguments.js";
import { type Exports, loadModule, unusable } from "../shell/module.js";
import { type Bundle, bundleOf } from "./bundle.js";
import { addComponentFiles, type Resources, resourcesOf } from "./component-files.js";
import type { StormHost } from "./context.js";
import { exportedTopology } from "./exported.js";
import { BUNDLE } from "./jar.js";

/** Options of the commands that read a topology. */
export const TOPOLOGY: {
  readonly export: OptionSpec & { readonly value: string };
  readonly resources: OptionSpec & { readonly value: string; readonly many: true };
} = {
  export: { value: "NAME", help: "the export that is the topology, when the module has several" },
  resources: {
    value: "DIR",
    many: true,
    help: "a folder whose files go into resources/ of the jar, the working folder of components in Storm; may be repeated",
  },
};

export interface PreparedTopology {
  readonly topology: Topology;
  /** The name of its export. */
  readonly exported: string;
  /** The module and all that it imports, in one file. */
  readonly bundle: Bundle;
  /** The files of the components, by their path in `resources/`. */
  readonly resources: Resources;
  readonly findings: readonly StormFinding[];
}

/**
 * Bundles the module and loads the bundle from a folder such as its components will have.
 *
 * @throws Misuse when it cannot be bundled or loaded, exports no topology, or a file of a component is not there
 */
export async function prepared(
  module: string,
  {
    export: wanted,
    resources: given = [],
  }: { readonly export?: string; readonly resources?: readonly string[] },
  host: StormHost,
): Promise<PreparedTopology> {
  const { folders } = host;
  const path = host.absolute(module);
  if (folders.bytes(path) === undefined) throw unusable(module, "there is no such file");
  const folder = folders.parent(path);
  const resources = resourcesOf(
    given.map((one) => host.absolute(one)),
    folders,
  );
  const bundle = await bundleOf(
    { module: path, name: module, folder, ownModule: (name) => folders.ownModule(name) },
    await host.bundler(),
  );
  const exports = await loaded(module, bundle.text, resources, host);
  const { name, topology } = exportedTopology(module, exports, wanted);
  addComponentFiles(resources, shellPrograms(topology), [...new Set([folder, host.absolute(".")])], folders);
  return { topology, exported: name, bundle, resources, findings: stormFindings(topology) };
}

async function loaded(
  module: string,
  bundle: string,
  resources: Resources,
  { folders, load, printingAside, temporaryFolder }: StormHost,
): Promise<Exports> {
  const temporary = temporaryFolder();
  try {
    for (const [path, bytes] of resources) folders.write(folders.resolve(temporary.path, path), bytes);
    const file = folders.resolve(temporary.path, BUNDLE);
    folders.write(file, new TextEncoder().encode(bundle));
    return await loadModule(module, undefined, () =>
      printingAside(async () => {
        const entry = (await load(file)) as { load(): Promise<object> };
        return entry.load();
      }),
    );
  } finally {
    temporary.remove();
  }
}
