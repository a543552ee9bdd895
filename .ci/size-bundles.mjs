// Makes the bundles that size-limit weighs: each is the code for some imports, without the packages that it uses. What is loaded late
// counts.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const BUNDLES = {
  core: ["{ System, defineServer, supervisor }", "index"],
  system: ["{ System }", "index"],
  index: ["*", "index"],
  topology: ["*", "topology/index"],
  storm: ["*", "topology/storm/index"],
  service: ["*", "service/index"],
  memory: ["{ memory, openStore }", "store/index"],
  store: ["*", "store/index"],
  nodes: ["*", "node/index"],
  flow: ["*", "flow/index"],
  pipeline: ["*", "pipeline/index"],
  observer: ["*", "observer/index"],
};

/** The operations on a system, and its answers to other nodes, are loaded when somebody looks at it: they are in the row of the observer. */
const LOOKS = /\/(kernel-operations|node-answer)\d*\.js$/;
/** A service loads the code of nodes for its option `cluster` alone, whose carrier comes from signalbox/nodes: it is in that row. */
const ELSEWHERE = {
  service: [/\/cluster-node\d*\.js$/, LOOKS],
  flow: [LOOKS],
  nodes: [LOOKS],
  pipeline: [LOOKS],
};

/** Packages of their own, here and at the user's. */
const { dependencies, peerDependencies } = JSON.parse(
  readFileSync(new URL("../package.json", import.meta.url), "utf8"),
);
const PACKAGES = Object.keys({ ...dependencies, ...peerDependencies }).map(
  (name) => new RegExp(`^${name}(/|$)`),
);

const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

for (const [name, [imports, entry]] of Object.entries(BUNDLES)) {
  const code = `export ${imports} from ${JSON.stringify(path(`dist/${entry}.js`))};`;
  const bundle = await rolldown({
    input: "entry",
    platform: "neutral",
    external: [...PACKAGES, ...(ELSEWHERE[name] ?? [])],
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === "entry" ? id : null),
        load: (id) => (id === "entry" ? code : null),
      },
    ],
  });
  // One file, with what it loads late. Rolldown also writes late modules that nothing in the bundle loads; they do not count.
  await bundle.write({
    dir: path(".build/size"),
    entryFileNames: `${name}.js`,
    chunkFileNames: "unused/[name].js",
    minify: true,
    codeSplitting: false,
  });
  await bundle.close();
}
