// sqlite(path): a store in one file. Its driver is loaded when a store is opened: a bundle that opens none on SQLite loads none.

import { OptionError } from "../../process/errors.js";
import type { DriverHost } from "../driver.js";
import type { Durability, Schema } from "../schema.js";
import { checkSchemas } from "../schema-versions.js";
import type { Store, StoreContext, StoreSource } from "../store.js";
import { sharedSource } from "../store-source.js";
import { realPath } from "./files.js";
import { checkOptions, durabilityOf, type SqliteOptions, type SqliteSettings } from "./settings.js";
import type { SqliteDriver } from "./sqlite-driver.js";

/**
 * A store in one SQLite file, for one process. It runs on node:sqlite where Node has it (22.13 and newer), else on the package
 * libsql; files move between the two. The file is created when it is not there; its folder must be.
 *
 * The store holds the file's lock from `open` to `close`. The operating system takes it back when the process ends in any way. While
 * the store is open, let nothing else in the process open the file, not even to read or copy it: to close a file takes all locks of the
 * process off it. `backup` makes copies.
 *
 * @param path - of the file. SQLite keeps a log beside it: `-wal` at the end of its name
 * @throws OptionError for a path or option that is not allowed
 * @example
 * const source = sqlite("orders.db", { durability: "power-loss" });
 */
export function sqlite(path: string, options: SqliteOptions = {}): StoreSource {
  if (typeof path !== "string" || path === "" || path.includes("\0") || path === ":memory:")
    throw new OptionError("path", path, "the path of a file; memory() keeps a store in memory");
  return new SqliteSource(path, checkOptions(options));
}

/** A file that is open in this process, or about to be. */
interface OpenFile {
  readonly source: StoreSource;
  readonly settings: SqliteSettings;
  /** The strictest durability that any `open` has asked for. */
  durability: Durability;
  /** Undefined while it is not connected. */
  driver: SqliteDriver | undefined;
  /** Calls of `open` that have not ended. */
  opening: number;
}

/** By real path: a process opens a file only once. */
const files = new Map<string, OpenFile>();

class SqliteSource implements StoreSource {
  readonly label: string;
  readonly file: string;
  readonly #path: string;
  readonly #settings: SqliteSettings;

  constructor(path: string, settings: SqliteSettings) {
    this.label = `sqlite ${path}`;
    this.file = path;
    this.#path = path;
    this.#settings = settings;
  }

  async open(schemas: readonly Schema[], context: StoreContext): Promise<Store> {
    checkSchemas(schemas);
    const path = realPath(this.#path);
    const durability = durabilityOf(this.#settings, schemas);
    const file = files.get(path) ?? this.#newFile(path, durability);
    checkSame(file, this.#settings, durability);
    if (durability === "power-loss") file.durability = durability;
    file.opening++;
    try {
      const store = await file.source.open(schemas, context);
      try {
        // Others may have opened it who ask for less.
        if (file.durability === "power-loss") await file.driver?.surviveLoss();
        return store;
      } catch (error) {
        await store.close();
        throw error;
      }
    } finally {
      file.opening--;
      forget(path, file);
    }
  }

  #newFile(path: string, durability: Durability): OpenFile {
    const settings = this.#settings;
    const connect = async (host: DriverHost): Promise<SqliteDriver> => {
      const { connectTo } = await import("./connect.js");
      const driver = await connectTo(
        this.label,
        path,
        { ...settings, durability: file.durability },
        host,
        () => {
          file.driver = undefined;
          forget(path, file);
        },
      );
      file.driver = driver;
      return driver;
    };
    const file: OpenFile = {
      source: sharedSource({ label: this.label, connect }),
      settings,
      durability,
      driver: undefined,
      opening: 0,
    };
    files.set(path, file);
    return file;
  }
}

function forget(path: string, file: OpenFile): void {
  if (file.driver === undefined && file.opening === 0 && files.get(path) === file) files.delete(path);
}

/**
 * An `open` of an open file shares its connection, and so its options. The durability may grow, unless an option has set it low.
 *
 * @throws OptionError
 */
function checkSame(
  { settings: open, durability }: OpenFile,
  wanted: SqliteSettings,
  asked: Durability,
): void {
  const refuse = (name: keyof SqliteSettings, is: unknown): never => {
    throw new OptionError(name, wanted[name], `${String(is)}, as where the file is open already`);
  };
  for (const name of Object.keys(wanted) as (keyof SqliteSettings)[])
    if (name !== "durability" && open[name] !== wanted[name]) refuse(name, open[name]);
  const isLow = open.durability === "process-kill" || wanted.durability === "process-kill";
  if (isLow && durability !== asked) refuse("durability", durability);
}
