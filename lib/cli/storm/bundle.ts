// The module of a topology, and everything that it imports, as one file that runs where nothing is installed but Node.

import { Misuse } from "../shell/arguments.js";
import { BUNDLE } from "./jar.js";

/** How a module names another one. */
interface Resolving {
  readonly kind?: string;
}

/** The part of the resolving of rolldown that is used. */
interface Resolver {
  resolve(
    id: string,
    importer: string | undefined,
    options: { skipSelf: true; kind?: string },
  ): Promise<{ readonly id: string; readonly external?: unknown } | null>;
}

/** The part of the package rolldown that is used. */
export interface Bundler {
  rolldown(options: object): Promise<{
    generate(options: object): Promise<{ readonly output: readonly { readonly code?: string }[] }>;
    close(): Promise<void>;
  }>;
}

export interface BundleOptions {
  /** The absolute path of the module of the topology. */
  readonly module: string;
  /** As the user has named it, for messages. */
  readonly name: string;
  readonly folder: string;
  /** The file of `signalbox/topology` and the like, for a module that finds no signalbox of its own. */
  ownModule(name: string): string;
}

const ENTRY = "\0signalbox-storm";
const OWN = /^signalbox(\/|$)/;
/** Packages by which others load their native part. */
const NATIVE = /^(bindings|node-gyp-build|@mapbox\/node-pre-gyp|node-pre-gyp|@neon-rs\/load|nbind)$/;

/** The text of the entry: the module is loaded late, so that what it prints meanwhile does not break the protocol. */
const entryOf = (module: string): string => `import { runComponent } from "signalbox/topology";
export const load = () => import(${JSON.stringify(module)});
export const run = (name) => runComponent(async () => (await load())[name]);
`;

export interface Bundle {
  readonly text: string;
  /** Packages that are not installed, and that others import only where they need them. */
  readonly leftOut: readonly string[];
}

/** @throws Misuse that names each import that cannot be in the bundle, and its importer */
export async function bundleOf(options: BundleOptions, { rolldown }: Bundler): Promise<Bundle> {
  const problems = new Set<string>();
  const leftOut = new Set<string>();
  try {
    const bundle = await rolldown({
      input: { [BUNDLE.replace(/\.mjs$/, "")]: ENTRY },
      platform: "node",
      cwd: options.folder,
      resolve: {
        extensionAlias: { ".js": [".ts", ".tsx", ".js"], ".mjs": [".mts", ".mjs"], ".cjs": [".cts", ".cjs"] },
      },
      // Comments that name files would name those of this machine.
      experimental: { attachDebugInfo: "none" },
      transform: { define: { __dirname: "import.meta.dirname", __filename: "import.meta.filename" } },
      plugins: [pluginOf(options, problems, leftOut)],
      // Hints for people who write bundles.
      onLog: () => undefined,
    });
    try {
      const { output } = await bundle.generate({
        format: "esm",
        codeSplitting: false,
        sourcemap: false,
        entryFileNames: BUNDLE,
      });
      if (problems.size === 0) return { text: output[0]?.code ?? "", leftOut: [...leftOut].sort() };
    } finally {
      await bundle.close();
    }
  } catch (error) {
    if (problems.size === 0)
      throw new Misuse(`cannot bundle ${options.name}: ${(error as Error).message.trim()}`);
  }
  throw new Misuse([`cannot bundle ${options.name}:`, ...problems].join("\n  "));
}

function pluginOf(
  { module, folder, ownModule }: BundleOptions,
  problems: Set<string>,
  leftOut: Set<string>,
): object {
  const shown = (importer: string): string =>
    importer.startsWith(`${folder}/`) ? importer.slice(folder.length + 1) : importer;
  return {
    name: "signalbox-storm",
    load: (id: string) => (id === ENTRY ? entryOf(module) : null),
    async resolveId(this: Resolver, id: string, importer: string | undefined, { kind }: Resolving) {
      if (id === ENTRY) return id;
      // The topology and the program that runs it share a copy of signalbox.
      const from = importer === ENTRY ? module : importer;
      const found = await this.resolve(id, from, { skipSelf: true, ...(kind !== undefined && { kind }) });
      const by = `imported by ${shown(from ?? module)}`;
      if (found === null) {
        if (OWN.test(id)) return ownModule(id);
        if (isOptional(from, kind)) leftOut.add(id);
        else problems.add(`${id}, ${by}, is not found`);
        return { id, external: true };
      }
      if (found.id.endsWith(".node") || NATIVE.test(id))
        problems.add(`${id}, ${by}, is a native addon, which a bundle cannot hold`);
      return found;
    },
  };
}

/** Packages ask for others that need not be there, and do without them. */
function isOptional(importer: string | undefined, kind: string | undefined): boolean {
  return kind !== "import-statement" && /[\\/]node_modules[\\/]/.test(importer ?? "");
}
