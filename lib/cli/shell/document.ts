// The output of a command with --json: always one document, also of a long list, and of a command that fails. A command of events prints one on
// each line.

import { toJson } from "../../admin/json-view.js";
import { indentedJson, jsonText } from "./json-text.js";

/** A failure that the document on standard output tells already. */
export class Told extends Error {
  constructor(cause: unknown) {
    super("", { cause });
  }
}

/** The document of a command that fails. @param lines - it prints a document on each line: the error is an event among them */
export function failureText(error: unknown, lines = false): string {
  const document = failure(error);
  return lines ? jsonText(toJson({ event: "error", ...document })) : indentedJson(toJson(document));
}

/** The error, as the host's program would see it. */
function failure(error: unknown): object {
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  const { code, remote } = error as { code?: unknown; remote?: { name?: string; code?: string } };
  const known = remote ?? { name, code };
  return {
    error: {
      name: known.name ?? name,
      ...(typeof known.code === "string" && { code: known.code }),
      message,
    },
  };
}

/**
 * Prints an object with a list, item by item, as they come: the list is never in memory as a whole. A failure on the way closes the
 * document with `error`.
 *
 * @param name - of the list in the object
 * @param rest - the other fields of the object, known at its end
 * @throws Told
 */
export async function printList(
  host: { print(text: string): void },
  name: string,
  items: AsyncIterable<unknown>,
  rest: () => object = () => ({}),
): Promise<void> {
  host.print(`{${jsonText(name)}: [`);
  let line: string | undefined;
  const end = (more: object): void => {
    if (line !== undefined) host.print(line);
    const fields = jsonText(toJson(more)).slice(1);
    host.print(fields === "}" ? "]}" : `], ${fields}`);
  };
  try {
    for await (const item of items) {
      if (line !== undefined) host.print(`${line},`);
      line = jsonText(toJson(item));
    }
  } catch (error) {
    end(failure(error));
    throw new Told(error);
  }
  end(rest());
}
