// Programs of TypeScript made into programs of Node: compiled, with their types, beside the library as it is published; or bundled with
// it, without a look at the types.

import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { declared } from "./declared.js";
import { TETHER } from "./tether.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const BUILD = join(root, ".build");
/** No run takes as long. */
const ABANDONED_AFTER_MS = 24 * 60 * 60 * 1_000;

/** A folder below `.build` for sources and what is compiled. Each run has its own: two runs in one checkout do not disturb each other. */
export class Compiled {
  /** The path of the folder, from the root of the repository. */
  readonly folder: string;
  private readonly work: string;
  private readonly built: string;
  private readonly library: string;

  /** @param name - how the name of the folder begins: one for each test file */
  constructor(name: string) {
    mkdirSync(BUILD, { recursive: true });
    removeAbandoned(`${name}-`);
    this.work = mkdtempSync(join(BUILD, `${name}-`));
    this.folder = `.build/${basename(this.work)}`;
    this.built = join(this.work, "built");
    this.library = join(this.work, "node_modules/signalbox");
    // A run that is cancelled skips `afterAll`.
    process.once("exit", this.remove);
  }

  /**
   * Each file for itself, so that workers and other files lie beside them. The library is bundled, so that programs start sooner. Fails
   * when a type is wrong.
   * @param include - folders of sources, from the root of the repository
   */
  compile(...include: readonly string[]): void {
    const config = {
      extends: "../../tsconfig.json",
      compilerOptions: {
        noEmit: false,
        rootDir: "../..",
        outDir: "built",
        declaration: false,
        isolatedDeclarations: false,
        paths: declared(join(this.work, "types")),
      },
      include: include.map((folder) => `../../${folder}`),
    };
    writeFileSync(join(this.work, "tsconfig.json"), JSON.stringify(config));
    const node = (...args: readonly string[]) => execFileSync(process.execPath, args, { stdio: "pipe" });
    try {
      node(join(root, "node_modules/typescript/bin/tsc"), "-p", this.work);
    } catch (error) {
      throw new Error(String((error as { stdout?: unknown }).stdout));
    }
    node(join(root, ".config/build.mjs"), this.library);
    this.install();
  }

  /**
   * Takes a tenth of the time of `compile`, and a program starts in a fifth. Types are not checked.
   * @param folder - of sources, from the root of the repository
   * @param entries - its programs and the files of its workers, by name without `.ts`
   */
  async bundle(folder: string, ...entries: readonly string[]): Promise<void> {
    const bundle = await rolldown({
      input: Object.fromEntries(entries.map((name) => [name, join(root, folder, `${name}.ts`)])),
      platform: "node",
      logLevel: "silent",
      tsconfig: join(root, "tsconfig.json"),
      resolve: { extensionAlias: { ".js": [".ts", ".js"] } },
      transform: { target: "es2022" },
    });
    await bundle.write({
      dir: join(this.built, folder),
      format: "esm",
      entryFileNames: "[name].js",
      chunkFileNames: "chunks/[name].js",
    });
    await bundle.close();
  }

  /** Arguments for Node that run a program. @param path - of its source, from the root of the repository */
  argsFor(path: string): readonly string[] {
    const file = join(this.built, path.replace(/\.ts$/, ".js"));
    return ["--import", `data:text/javascript,${encodeURIComponent(TETHER)}`, file];
  }

  /** Runs a program to its end. Resolves with all that it printed, and its exit code if that is not 0. */
  async run(path: string, args: readonly string[] = []): Promise<string> {
    return (await this.printed(path, args)).all;
  }

  /** Runs a program to its end. Resolves with what it printed, reports of crashes included or not, and its exit code if that is not 0. */
  printed(path: string, args: readonly string[] = []): Promise<{ out: string; all: string }> {
    return new Promise((resolve) => {
      const options = { maxBuffer: 1e9, env: { ...process.env, NO_COLOR: "1", NODE_OPTIONS: "" } };
      const all = [...this.argsFor(path), ...args];
      execFile(process.execPath, all, options, (error, out, err) => {
        const ended = error === null ? "" : `(exit code ${error.code ?? error.signal})`;
        resolve({ out: `${out}${ended}`.trim(), all: `${out}${err}${ended}`.trim() });
      });
    });
  }

  readonly remove = (): void => {
    process.off("exit", this.remove);
    rmSync(this.work, { recursive: true, force: true });
  };

  /** Programs and their workers import signalbox by name: here that is the library of this source tree, as a package. */
  private install(): void {
    const { name, type, exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const own = JSON.parse(JSON.stringify(exports).replaceAll("./dist/", "./"));
    writeFileSync(join(this.library, "package.json"), JSON.stringify({ name, type, exports: own }));
    // Without it the nearest package.json is that of the repository: the name would lead to its `dist`.
    writeFileSync(join(this.work, "package.json"), JSON.stringify({ type }));
  }
}

/** A run whose process was killed has left its folder. */
function removeAbandoned(prefix: string): void {
  for (const name of readdirSync(BUILD).filter((name) => name.startsWith(prefix))) {
    const folder = join(BUILD, name);
    // Another run may remove it in between.
    const madeAt = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Number.POSITIVE_INFINITY;
    if (Date.now() - madeAt > ABANDONED_AFTER_MS) rmSync(folder, { recursive: true, force: true });
  }
}
