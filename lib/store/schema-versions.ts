// Finds the steps from the version of a schema that a store has to the version that the program knows.

import { OptionError } from "../process/errors.js";
import { only } from "../process/known-options.js";
import { count } from "../process/options.js";
import { StoreVersionError } from "./errors.js";
import type { Migration, Schema } from "./schema.js";

const NAME = /^[a-z][a-z0-9_]{0,40}$/;

/**
 * Checks schemas that share a store.
 *
 * @throws OptionError for a malformed name or version, and for a table that is there twice
 */
export function checkSchemas(schemas: readonly Schema[]): void {
  const owners = new Map<string, string>();
  for (const [i, schema] of schemas.entries()) {
    only(`schemas[${i}]`, schema, ["name", "version", "tables", "migrations", "requires", "durability"]);
    const { name, version, tables } = schema;
    if (!NAME.test(name))
      throw new OptionError(`schemas[${i}].name`, name, "lower case letters, digits and _, a letter first");
    count(`schemas[${i}].version`, version, 1);
    for (const table of tables) {
      const owner = owners.get(table.name);
      if (owner !== undefined && owner !== name)
        throw new OptionError(
          `schemas[${i}].tables`,
          table.name,
          `a name that schema ${owner} does not have`,
        );
      owners.set(table.name, name);
    }
  }
}

/** Whether a store has a table, by its name in the schema. */
export type HasTable = (name: string) => boolean;

/**
 * The steps that are stated for the versions after `found`, in their order. Tables, indexes and columns that are new need no step.
 *
 * @param found - the version that the store has; undefined: the schema is new to it
 * @throws StoreVersionError when the store's version is newer than the program's, or is a format from before the first release
 */
export function migrationsFrom(
  label: string,
  schema: Schema,
  found: number | undefined,
  has: HasTable,
): readonly Migration[] {
  if (found === undefined) return [];
  const { name, version, requires = [] } = schema;
  if (found > version) throw new StoreVersionError(label, name, found, version);
  const missing = requires.find((table) => !has(table));
  if (missing !== undefined) throw new StoreVersionError(label, name, found, version, missing);
  const steps: Migration[] = [];
  for (let version = found + 1; version <= schema.version; version++) {
    const step = schema.migrations?.[version];
    if (step !== undefined) steps.push(step);
  }
  return steps;
}
