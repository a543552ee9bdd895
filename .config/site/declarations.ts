// What the entries of the package export, with their declarations and TSDoc: read from the declarations that the sources stand for.

import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { parseSync } from "oxc-parser";
import { isolatedDeclarationSync } from "rolldown/experimental";

export type Kind = "function" | "value" | "class" | "type";

/** One exported name. */
export interface Export {
  readonly name: string;
  readonly kind: Kind;
  /** The file of lib that declares it. */
  readonly path: string;
  /** Its TSDoc, without stars. */
  readonly doc: string;
  /** Its declarations: several for overloads. */
  readonly code: string;
}

interface Declared {
  readonly kind: Kind;
  readonly doc: string;
  readonly code: string;
}

interface Module {
  readonly declared: ReadonlyMap<string, readonly Declared[]>;
  /** Names that it takes from another module, under another name perhaps; `*` is all of them. */
  readonly taken: ReadonlyMap<string, { readonly path: string; readonly name: string }>;
  /** Modules whose exports it exports. */
  readonly all: readonly string[];
  /** Exported names, by the local ones. */
  readonly named: ReadonlyMap<string, string>;
}

const KINDS: Readonly<Record<string, Kind>> = {
  FunctionDeclaration: "function",
  TSDeclareFunction: "function",
  ClassDeclaration: "class",
  TSInterfaceDeclaration: "type",
  TSTypeAliasDeclaration: "type",
  VariableDeclaration: "value",
};

/** TSDoc without its stars. */
const docOf = (comment: string): string => comment.replace(/^\*/, "").replaceAll(/^[ \t]*\* ?/gm, "").trim();

/** The code of a declaration, without what users cannot reach, indented by two spaces. */
const codeOf = (text: string): string =>
  text
    .replace(/^export (?:declare )?|^declare /, "")
    .replaceAll(/^\s*(?:#private|private [^;]*);\n/gm, "")
    .replaceAll("\t", "  ")
    .replaceAll(/^( *)\*/gm, "$1 *");

function nameOf(node: { type: string; name?: string; value?: unknown }): string {
  return node.name ?? String(node.value);
}

/** Reads lib, each file once. */
export class Declarations {
  readonly #root: string;
  readonly #modules = new Map<string, Module>();

  constructor(root: string) {
    this.#root = root;
  }

  /** The exports of a file, by name. */
  exports(path: string): Map<string, Export> {
    const { all, named, taken } = this.#module(path);
    const found = new Map<string, Export>();
    for (const from of all) for (const [name, one] of this.exports(from)) found.set(name, one);
    for (const [local, name] of named) {
      const one = this.#find(path, local);
      if (one !== undefined) found.set(name, { ...one, name });
    }
    for (const [name, { path: from, name: local }] of taken)
      if (local === "*" && !named.has(name)) for (const [inner, one] of this.exports(from)) found.set(`${name}.${inner}`, { ...one, name: `${name}.${inner}` });
    return found;
  }

  /** What a class or an interface inherits from, as far as lib declares it. */
  bases({ path, code }: Export): Export[] {
    const [, heritage = ""] = /^[^{]*?\bextends ([^{]+)/.exec(code.replaceAll(/<(?:[^<>]|<[^<>]*>)*>/g, "")) ?? [];
    const names = heritage.replace(/\bimplements\b.*/s, "").match(/\b[A-Z]\w*/g) ?? [];
    return names.flatMap((name) => this.#find(path, name) ?? []);
  }

  #find(path: string, local: string): Export | undefined {
    const { declared, taken } = this.#module(path);
    const own = declared.get(local);
    if (own !== undefined && own[0] !== undefined)
      return {
        name: local,
        path,
        kind: own[0].kind,
        doc: own.find(({ doc }) => doc !== "")?.doc ?? "",
        code: own.map(({ code }) => code).join("\n"),
      };
    const from = taken.get(local);
    return from === undefined ? undefined : this.#find(from.path, from.name) ?? this.exports(from.path).get(from.name);
  }

  #module(path: string): Module {
    const known = this.#modules.get(path);
    if (known !== undefined) return known;
    const source = readFileSync(`${this.#root}${path}`, "utf8");
    const { code } = isolatedDeclarationSync(path, source, { stripInternal: true });
    const module = read(path, code);
    this.#modules.set(path, module);
    return module;
  }
}

function read(path: string, code: string): Module {
  const { program, comments } = parseSync(path.replace(/\.ts$/, ".d.ts"), code);
  const declared = new Map<string, Declared[]>();
  const taken = new Map<string, { path: string; name: string }>();
  const named = new Map<string, string>();
  const all: string[] = [];
  const file = (from: string): string | undefined =>
    from.startsWith(".") ? posix.join(posix.dirname(path), from).replace(/\.js$/, ".ts") : undefined;
  const docBefore = (start: number): string => {
    const last = comments.findLast(({ end }) => end <= start);
    return last?.value.startsWith("*") && code.slice(last.end, start).trim() === "" ? docOf(last.value) : "";
  };
  for (const node of program.body) {
    if (node.type === "ImportDeclaration") {
      const from = file(node.source.value);
      for (const one of node.specifiers)
        if (from !== undefined && one.type === "ImportSpecifier")
          taken.set(one.local.name, { path: from, name: nameOf(one.imported) });
    } else if (node.type === "ExportAllDeclaration") {
      const from = file(node.source.value);
      if (from === undefined) continue;
      if (node.exported === null) all.push(from);
      else taken.set(nameOf(node.exported), { path: from, name: "*" });
    } else {
      const isExport = node.type === "ExportNamedDeclaration";
      const one = isExport ? node.declaration : node;
      const kind = KINDS[one?.type ?? ""];
      if (one !== null && kind !== undefined) {
        const ids =
          one.type === "VariableDeclaration" ? one.declarations.map(({ id }) => id) : "id" in one ? [one.id] : [];
        for (const id of ids) {
          if (id === null || typeof id !== "object" || !("name" in id) || typeof id.name !== "string") continue;
          const text = codeOf(code.slice(node.start, node.end));
          declared.set(id.name, [...(declared.get(id.name) ?? []), { kind, doc: docBefore(node.start), code: text }]);
          if (isExport) named.set(id.name, id.name);
        }
      }
      if (!isExport) continue;
      const from = node.source === null ? undefined : file(node.source.value);
      for (const { local, exported } of node.specifiers) {
        if (from !== undefined) taken.set(nameOf(exported), { path: from, name: nameOf(local) });
        named.set(from === undefined ? nameOf(local) : nameOf(exported), nameOf(exported));
      }
    }
  }
  return { declared, taken, all, named };
}
