// The source type `messages`: its messages are in the file.

import type { SchemaResult, StandardSchema } from "../../process/standard-schema.js";
import { fieldOf } from "../definition/condition.js";
import { type ObjectShape, shapeFaults } from "../definition/shape.js";
import type { Source } from "../definition/source.js";

interface Messages {
  readonly values: readonly unknown[];
  /** The path of the field that is the key of each message. */
  readonly key?: string;
}

export const MESSAGES_SHAPE: ObjectShape = {
  type: "object",
  fields: {
    values: {
      shape: { type: "list", of: { type: "any" } },
      required: true,
      description: "The messages, in order.",
    },
    key: {
      shape: { type: "text", allowed: "the path of a field" },
      description: "The path of the field that is the key of each message.",
    },
  },
};

/** The values may be anything, so this schema needs no library. */
const schema: StandardSchema<Messages> = {
  "~standard": {
    version: 1,
    vendor: "signalbox",
    validate: (value): SchemaResult<Messages> => {
      const faults = shapeFaults(MESSAGES_SHAPE, value);
      if (faults.length === 0) return { value: value as Messages };
      return {
        issues: faults.map(({ keys, allowed, found }) => ({
          message: `must be ${allowed}; found ${found}`,
          path: keys,
        })),
      };
    },
  },
};

export const messagesSource: {
  readonly type: string;
  readonly description: string;
  readonly config: StandardSchema<Messages>;
  readonly create: (config: Messages, made: { readonly name: string }) => Source<unknown, number>;
} = {
  type: "messages",
  description: "Messages that are in the file.",
  config: schema,
  create: ({ values, key }, { name }) => ({
    name,
    *open({ checkpoint = 0 }) {
      const names = key?.split(".");
      for (let i = checkpoint; i < values.length; i++) {
        const found = names === undefined ? undefined : fieldOf(values[i], names);
        const isKey = typeof found === "string" || typeof found === "number";
        yield { value: values[i], checkpoint: i + 1, ...(isKey ? { key: String(found) } : {}) };
      }
    },
  }),
};
