// What Flux 2.8.3 makes of a definition, written from its own rules (FluxBuilder and TopologyBuilder of Storm): constructors and methods by
// the shape of their arguments, references, and a failure at an empty list.

interface ModelBean {
  readonly id?: string;
  readonly className: string;
  readonly constructorArgs?: readonly unknown[];
  readonly factory?: string;
  readonly factoryArgs?: readonly unknown[];
  readonly configMethods?: readonly { readonly name: string; readonly args: readonly unknown[] }[];
  readonly parallelism?: number;
  readonly numTasks?: number;
}

/** A component as Storm would run it. */
export interface ModelComponent {
  kind: "spout" | "bolt";
  executors: number;
  tasks: number;
  command: readonly string[];
  env: Readonly<Record<string, string>>;
  conf: Record<string, unknown>;
  /** The fields of its streams. */
  streams: Record<string, readonly string[]>;
  /** Its inputs, `component.stream`, each with its grouping. */
  inputs: Record<string, string>;
}

/** Values that Java has and JSON has not. */
class JavaFields {
  readonly names: readonly string[];
  constructor(names: readonly string[]) {
    this.names = names;
  }
}
const STRING = Symbol("class String");

type Beans = ReadonlyMap<string, unknown>;

function isMap(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof JavaFields)
  );
}

function resolved(args: readonly unknown[], beans: Beans): readonly unknown[] {
  return args.map((arg) => {
    const [entry, ...more] = isMap(arg) ? Object.entries(arg) : [];
    if (entry?.[0] !== "ref" || more.length > 0) return arg;
    const id = String(entry[1]);
    if (!beans.has(id)) throw new Error(`no bean ${id}`);
    return beans.get(id);
  });
}

/** An argument of the type String[]: an array of Java, or a list that is not empty. */
function texts(value: unknown, isJavaArray: boolean): readonly string[] {
  if (!Array.isArray(value)) throw new Error("no constructor for this argument");
  if (value.length === 0 && !isJavaArray) throw new Error("IndexOutOfBounds: Flux reads the first of a list");
  return value as readonly string[];
}

/** The arrays that Java has made. */
const javaArrays = new WeakSet<object>();
const textsOf = (value: unknown): readonly string[] =>
  texts(value, Array.isArray(value) && javaArrays.has(value));

function created(bean: ModelBean, beans: Beans): unknown {
  const { className, constructorArgs = [], factory, factoryArgs = [], configMethods = [] } = bean;
  const args = resolved(constructorArgs, beans);
  switch (className) {
    case "java.lang.Class":
      if (factory !== "forName" || factoryArgs[0] !== "java.lang.String") throw new Error("unknown class");
      return STRING;
    case "java.lang.reflect.Array": {
      const [type, length] = resolved(factoryArgs, beans);
      if (factory !== "newInstance" || type !== STRING || length !== 0) throw new Error("unknown array");
      const array: string[] = [];
      javaArrays.add(array);
      return array;
    }
    case "org.apache.storm.tuple.Fields":
      return new JavaFields(textsOf(args[0]));
    case "java.util.HashMap":
      return Object.fromEntries(configMethods.map((call) => call.args as [string, unknown]));
    default:
      throw new Error(`no class ${className}`);
  }
}

function component(kind: ModelComponent["kind"], bean: ModelBean, beans: Beans): ModelComponent {
  const wrapper = kind === "spout" ? "spouts.FluxShellSpout" : "bolts.FluxShellBolt";
  if (bean.className !== `org.apache.storm.flux.wrappers.${wrapper}`) throw new Error(`no ${kind}`);
  const made: ModelComponent = {
    ...{ kind, executors: bean.parallelism ?? 1, tasks: bean.numTasks ?? bean.parallelism ?? 1 },
    command: textsOf(resolved(bean.constructorArgs ?? [], beans)[0]),
    ...{ env: {}, conf: {}, streams: {}, inputs: {} },
  };
  for (const call of bean.configMethods ?? []) {
    const [first, second] = resolved(call.args, beans);
    if (call.args.includes(null)) throw new Error("argument shouldn't be null");
    if (call.name === "setNamedStream") made.streams[first as string] = textsOf(second);
    else if (call.name === "setEnv") made.env = first as Record<string, string>;
    else if (call.name === "addComponentConfig") made.conf[first as string] = second;
    else throw new Error(`no method ${call.name}`);
  }
  return made;
}

interface ModelGrouping {
  readonly type: string;
  readonly streamId: string;
  readonly args?: readonly string[];
  readonly customClass?: ModelBean;
}

function groupingOf({ type, args = [], customClass }: ModelGrouping, beans: Beans): string {
  if (type === "FIELDS") return `FIELDS(${args.join(", ")})`;
  if (type !== "CUSTOM") return type;
  const [fields] = resolved(customClass?.constructorArgs ?? [], beans);
  if (
    customClass?.className !== "org.apache.storm.grouping.PartialKeyGrouping" ||
    !(fields instanceof JavaFields)
  )
    throw new Error("no such grouping");
  return `PARTIAL_KEY(${fields.names.join(", ")})`;
}

/** The topology that Flux builds of a text. */
export function builtByFlux(text: string): {
  readonly name: string;
  readonly config: Readonly<Record<string, unknown>>;
  readonly components: Readonly<Record<string, ModelComponent>>;
} {
  if (/\$\{.+\}/.test(text)) throw new Error("NullPointerException: Flux has no properties");
  const { name, config, components = [], spouts, bolts, streams } = JSON.parse(text);
  const beans = new Map<string, unknown>();
  for (const bean of components as readonly ModelBean[]) beans.set(bean.id as string, created(bean, beans));
  const built: Record<string, ModelComponent> = {};
  for (const bean of spouts) built[bean.id] = component("spout", bean, beans);
  // TopologyBuilder knows only the bolts that a stream leads to.
  const made = new Map<string, ModelComponent>(
    bolts.map((bean: ModelBean) => [bean.id, component("bolt", bean, beans)]),
  );
  for (const { from, to, grouping } of streams) {
    const bolt = made.get(to);
    if (bolt === undefined) throw new Error(`no bolt ${to}`);
    built[to] = bolt;
    bolt.inputs[`${from}.${grouping.streamId}`] = groupingOf(grouping, beans);
  }
  // Nimbus refuses an input that nobody emits.
  for (const { inputs } of Object.values(built))
    for (const input of Object.keys(inputs)) {
      const [from = "", stream = ""] = input.split(".");
      if (built[from]?.streams[stream] === undefined) throw new Error(`no stream ${input}`);
    }
  return { name, config, components: built };
}
