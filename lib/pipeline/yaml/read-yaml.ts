// Reads YAML 1.2 as plain data with the place of every value, and refuses surprises: another version, tags, merge keys,
// numbers that were rounded, names that are no texts. Aliases are copied, so that no object is shared.

import type * as Yaml from "yaml";
import { faultAt, type KeyedFault, type Keys, shortened } from "../definition/fault.js";
import { YAML_LIMITS } from "./limits.js";
import { hasVariable, isExact, substitute, type Variables } from "./substitution.js";

/** @internal The package, which is loaded when it is needed. */
export type YamlPackage = typeof Yaml;

/** A fault and the offset in the text at which it is. */
export interface OffsetFault {
  readonly fault: KeyedFault;
  readonly offset: number;
}

/** A file as data. */
export interface YamlFile {
  /** With the variables put in. Undefined if the text is no YAML. */
  readonly value: unknown;
  /** As written, without values of the environment. */
  readonly written: unknown;
  /** The text at a place, as written. */
  writtenAt(keys: Keys): unknown;
  /** Values from the environment: they appear in no text. */
  readonly secrets: readonly string[];
  readonly faults: readonly OffsetFault[];
  /** The offset of a value or of its name; of the nearest value around it if there is none. */
  offsetOf(keys: Keys, ofName: boolean): number;
  /** Whether a fault was found at this place or around it, so that further ones there say nothing new. */
  isFaulty(keys: Keys): boolean;
  /** Whether a fault was found within the value at this place. */
  hasFaultWithin(keys: Keys): boolean;
}

/** @internal Reads a text. Never throws, for any text. */
export function readYaml(yaml: YamlPackage, text: string, variables: Variables): YamlFile {
  const faults: OffsetFault[] = [];
  const syntax = (allowed: string, found: string, offset: number): void => {
    faults.push({ fault: faultAt([], allowed, found), offset });
  };
  const document = parsed(yaml, text, syntax);
  if (document === undefined || faults.length > 0) return nothing(faults);
  return new Walk(yaml, variables, faults).file(document);
}

function nothing(faults: readonly OffsetFault[]): YamlFile {
  return {
    value: undefined,
    written: undefined,
    writtenAt: () => undefined,
    secrets: [],
    faults,
    offsetOf: () => 0,
    isFaulty: () => true,
    hasFaultWithin: () => true,
  };
}

type Report = (allowed: string, found: string, offset: number) => void;

function parsed(yaml: YamlPackage, text: string, syntax: Report): Yaml.Document.Parsed | undefined {
  const { characters } = YAML_LIMITS;
  if (text.length > characters) {
    syntax(`a file of at most ${characters} characters`, `${text.length}`, 0);
    return undefined;
  }
  const tokens = tokensOf(yaml, text, syntax);
  if (tokens === undefined) return undefined;
  for (const token of tokens)
    if (token.type === "directive" && !/^%YAML\s+1\.2\s*$/.test(token.source))
      syntax("YAML 1.2, without directives", `the directive ${shortened(token.source)}`, token.offset);
  const composer = new yaml.Composer({
    version: "1.2",
    schema: "core",
    strict: true,
    stringKeys: true,
    // Found here, with a set instead of a search for each key.
    uniqueKeys: false,
    merge: false,
    resolveKnownTags: false,
    prettyErrors: false,
    logLevel: "silent",
  });
  let first: Yaml.Document.Parsed | undefined;
  for (const document of composer.compose(tokens, false, text.length) as Iterable<Yaml.Document.Parsed>) {
    if (first !== undefined) {
      syntax("one document", "a second one", document.range[0]);
      break;
    }
    first = document;
    // An unknown tag is a warning, and a fault of its own.
    const warnings = document.warnings.filter(({ code }) => code !== "TAG_RESOLVE_FAILED");
    for (const { message, pos } of [...document.errors, ...warnings].slice(0, YAML_LIMITS.faults))
      syntax("YAML 1.2", message + hintFor(text, pos[0]), pos[0]);
  }
  if (first === undefined || first.contents === null) {
    if (first === undefined || first.errors.length === 0) syntax("a pipeline", "an empty file", 0);
    return undefined;
  }
  return first;
}

