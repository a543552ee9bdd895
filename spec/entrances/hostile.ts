// An entrance with what it cannot take, in each of its positions. The types say what each takes.

import { type Pid, SignalboxError, type System } from "signalbox";
import { isError } from "../../lib/process/show.js";
import type { Entrance } from "../support/entrances.js";
import { HOSTILE, Unreadable } from "../support/hostile-values.js";
import { type End, endOf, type Lines } from "./lines.js";

/** What users write and the library calls: it gets what the library gives. */
const WRITTEN_BY_USERS = new Set([
  ..."Callbacks Holder AsyncContext SetAside Environment StandardSchema RoutingFunction EmitOptions PgliteQueryOptions".split(
    " ",
  ),
  ..."SqlTarget SqlTransaction StoreSource CarrierSource Carrier PayloadCodec Adapter BatchAdapter Source".split(
    " ",
  ),
  ..."ConsumerGroup.route consoleReport() Deferred.begin Step.actions.effect AnySupervisorRef.pid.spec.start".split(
    " ",
  ),
  ..."NatsCarrier FrameCarrier FrameReceiver Sessions.send LeaseSource".split(" "),
  ..."byKey() byLabel() leastLoaded() fewestChildren()".split(" "),
  ..."TimePlan.by Field.accepts TelemetrySettings.filter Stage.when".split(" "),
]);

/** What is called by the library, or from inside of what users write, and is tested with that: contexts of tasks, requests and batches. */
const GIVEN_TO_USERS = new Set([
  ..."BoltContext TaskContext BatchContext AdapterContext StepContext RequestContext CarrierDelivery contextOf".split(
    " ",
  ),
  // It ends the flow.
  "FlowContext.continueAsNew",
  // By the kernel.
  "Delivery.returned",
]);

const isCalledByUsers = (name: string): boolean =>
  ![name, name.replace(/\..*/, "")].some((one) => WRITTEN_BY_USERS.has(one) || GIVEN_TO_USERS.has(one)) &&
  !/\.(options|database|logger)\./.test(name);

/** Classes that programs recognise with `instanceof`, and functions of the library make. */
const MADE_BY_THE_LIBRARY =
  /^new (Answer|Deferred|NoReply|Ready|Refusal|StopReply|Step|Rejection|Stop|SetAside|FailedChild|SystemEvents|JsonCodec)$/;

/** What a position takes although its type does not say so. */
const ALSO_TAKEN: Readonly<Record<string, readonly string[]>> = {
  // A text is iterable.
  "taskStream 1": ["text"],
  "many 0": ["text"],
  // A machine that carries it out crashes with ERR_BAD_ACTION.
  "InitMoves.next 1": Object.keys(HOSTILE),
  // It may be left out: the type of the last overload does not say so.
  "FlowContext.receive 1": ["undefined"],
  "FlowContext.accept 1": ["undefined"],
  "Session.receive 0": ["undefined"],
  "aggregate 1": ["undefined"],
  // Options, in the place that they have after an adapter.
  "Route.via 1": ["object"],
  "Route.via 2": ["undefined", "object"],
  "Route.batch 1": ["object"],
  // The values of a row are read when the writes are applied, and nothing is written then.
  "StoreTransaction.insert 1": ["unreadable"],
  "StoreTransaction.put 1": ["unreadable"],
  "StoreTransaction.update 2": ["unreadable"],
  "StoreTransaction.update 3": ["unreadable"],
  // A text about a value never throws.
  "formatReason 0": Object.keys(HOSTILE),
};

const FLOORS =
  /^(system\.ts|process|behaviour|supervisor|dispatch|store|topology|service|otel|xstate|node|flow|pipeline|observer)/;

/** Whether users call it with arguments: what the library calls, and what it alone makes, is no entrance for them. */
export const isCalledWithArguments = ({ name, parameters, file }: Entrance): boolean =>
  parameters > 0 && isCalledByUsers(name) && !MADE_BY_THE_LIBRARY.test(name) && FLOORS.test(file);

/** Most turns of the host in which an entrance refuses what it is given. */
const TURNS = 20;

const codeOf = ({ error }: End): unknown =>
  isError(error) && error instanceof SignalboxError ? error.code : undefined;

/** What is wrong with how a call ended that got one wrong argument; `undefined` if nothing is. */
function faultOf(end: End, right: End, isTaken: boolean): string | undefined {
  const { how, error } = end;
  if (how !== "refused") return isTaken ? undefined : how;
  if (codeOf(end) === undefined) {
    // An object that throws when it is read gives its own error.
    if (error === HOSTILE.unreadable || error instanceof Unreadable) return undefined;
    if (isTaken && !(error instanceof TypeError || error instanceof RangeError)) return undefined;
    return `refused with ${(error as Error)?.stack?.split("\n", 3).join(" ") ?? error}`;
  }
  if (!isTaken && `${error}` === `${right.error}`) return `refused as right arguments are: ${error}`;
  return undefined;
}

/** Whether a process is left that was not there before. A flow that an earlier call has started may run meanwhile, and ends. */
async function leaves(system: System, before: ReadonlySet<Pid<unknown>>): Promise<boolean> {
  const left = system.processes().filter((pid) => !before.has(pid));
  for (let i = 0; i < TURNS && left.some((pid) => pid.process !== undefined); i++)
    await new Promise((resolve) => setImmediate(resolve));
  return left.some((pid) => pid.process !== undefined);
}

/** What is wrong with how an entrance takes wrong arguments. @param line - calls it with right ones */
export async function complaintsAbout(
  { name, takes }: Entrance,
  line: Lines[string],
  system: System,
): Promise<string[]> {
  const complaints: string[] = [];
  const right = await endOf(await line(), TURNS);
  for (const [at, allowed] of takes.entries())
    for (const [kind, value] of Object.entries(HOSTILE)) {
      const [call, ...given] = await line();
      given[at] = value;
      const before = new Set<Pid<unknown>>(system.processes());
      const end = await endOf([call, ...given], TURNS);
      const isTaken = [...allowed, ...(ALSO_TAKEN[`${name} ${at}`] ?? [])].includes(kind);
      const fault = faultOf(end, right, isTaken);
      if (fault !== undefined) complaints.push(`argument ${at}, ${kind}: ${fault}`);
      if (end.how === "refused" && (await leaves(system, before)))
        complaints.push(`argument ${at}, ${kind}: refused, but a process was left`);
    }
  return complaints;
}
