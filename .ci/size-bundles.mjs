// Makes the bundles that size-limit weighs: each is the code for some imports, without the two dependencies.

import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";

const BUNDLES = {
  core: ["{ System, defineServer, supervisor }", "index"],
  system: ["{ System }", "index"],
  index: ["*", "index"],
  topology: ["*", "topology/index"],
  service: ["*", "service/index"],
};

const path = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

for (const [name, [imports, entry]] of Object.entries(BUNDLES)) {
  const code = `export ${imports} from ${JSON.stringify(path(`dist/${entry}.js`))};`;
  const bundle = await rolldown({
    input: "entry",
    platform: "neutral",
    external: /^(?:eventemitter3|nanoid)$/,
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === "entry" ? id : null),
        load: (id) => (id === "entry" ? code : null),
      },
    ],
  });
  await bundle.write({ file: path(`.build/size/${name}.js`), minify: true });
  await bundle.close();
}
