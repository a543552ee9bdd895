// The entrances of the library, read from its types: every function, constructor and method that a user of a published entry can
// call, with the objects of options that it takes.

import { readFileSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript-api";
import { declared } from "./declared.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
/** Declarations of the library, in the place of its sources: the compiler reads no code of functions, and takes half the time. */
const LIB = `${ROOT}.build/entrances-${process.pid}/`;
const VALUES = fileURLToPath(new URL("./hostile-values.ts", import.meta.url));

/** An object of options that an entrance takes, at its own place among the parameters. */
export interface OptionsAt {
  /** The parameter, from 0, and the way to the object inside it: `1`, `1.mailbox`, `0.children[]`. */
  readonly path: string;
  /** The name of its type; empty for one that is written in place. */
  readonly type: string;
  /** Everything that it may have. */
  readonly known: readonly string[];
}

export interface Entrance {
  /** `System.spawn`, `new System`, `supervisor`. */
  readonly name: string;
  /** The file of its declaration, below `lib`. */
  readonly file: string;
  readonly parameters: number;
  readonly options: readonly OptionsAt[];
  /** For each parameter, the names of the {@link HOSTILE} values that its type takes. */
  readonly takes: readonly (readonly string[])[];
}

interface Found {
  readonly file: string;
  readonly types: Set<ts.Type>[];
  /** Parameters that may be left out. */
  readonly optional: Set<number>;
}

/** The published entries of package.json. */
function published(): string[] {
  const { exports } = JSON.parse(readFileSync(`${ROOT}package.json`, "utf8")) as {
    exports: Record<string, { types?: string }>;
  };
  return Object.values(exports).flatMap(({ types }) =>
    types === undefined ? [] : [types.replace("./dist/", LIB)],
  );
}

/** Whether a declaration is no part of what is published. */
function isHidden(declaration: ts.Declaration): boolean {
  const flags = ts.getCombinedModifierFlags(declaration);
  if ((flags & (ts.ModifierFlags.Private | ts.ModifierFlags.Protected)) !== 0) return true;
  const name = ts.getNameOfDeclaration(declaration);
  if (name !== undefined && ts.isPrivateIdentifier(name)) return true;
  return ts.getJSDocTags(declaration).some((tag) => tag.tagName.text === "internal");
}

const isOurs = (symbol: ts.Symbol | undefined): boolean =>
  symbol?.declarations?.some((one) => one.getSourceFile().fileName.startsWith(LIB)) === true;

/** Written in place, or a module that is exported as an object: its name is a path. */
const isAnonymous = (name: string): boolean => name.startsWith("__") || name.startsWith('"');

/** Types of TypeScript that change another one, and keep what it is for. */
const DERIVED = new Set(["Partial", "Required", "Readonly", "Pick", "Omit"]);

/** What a type is called; empty if it is written in place. */
function nameOf(type: ts.Type): string {
  const name = (type.aliasSymbol ?? type.symbol)?.name ?? "";
  const [argument] = type.aliasTypeArguments ?? [];
  if (DERIVED.has(name) && argument !== undefined) return nameOf(argument);
  return isAnonymous(name) ? "" : name;
}

const isRest = (one: ts.Declaration | undefined): boolean =>
  one !== undefined && ts.isParameter(one) && one.dotDotDotToken !== undefined;

/**
 * Follows types from the published entries: what users receive and can call, and what they give. A callback turns it round: its
 * parameters are received, and its result is given.
 */
class Walk {
  readonly found = new Map<string, Found>();
  private readonly checker: ts.TypeChecker;
  private readonly received = new Set<ts.Type>();
  private readonly given = new Set<ts.Type>();
  /** What users give, to be looked at when nothing is left that they receive. */
  private readonly callbacks: [name: string, type: ts.Type][] = [];
  private readonly objects: [name: string, type: ts.Type][] = [];

  constructor(checker: ts.TypeChecker) {
    this.checker = checker;
  }

  /** Whether users receive values of a type from the library, and so do not write them. */
  isReceived(type: ts.Type): boolean {
    return this.received.has(generic(type));
  }

  root(name: string, symbol: ts.Symbol): void {
    const type = this.checker.getTypeOfSymbol(symbol);
    if ((symbol.flags & ts.SymbolFlags.Class) === 0) {
      this.receive(name, type);
      return;
    }
    const made = this.checker.getDeclaredTypeOfSymbol(symbol);
    if (this.checker.getPropertyOfType(made, "stack") !== undefined) return; // Errors are the library's to make.
    for (const signature of type.getConstructSignatures())
      if (signature.declaration === undefined || !isHidden(signature.declaration))
        this.call(`new ${symbol.name}`, signature);
    for (const one of this.visible(type))
      this.calls(`${symbol.name}.${one.name}`, this.checker.getTypeOfSymbol(one));
    this.receive(symbol.name, made);
  }

  /** Follows what users give, until it leads to nothing new. */
  finish(): void {
    for (let next = this.next(); next !== undefined; next = this.next()) {
      const [name, type] = next;
      for (const signature of type.getCallSignatures()) this.called(name, signature);
      if (type.getCallSignatures().length > 0 || !isOurs(type.symbol) || type.isClass()) continue;
      if (this.isReceived(type)) continue;
      for (const one of this.visible(type))
        this.give(`${name}.${one.name}`, this.checker.getTypeOfSymbol(one));
    }
  }

  private next(): [string, ts.Type] | undefined {
    return this.callbacks.shift() ?? this.objects.shift();
  }

  /** The properties that a user may use. */
  visible(type: ts.Type): ts.Symbol[] {
    return this.checker
      .getPropertiesOfType(type)
      .filter((one) => isOurs(one) && !isAnonymous(one.name) && !one.declarations?.some(isHidden));
  }

  private receive(name: string, type: ts.Type): void {
    if (type.isUnionOrIntersection()) for (const one of type.types) this.receive(name, one);
    if ((type.flags & ts.TypeFlags.Object) === 0) return;
    const known = generic(type);
    if (this.received.has(type)) return;
    this.received.add(type);
    for (const argument of this.arguments(type)) this.receive(name, argument);
    if (known !== type && this.received.has(known)) return;
    this.received.add(known);
    this.calls(name, type);
    if (!isOurs(type.symbol)) return;
    for (const one of this.visible(type)) {
      const owner = ownerOf(one) || nameOf(type) || name;
      this.receive(
        `${owner}.${one.name}`,
        this.checker.getNonNullableType(this.checker.getTypeOfSymbol(one)),
      );
    }
  }

  private arguments(type: ts.Type): readonly ts.Type[] {
    const isReference = ((type as ts.ObjectType).objectFlags & ts.ObjectFlags.Reference) !== 0;
    return [
      ...(type.aliasTypeArguments ?? []),
      ...(isReference ? this.checker.getTypeArguments(type as ts.TypeReference) : []),
    ];
  }

  private calls(name: string, type: ts.Type): void {
    for (const signature of type.getCallSignatures()) this.call(name, signature);
  }

  /** A user calls. */
  private call(name: string, signature: ts.Signature): void {
    const file = signature.declaration?.getSourceFile().fileName ?? "";
    if (!file.startsWith(LIB)) return;
    const entrance = this.found.get(name) ?? { file: sourceOf(file), types: [], optional: new Set() };
    this.found.set(name, entrance);
    for (const [i, parameter] of signature.parameters.entries()) {
      const type = this.checker.getTypeOfSymbol(parameter);
      entrance.types[i] ??= new Set();
      const declared = parameter.valueDeclaration;
      if (declared !== undefined && ts.isParameter(declared) && this.checker.isOptionalParameter(declared))
        entrance.optional.add(i);
      entrance.types[i].add(isRest(parameter.valueDeclaration) ? (this.elementOf(type) ?? type) : type);
      this.give(`${name}.${parameter.name}`, type);
    }
    this.receive(`${name}()`, signature.getReturnType());
  }

  /** A user is called. */
  private called(name: string, signature: ts.Signature): void {
    for (const one of signature.parameters)
      this.receive(`${name}.${one.name}`, this.checker.getTypeOfSymbol(one));
    this.give(`${name}()`, signature.getReturnType());
  }

  private give(name: string, type: ts.Type): void {
    if (type.isUnionOrIntersection()) {
      for (const one of type.types) this.give(name, one);
      return;
    }
    if ((type.flags & ts.TypeFlags.Object) === 0 || this.given.has(type)) return;
    this.given.add(type);
    for (const argument of this.arguments(type)) this.give(name, argument);
    (type.getCallSignatures().length > 0 ? this.callbacks : this.objects).push([name, type]);
  }

  elementOf(type: ts.Type): ts.Type | undefined {
    return this.checker.getIndexTypeOfType(type, ts.IndexKind.Number);
  }
}

/** The path below `lib` of what a declaration was made of. */
const sourceOf = (declaration: string): string => declaration.slice(LIB.length).replace(/\.d\.ts$/, ".ts");

const generic = (type: ts.Type): ts.Type => (type as Partial<ts.TypeReference>).target ?? type;

function ownerOf(property: ts.Symbol): string {
  const { parent } = property as ts.Symbol & { parent?: ts.Symbol };
  return parent === undefined || isAnonymous(parent.name) ? "" : parent.name;
}

/** Finds the objects of options inside the types of parameters. */
class Options {
  private readonly checker: ts.TypeChecker;
  private readonly walk: Walk;

  constructor(checker: ts.TypeChecker, walk: Walk) {
    this.checker = checker;
    this.walk = walk;
  }

  in(type: ts.Type, path: string, above: readonly ts.Type[] = []): OptionsAt[] {
    if (type.isUnion()) return type.types.flatMap((one) => this.in(one, path, above));
    const element =
      this.checker.isArrayType(type) || this.checker.isTupleType(type)
        ? this.walk.elementOf(type)
        : undefined;
    if (element !== undefined) return this.in(element, `${path}[]`, above);
    if (above.includes(generic(type))) return [];
    const values = this.checker.getIndexTypeOfType(type, ts.IndexKind.String);
    if (values !== undefined) return this.in(values, `${path}.*`, [...above, generic(type)]);
    if (!this.areOptions(type)) return [];
    const properties = this.walk.visible(type);
    return [
      { path, type: nameOf(type), known: properties.map((one) => one.name) },
      ...properties.flatMap((one) =>
        this.in(this.checker.getTypeOfSymbol(one), `${path}.${one.name}`, [...above, generic(type)]),
      ),
    ];
  }

  /** A plain object of ours with a fixed list of properties; no payload, no function, nothing that the library made. */
  private areOptions(type: ts.Type): boolean {
    if ((type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) === 0) return false;
    const parts = type.isIntersection() ? type.types : [type];
    if (parts.some((one) => one.symbol !== undefined && (one.symbol.flags & ts.SymbolFlags.Class) !== 0))
      return false;
    const isNamed = parts.some((one) => OPTIONS.test(nameOf(one)));
    if ((parts.some((one) => this.walk.isReceived(one)) && !isNamed) || NOT_OPTIONS.has(nameOf(type)))
      return false;
    if (this.isTagged(type) || this.isPort(type)) return false;
    if (type.getCallSignatures().length > 0 || type.getConstructSignatures().length > 0) return false;
    return this.checker.getIndexInfosOfType(type).length === 0 && this.walk.visible(type).length > 0;
  }

  /** Nothing but methods that it must have. */
  private isPort(type: ts.Type): boolean {
    return this.walk
      .visible(type)
      .every(
        (one) => (one.flags & ts.SymbolFlags.Method) !== 0 && (one.flags & ts.SymbolFlags.Optional) === 0,
      );
  }

  /** One of several shapes, told apart by a word: a record of something, not its settings. */
  private isTagged(type: ts.Type): boolean {
    const tag = this.checker.getPropertyOfType(type, "type");
    return tag !== undefined && this.checker.getTypeOfSymbol(tag).isStringLiteral();
  }
}

/** Names of types that are options although users may read them again, from a definition for instance. */
const OPTIONS = /(Options|Policy|Limits|Spec|Config|Backoff|Parts)$/;

/** Plain objects of ours that users give, and that are no options. */
const NOT_OPTIONS = new Set([
  // Ports, which users implement, often by a class.
  ..."Host Transport Environment StoreContext CarrierContext SqliteDatabase SqlTarget PgliteDatabase PgliteTransaction".split(
    " ",
  ),
  ..."PostgresClient PostgresConnection MemoryPort DiskPort ReportLogger FetchHandler ResponseWriter ScrapeRequest".split(
    " ",
  ),
  ..."InputStream OutputStream DashboardOutput ByteTransform Watcher Startable Callbacks SpoutDefinition BoltDefinition".split(
    " ",
  ),
  // What the library made, as users hand it back.
  ..."Withdrawable Trace WatchedTopology HasBlueprint HasSystem ScenarioSource PossibleStep Footprint SearchHistory".split(
    " ",
  ),
  // Records of what happened or is to be stored: the store and the carriers check these by themselves.
  ..."RequestLine Moment Letter WriteSet RowExpectation RangeExpectation ProcessChange".split(" "),
]);

/** Which of the hostile values the type of a parameter takes. */
class Hostile {
  private readonly checker: ts.TypeChecker;
  private readonly values: readonly (readonly [string, ts.Type])[];

  constructor(checker: ts.TypeChecker, file: ts.SourceFile) {
    this.checker = checker;
    const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(file) as ts.Symbol);
    const symbol = exported.find(({ name }) => name === "HOSTILE") as ts.Symbol;
    this.values = checker
      .getPropertiesOfType(checker.getTypeOfSymbol(symbol))
      .map((one) => [one.name, checker.getTypeOfSymbol(one)]);
  }

  takenBy(type: ts.Type): string[] {
    return this.values.filter(([, value]) => this.takes(type, value)).map(([name]) => name);
  }

  private takes(type: ts.Type, value: ts.Type): boolean {
    if (type.isUnion()) return type.types.some((one) => this.takes(one, value));
    const isBound = (type.flags & ts.TypeFlags.Instantiable) !== 0;
    const bound = isBound ? this.checker.getBaseConstraintOfType(type) : type;
    // A type without a bound takes everything.
    if (bound === undefined) return true;
    // No program can tell one function from another.
    if (value.getCallSignatures().length > 0 && bound.getCallSignatures().length > 0) return true;
    return this.checker.isTypeAssignableTo(value, bound);
  }
}

