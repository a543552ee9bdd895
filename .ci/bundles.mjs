// The package in the bundles of its users: the size of the code, and the names and codes of errors after minification.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { ENTRIES } from "../.config/entries.mjs";
import { folder, root, run } from "./support.mjs";

/** Packages that users choose: a bundle leaves their imports alone. */
const PEERS = Object.keys(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).peerDependencies);

/** One minified bundle of all entries, in which each entry is a namespace. */
async function minified() {
  const path = folder("minified");
  const entry = join(path, "all.js");
  const lines = ENTRIES.map(
    (name, i) => `export * as e${i} from ${JSON.stringify(join(root, "dist", `${name}.js`))};`,
  );
  writeFileSync(entry, lines.join("\n"));
  const bundle = await rolldown({
    input: entry,
    platform: "node",
    external: PEERS,
    logLevel: "silent",
  });
  const file = join(root, ".build", "minified.mjs");
  // One file, with what is loaded late in it.
  await bundle.write({ file, minify: true, codeSplitting: false });
  return import(pathToFileURL(file));
}

/** Stands for any argument of an error's constructor. */
const anything = new Proxy(() => undefined, {
  get: (_target, key) => {
    if (key === Symbol.toPrimitive) return () => "x";
    if (key === Symbol.iterator) return () => [anything, anything].values();
    if (key === "length") return 1;
    return anything;
  },
  apply: () => anything,
});

/** Arguments for constructors that accept only some values. */
const GIVEN = {
  DiskFault: ["EIO"],
  FlowHostTakenError: ["id", "store", undefined],
  PipelineHostTakenError: ["id", "store", undefined],
};

/** `name code` of every error class that an entry exports. */
function namesAndCodes(entry, base) {
  return Object.entries(entry)
    .filter(([, value]) => value?.prototype instanceof base)
    .map(([exported, error]) => {
      const { name, code } = new error(...(GIVEN[exported] ?? Array(6).fill(anything)));
      return `${exported}: ${name} ${code}`;
    });
}

/** The files of a bundle of these imports that are loaded with it, and those that it may load later. */
async function bundled(imports) {
  const entry = join(folder("drivers"), "entry.js");
  writeFileSync(entry, `export ${imports} from ${JSON.stringify(join(root, "dist/store/index.js"))};`);
  const bundle = await rolldown({ input: entry, platform: "browser", external: PEERS, logLevel: "silent" });
  const { output } = await bundle.generate();
  await bundle.close();
  const files = new Map(output.map((file) => [file.fileName, file]));
  const first = new Set([output.find(({ isEntry }) => isEntry)]);
  const late = new Set();
  for (const file of first) for (const name of file.imports) if (files.has(name)) first.add(files.get(name));
  for (const file of first) for (const name of file.dynamicImports) late.add(files.get(name));
  for (const file of late)
    for (const name of file.imports) if (!first.has(files.get(name))) late.add(files.get(name));
  const text = (some) => [...some].map(({ code = "" } = {}) => code).join("\n");
  return { first: text(first), late: text(late) };
}

/** Words of the drivers: a bundle without them holds no driver. */
const DRIVERS = { sqlite: /journal_mode/, postgres: /pg_advisory_xact_lock/ };

export const checks = {
  "a bundle of a store in memory holds no other driver, and the others are loaded when they are opened":
    async () => {
      const memory = await bundled("{ memory, openStore, transact }");
      const all = await bundled("*");
      for (const [kind, word] of Object.entries(DRIVERS)) {
        if (word.test(memory.first + memory.late)) throw new Error(`a store in memory brings ${kind} along`);
        if (word.test(all.first)) throw new Error(`${kind} is loaded before it is opened`);
        if (!word.test(all.late)) throw new Error(`${kind} is not in the bundle of everything`);
      }
    },
  "names and codes of errors survive minification": async () => {
    const bundle = await minified();
    const all = { plain: [], minified: [] };
    for (const [i, name] of ENTRIES.entries()) {
      const plain = await import(pathToFileURL(join(root, "dist", `${name}.js`)));
      const { SignalboxError } = await import(pathToFileURL(join(root, "dist/index.js")));
      all.plain.push(...namesAndCodes(plain, SignalboxError));
      all.minified.push(...namesAndCodes(bundle[`e${i}`], bundle.e0.SignalboxError));
    }
    if (bundle.e0.OptionError.toString().startsWith("class OptionError"))
      throw new Error("it is not minified");
    if (all.plain.length < 50) throw new Error(`there are ${all.plain.length} classes of errors`);
    const changed = all.plain.filter((line, i) => line !== all.minified[i] || !/^(\w+): \1 /.test(line));
    if (changed.length > 0) throw new Error(`changed: ${changed.join(", ")}`);
  },
  "bundles stay within their limits, minified and gzipped": async () => {
    // As `npm run size`, of what is built already.
    await run(process.execPath, [".ci/size-bundles.mjs"]);
    console.log((await run("npx", ["size-limit"])).trimEnd());
  },
};