/** Within `{ }` and `[ ]` a variable needs quotes, since its braces belong to the structure there. */
function hintFor(text: string, offset: number): string {
  const line = text.slice(text.lastIndexOf("\n", offset - 1) + 1).split("\n", 1)[0] as string;
  return /[[{].*\$\{/.test(line) ? `; a variable within { } or [ ] needs quotes: "$\{NAME}"` : "";
}

/**
 * The parser builds its tokens without recursion, but composes them with it, and a deep file can end the whole program there. So
 * depth is limited while it is built.
 */
function tokensOf(yaml: YamlPackage, text: string, syntax: Report): Yaml.CST.Token[] | undefined {
  const parser = new yaml.Parser();
  const tokens: Yaml.CST.Token[] = [];
  let count = 0;
  for (const lexeme of new yaml.Lexer().lex(text)) {
    tokens.push(...parser.next(lexeme));
    if (parser.stack.length > YAML_LIMITS.depth) {
      syntax(`a file of at most ${YAML_LIMITS.depth} levels`, "more", parser.offset);
      return undefined;
    }
    if (++count > YAML_LIMITS.tokens) {
      syntax(`a file of at most ${YAML_LIMITS.tokens} words and signs`, "more", parser.offset);
      return undefined;
    }
  }
  tokens.push(...parser.end());
  return tokens;
}

interface NodeOffsets {
  readonly offset: number;
  readonly nameOffset: number;
}

/** Own members alone: `constructor` is no member of an object. */
export function memberAt(value: unknown, keys: Keys): unknown {
  return keys.reduce<unknown>(
    (inner, key) =>
      typeof inner === "object" && inner !== null && Object.hasOwn(inner, key)
        ? (inner as Record<string | number, unknown>)[key]
        : undefined,
    value,
  );
}

/** A value twice: with the variables put in, and as written. */
type Pair = readonly [value: unknown, written: unknown];
const NOTHING: Pair = [undefined, undefined];

class Walk {
  readonly #yaml: YamlPackage;
  readonly #variables: Variables;
  readonly #faults: OffsetFault[];
  readonly #places = new Map<string, NodeOffsets>();
  readonly #faulty = new Set<string>();
  /** The places of values that have a faulty one in them. */
  readonly #around = new Set<string>();
  readonly #secrets = new Set<string>();
  readonly #anchors = new Map<string, Yaml.Node>();
  /** The target of each alias: an anchor may be given again further below. */
  readonly #targets = new Map<Yaml.Alias, Yaml.Node | undefined>();
  readonly #open = new Set<Yaml.Node>();
  /** Aliases that the value at hand is in: in their copies no anchor is given again. */
  #copies = 0;
  #values = 0;

  constructor(yaml: YamlPackage, variables: Variables, faults: OffsetFault[]) {
    this.#yaml = yaml;
    this.#variables = variables;
    this.#faults = faults;
  }

  file(document: Yaml.Document.Parsed): YamlFile {
    const [value, written] = this.#visit(document.contents as Yaml.Node, [], 0);
    const faults = this.#faults;
    return {
      value,
      written,
      writtenAt: (keys) => memberAt(written, keys),
      secrets: [...this.#secrets],
      faults,
      offsetOf: (keys, ofName) => this.#offsetOf(keys, ofName),
      isFaulty: (keys) => keys.some((_, i) => this.#isMarked(keys.slice(0, i + 1))) || this.#isMarked([]),
      hasFaultWithin: (keys) => this.#around.has(JSON.stringify(keys)),
    };
  }

  #isMarked(keys: Keys): boolean {
    return this.#faulty.has(JSON.stringify(keys));
  }

  #offsetOf(keys: Keys, ofName: boolean): number {
    for (let length = keys.length; length >= 0; length--) {
      const place = this.#places.get(JSON.stringify(keys.slice(0, length)));
      // A missing value is reported at the object around it, which begins with its name.
      if (place !== undefined) return ofName || length < keys.length ? place.nameOffset : place.offset;
    }
    return 0;
  }

  #refuse(keys: Keys, offset: number, allowed: string, found: string, suggestion?: string): Pair {
    this.#faulty.add(JSON.stringify(keys));
    for (let length = 0; length < keys.length; length++)
      this.#around.add(JSON.stringify(keys.slice(0, length)));
    this.#add(keys, offset, allowed, found, suggestion);
    return NOTHING;
  }

  #add(keys: Keys, offset: number, allowed: string, found: string, suggestion?: string): void {
    // Aliases may repeat a fault without end: only the first ones are kept.
    if (this.#faults.length < YAML_LIMITS.faults)
      this.#faults.push({ fault: faultAt(keys, allowed, found, suggestion), offset });
  }

  #visit(node: Yaml.Node | null | undefined, keys: Keys, nameOffset: number): Pair {
    const yaml = this.#yaml;
    const offset = node?.range?.[0] ?? nameOffset;
    this.#places.set(JSON.stringify(keys), { offset, nameOffset: keys.length === 0 ? offset : nameOffset });
    if (++this.#values > YAML_LIMITS.values) {
      const once = this.#values === YAML_LIMITS.values + 1;
      if (once)
        this.#refuse([], offset, `a file of at most ${YAML_LIMITS.values} values`, "more, with aliases");
      return NOTHING;
    }
    if (node === null || node === undefined) return [null, null];
    if (keys.length > YAML_LIMITS.depth)
      return this.#refuse(keys, offset, `at most ${YAML_LIMITS.depth} levels deep`, "more, with aliases");
    if (yaml.isAlias(node)) return this.#visitAlias(node, keys, nameOffset);
    if (node.anchor !== undefined && this.#copies === 0) this.#anchors.set(node.anchor, node);
    if (node.tag !== undefined)
      return this.#refuse(keys, offset, "without a tag", `the tag ${shortened(node.tag)}`);
    if (yaml.isScalar(node)) return this.#visitScalar(node, keys, offset);
    this.#open.add(node);
    const pair = yaml.isMap(node)
      ? this.#visitMap(node as Yaml.YAMLMap<Yaml.Node | null, Yaml.Node | null>, keys)
      : this.#visitList(node as Yaml.YAMLSeq<Yaml.Node | null>, keys);
    this.#open.delete(node);
    return pair;
  }

  #visitAlias(alias: Yaml.Alias, keys: Keys, nameOffset: number): Pair {
    const offset = alias.range?.[0] ?? nameOffset;
    if (!this.#targets.has(alias)) this.#targets.set(alias, this.#anchors.get(alias.source));
    const target = this.#targets.get(alias);
    const shown = `*${shortened(alias.source)}`;
    if (target === undefined) return this.#refuse(keys, offset, "an alias of an anchor above it", shown);
    if (this.#open.has(target))
      return this.#refuse(keys, offset, "an alias of something that it is not in", shown);
    this.#copies++;
    const pair = this.#visit(target, keys, nameOffset);
    this.#copies--;
    return pair;
  }

  #visitScalar({ value, type }: Yaml.Scalar, keys: Keys, offset: number): Pair {
    if (typeof value === "number") {
      if (isExact(value)) return [value, value];
      return this.#refuse(
        keys,
        offset,
        "a finite number of at most 2^53 - 1, or in quotes",
        `about ${value}`,
      );
    }
    if (typeof value !== "string" || !hasVariable(value)) return [value, value];
    const done = substitute(value, type === this.#yaml.Scalar.PLAIN, this.#variables);
    if (!("value" in done)) return this.#refuse(keys, offset, done.allowed, done.found, done.suggestion);
    for (const secret of done.secrets) this.#secrets.add(secret);
    return [done.value, value];
  }

  #visitList(list: Yaml.YAMLSeq<Yaml.Node | null>, keys: Keys): Pair {
    const pairs = list.items.map((item, i) => this.#visit(item, [...keys, i], item?.range?.[0] ?? 0));
    return [pairs.map(([value]) => value), pairs.map(([, written]) => written)];
  }

  #visitMap(map: Yaml.YAMLMap<Yaml.Node | null, Yaml.Node | null>, keys: Keys): Pair {
    const value: Record<string, unknown> = {};
    const written: Record<string, unknown> = {};
    const seen = new Set<string>();
    for (const { key, value: inner } of map.items) {
      const offset = key?.range?.[0] ?? inner?.range?.[0] ?? map.range?.[0] ?? 0;
      const name = this.#nameOf(key, keys, offset);
      if (name === undefined) continue;
      if (seen.has(name)) {
        // The first value of this name is not at fault: other faults in it are found as well.
        this.#add(
          [...keys, name],
          offset,
          "a name that the object does not have already",
          JSON.stringify(name),
        );
        continue;
      }
      seen.add(name);
      const [a, b] = this.#visit(inner, [...keys, name], offset);
      value[name] = a;
      written[name] = b;
    }
    return [value, written];
  }

  /** The name of a member; undefined after a fault. */
  #nameOf(key: Yaml.Node | null, keys: Keys, offset: number): string | undefined {
    const name = this.#yaml.isScalar(key) && key.tag === undefined ? key.value : undefined;
    const refuse = (allowed: string, found: string): undefined => {
      this.#refuse([...keys, typeof name === "string" ? name : ""], offset, allowed, found);
    };
    if (typeof name !== "string" || name === "") return refuse("a name", "a name that is no text");
    if (name === "<<")
      return refuse("a name; a file has `defaults` instead of merge keys", "the merge key <<");
    if (name === "__proto__") return refuse("another name", "__proto__");
    if (hasVariable(name)) return refuse("a name without variables: they stand in values", shortened(name));
    return name;
  }
}