/** Reads the entrances from the types. It takes seconds: read them once in a run. */
export function entrances(): Entrance[] {
  declared(LIB);
  try {
    return declaredEntrances();
  } finally {
    rmSync(LIB, { recursive: true });
  }
}

function declaredEntrances(): Entrance[] {
  const program = ts.createProgram([...published(), VALUES], {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    exactOptionalPropertyTypes: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"],
    types: ["node"],
  });
  const checker = program.getTypeChecker();
  const walk = new Walk(checker);
  for (const path of published()) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(path) as ts.SourceFile) as ts.Symbol;
    for (const symbol of checker.getExportsOfModule(module)) {
      const one = (symbol.flags & ts.SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);
      if ((one.flags & ts.SymbolFlags.Value) !== 0) walk.root(symbol.name, one);
    }
  }
  walk.finish();
  const options = new Options(checker, walk);
  const hostile = new Hostile(checker, program.getSourceFile(VALUES) as ts.SourceFile);
  return [...walk.found].map(([name, { file, types, optional }]) => ({
    name,
    file,
    parameters: types.length,
    takes: types.map((set, i) => [
      ...new Set([
        ...(optional.has(i) ? ["undefined"] : []),
        ...[...set].flatMap((type) => hostile.takenBy(type)),
      ]),
    ]),
    options: types.flatMap((set, i) => [...set].flatMap((type) => options.in(type, String(i)))),
  }));
}
